package providertest_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/providertest"
)

const planted = "planted secret"

// memory is an adapter and its other side in one, without a network. defect names one way to break the contract, "" none.
type memory struct {
	defect  string
	timeout time.Duration
	waiting chan struct{}

	mu       sync.Mutex
	fault    providertest.Fault
	requests int
	writes   []providers.Call
	cdn      plans.CDNState
	dns      plans.DNSState
}

func newMemory(timeout time.Duration, defect string) *memory {
	return &memory{
		defect: defect, timeout: timeout, waiting: make(chan struct{}, 64), fault: providertest.Healthy,
		cdn: plans.CDNState{Domain: "cdn.example.com", TLS: plans.TLSSettings{Explicit: true, Enabled: plans.TLSSetOf(plans.TLS12), ConfigID: "5"}},
		dns: plans.DNSState{Records: []plans.Record{{ID: "1", Name: "cdn", Weight: 60, WeightKnown: true, Enabled: true}}},
	}
}

func (m *memory) side() providertest.Side {
	return providertest.Side{
		Secrets:   func() []string { return []string{planted} },
		Misbehave: func(f providertest.Fault) { m.mu.Lock(); defer m.mu.Unlock(); m.fault = f },
		Requests:  func() int { m.mu.Lock(); defer m.mu.Unlock(); return m.requests },
		Writes:    func() []providers.Call { m.mu.Lock(); defer m.mu.Unlock(); return slices.Clone(m.writes) },
		Waiting:   m.waiting,
	}
}

// arrive is what the other side does with a request.
func (m *memory) arrive(apply func()) providertest.Fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	if m.defect == "repeats calls" && m.fault != providertest.Healthy {
		m.requests += 5
	}
	if m.fault == providertest.Healthy || m.fault == providertest.AppliedThenUnavailable {
		apply()
	}
	if m.fault == providertest.Stalled {
		m.waiting <- struct{}{}
	}
	return m.fault
}

func (m *memory) call(ctx context.Context, lost providers.Kind, apply func()) error {
	if ctx.Err() != nil && m.defect != "starts after the end" {
		return m.fail(providers.Transient, ctx.Err())
	}
	fault := m.arrive(apply)
	if m.defect == "takes a lost write for nothing" {
		lost = providers.Transient
	}
	switch fault {
	case providertest.Healthy:
		return nil
	case providertest.PermissionDenied:
		return m.fail(providers.Denied, errors.New("no"))
	case providertest.TooManyCalls:
		return m.fail(providers.Throttled, errors.New("slower"))
	case providertest.EmptyAnswer:
		if m.defect == "takes nothing for success" {
			return nil
		}
	case providertest.Stalled:
		return m.stall(ctx, lost)
	case providertest.Oversized:
		if lost == providers.Transient {
			return m.fail(providers.Invalid, errors.New("too large"))
		}
	default:
	}
	return m.fail(lost, errors.New("lost"))
}

func (m *memory) stall(ctx context.Context, lost providers.Kind) error {
	limited, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	<-limited.Done()
	switch {
	case m.defect == "forgets why it ended":
		return m.fail(lost, errors.New("ended"))
	case ctx.Err() != nil:
		return m.fail(lost, ctx.Err())
	case m.defect == "blames ctx for its own timeout":
		return m.fail(lost, limited.Err())
	}
	return m.fail(lost, errors.New("too slow"))
}

func (m *memory) fail(kind providers.Kind, err error) error {
	e := &providers.Error{Provider: "memory", Op: "memory:Call", Kind: kind, Err: err}
	switch m.defect {
	case "shows a secret":
		e.Code = "asked with " + planted
	case "hides a secret in the cause":
		e.Err = secretError{err, planted}
	case "returns plain errors":
		return err
	case "gives everything one kind":
		e.Kind = providers.Invalid
	}
	if kind == providers.Denied && m.defect != "does not name the permission" {
		e.Action = "memory:Call"
	}
	return e
}

// secretError shows its secret only to %#v.
type secretError struct {
	error
	secret string
}

func (e secretError) Unwrap() error { return e.error }

func (m *memory) readCDN(ctx context.Context) (plans.CDNState, error) {
	var got plans.CDNState
	err := m.call(ctx, providers.Transient, func() {
		got = m.cdn
		if m.defect == "tells another state" {
			got.Status = "made up"
		}
	})
	return got, err
}

type memoryTLS struct{ *memory }

func (m memoryTLS) Read(ctx context.Context) (plans.CDNState, error) { return m.readCDN(ctx) }

func (m memoryTLS) DescribeTLS(w plans.TLSWrite) providers.Call {
	return providers.Call{API: "memory:SetTLS", Params: []providers.Param{{Name: "Enabled", Value: w.Set.Enabled.String()}}}
}

func (m memoryTLS) SetTLS(ctx context.Context, w plans.TLSWrite) error {
	return m.call(ctx, providers.Unknown, func() {
		m.writes = append(m.writes, m.DescribeTLS(w))
		m.cdn.TLS = *w.Set
	})
}

type memoryDNS struct{ *memory }

func (m memoryDNS) Read(ctx context.Context) (plans.DNSState, error) {
	var got plans.DNSState
	err := m.call(ctx, providers.Transient, func() {
		got = m.dns
		got.Records = slices.Clone(got.Records)
		if m.defect == "writes while it reads" {
			m.writes = append(m.writes, providers.Call{API: "memory:Touch"})
		}
		if m.defect == "tells another state" {
			got.Records = nil
		}
	})
	return got, err
}

func (m memoryDNS) Describe(w plans.DNSWrite) providers.Call {
	if m.defect == "describes another call" {
		w.Weight++
	}
	return providers.Call{API: "memory:Write", Params: []providers.Param{{Name: "Weight", Value: strconv.Itoa(w.Weight)}}}
}

func (m memoryDNS) Write(ctx context.Context, w plans.DNSWrite) error {
	return m.call(ctx, providers.Unknown, func() {
		m.writes = append(m.writes, providers.Call{API: "memory:Write", Params: []providers.Param{{Name: "Weight", Value: strconv.Itoa(w.Weight)}}})
		if m.defect == "writes differences" {
			m.dns.Records[0].Weight += w.Weight
			return
		}
		m.dns.Records[0].Weight = w.Weight
	})
}

type memoryMetrics struct{ *memory }

func (m memoryMetrics) Fetch(ctx context.Context, from, to guardrails.Minute) ([]guardrails.Row, error) {
	var rows []guardrails.Row
	if m.defect == "returns what nobody asked for" {
		to++
	}
	err := m.call(ctx, providers.Transient, func() {
		for at := to; at >= from; at-- {
			rows = append(rows, guardrails.Row{Leg: guardrails.Primary, Minute: at})
		}
		if m.defect == "tells another state" {
			rows = rows[1:]
		}
	})
	return rows, err
}

func runSuites(t *testing.T, defect string) {
	t.Run("CDN", func(t *testing.T) {
		providertest.TestCDN(t, func(_ *testing.T, timeout time.Duration) providertest.CDNHarness {
			m := newMemory(timeout, defect)
			return providertest.CDNHarness{Side: m.side(), CDN: memoryTLS{m}, Truth: func() plans.CDNState { return m.cdn }}
		})
	})
	t.Run("TLS", func(t *testing.T) {
		providertest.TestTLSSetter(t, func(_ *testing.T, timeout time.Duration) providertest.TLSHarness {
			m := newMemory(timeout, defect)
			set := m.cdn.TLS
			set.Enabled = set.Enabled.With(plans.TLS13)
			return providertest.TLSHarness{
				Side: m.side(), TLS: memoryTLS{m}, Truth: func() plans.CDNState { return m.cdn }, Writes: []plans.TLSWrite{{Set: &set}},
			}
		})
	})
	t.Run("DNS", func(t *testing.T) {
		providertest.TestDNS(t, func(_ *testing.T, timeout time.Duration) providertest.DNSHarness {
			m := newMemory(timeout, defect)
			return providertest.DNSHarness{
				Side: m.side(), DNS: memoryDNS{m}, Truth: func() plans.DNSState { s := m.dns; s.Records = slices.Clone(s.Records); return s },
				Writes: []plans.DNSWrite{{Leg: guardrails.Primary, RecordID: "1", Action: plans.SetWeight, Weight: 90}},
			}
		})
	})
	t.Run("metrics", func(t *testing.T) {
		providertest.TestMetrics(t, func(_ *testing.T, timeout time.Duration) providertest.MetricsHarness {
			m := newMemory(timeout, defect)
			h := providertest.MetricsHarness{Side: m.side(), Metrics: memoryMetrics{m}, From: 10, To: 19}
			for at := h.From; at <= h.To; at++ {
				h.Want = append(h.Want, guardrails.Row{Leg: guardrails.Primary, Minute: at})
			}
			return h
		})
	})
}
