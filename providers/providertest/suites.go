package providertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

// CDNHarness is a CDN adapter and its other side.
type CDNHarness struct {
	Side
	CDN   providers.CDN
	Truth func() plans.CDNState // what Read must tell
}

// TestCDN checks an adapter that reads a domain. open starts a new other side and an adapter that waits timeout for
// one answer; it is called for each subtest.
func TestCDN(t *testing.T, open func(t *testing.T, timeout time.Duration) CDNHarness) {
	t.Helper()
	t.Run("read tells the true state", func(t *testing.T) {
		h := open(t, generous)
		checkCDN(t, h.CDN, h.Truth)
	})
	testRead(t, func(t *testing.T, timeout time.Duration) (Side, reading) {
		t.Helper()
		h := open(t, timeout)
		return h.Side, func(ctx context.Context) error {
			_, err := h.CDN.Read(ctx)
			return err
		}
	})
}

// TLSHarness is a TLSSetter adapter, its other side, and the writes to try: each must change the state that open starts with, and
// together they should use every API call that the adapter has.
type TLSHarness struct {
	Side
	TLS    providers.TLSSetter
	Truth  func() plans.CDNState
	Writes []plans.TLSWrite
}

// TestTLSSetter checks all that TestCDN checks, and the writes.
func TestTLSSetter(t *testing.T, open func(t *testing.T, timeout time.Duration) TLSHarness) {
	t.Helper()
	TestCDN(t, func(t *testing.T, timeout time.Duration) CDNHarness {
		t.Helper()
		h := open(t, timeout)
		return CDNHarness{Side: h.Side, CDN: h.TLS, Truth: h.Truth}
	})
	for i, w := range open(t, generous).Writes {
		t.Run(fmt.Sprintf("write %d", i), func(t *testing.T) {
			testWrite(t, func(t *testing.T, timeout time.Duration) (Side, reading, func() string) {
				t.Helper()
				h := open(t, timeout)
				return h.Side, func(ctx context.Context) error { return h.TLS.SetTLS(ctx, w) }, picture(h.Truth)
			})
			h := open(t, generous)
			checkSent(t, h.Side, h.TLS.DescribeTLS(w), func() error { return h.TLS.SetTLS(t.Context(), w) })
			checkCDN(t, h.TLS, h.Truth)
		})
	}
}

// DNSHarness is a DNS adapter, its other side, and the writes to try: each must change the state that open starts with, and together
// they should use every action.
type DNSHarness struct {
	Side
	DNS    providers.DNS
	Truth  func() plans.DNSState // what Read must tell; the order of records does not count
	Writes []plans.DNSWrite
}

// TestDNS checks an adapter that reads and writes weights.
func TestDNS(t *testing.T, open func(t *testing.T, timeout time.Duration) DNSHarness) {
	t.Helper()
	t.Run("read tells the true state", func(t *testing.T) {
		h := open(t, generous)
		checkDNS(t, h)
	})
	testRead(t, func(t *testing.T, timeout time.Duration) (Side, reading) {
		t.Helper()
		h := open(t, timeout)
		return h.Side, func(ctx context.Context) error {
			_, err := h.DNS.Read(ctx)
			return err
		}
	})
	for i, w := range open(t, generous).Writes {
		t.Run(fmt.Sprintf("write %d", i), func(t *testing.T) {
			testWrite(t, func(t *testing.T, timeout time.Duration) (Side, reading, func() string) {
				t.Helper()
				h := open(t, timeout)
				return h.Side, func(ctx context.Context) error { return h.DNS.Write(ctx, w) }, picture(h.Truth)
			})
			h := open(t, generous)
			checkSent(t, h.Side, h.DNS.Describe(w), func() error { return h.DNS.Write(t.Context(), w) })
			checkDNS(t, h)
		})
	}
}

// MetricsHarness is a metric source and its other side.
type MetricsHarness struct {
	Side
	Metrics  providers.Metrics
	From, To guardrails.Minute
	Want     []guardrails.Row // what Fetch of From..To must return; the order does not count
}

// TestMetrics checks a source of minutes.
func TestMetrics(t *testing.T, open func(t *testing.T, timeout time.Duration) MetricsHarness) {
	t.Helper()
	t.Run("fetch returns the minutes asked for", func(t *testing.T) {
		h := open(t, generous)
		got, err := h.Metrics.Fetch(t.Context(), h.From, h.To)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sortRows(h.Want), sortRows(got)); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		checkWindow(t, h, got)
	})
	testRead(t, func(t *testing.T, timeout time.Duration) (Side, reading) {
		t.Helper()
		h := open(t, timeout)
		return h.Side, func(ctx context.Context) error {
			_, err := h.Metrics.Fetch(ctx, h.From, h.To)
			return err
		}
	})
}

// checkWindow asks for the first half of the minutes: rows outside of it are rows nobody asked for.
func checkWindow(t *testing.T, h MetricsHarness, all []guardrails.Row) {
	t.Helper()
	half := h.From + (h.To-h.From)/2
	want := slices.DeleteFunc(slices.Clone(all), func(r guardrails.Row) bool { return r.Minute > half })
	got, err := h.Metrics.Fetch(t.Context(), h.From, half)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sortRows(want), sortRows(got)); diff != "" {
		t.Errorf("rows of the first half (-want +got):\n%s", diff)
	}
}

func checkCDN(t *testing.T, c providers.CDN, truth func() plans.CDNState) {
	t.Helper()
	got, err := c.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(truth(), got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func checkDNS(t *testing.T, h DNSHarness) {
	t.Helper()
	got, err := h.DNS.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sortRecords(h.Truth()), sortRecords(got)); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// checkSent checks that describing sends nothing and that what was described is what arrived.
func checkSent(t *testing.T, side Side, described providers.Call, write func() error) {
	t.Helper()
	if n := side.Requests(); n != 0 {
		t.Errorf("Describe made %d requests", n)
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]providers.Call{described}, side.Writes()); diff != "" {
		t.Errorf("calls (-described +arrived):\n%s", diff)
	}
}

func picture[T any](truth func() T) func() string {
	return func() string { return fmt.Sprintf("%+v", truth()) }
}

func sortRecords(s plans.DNSState) plans.DNSState {
	s.Records = slices.SortedFunc(slices.Values(s.Records), func(a, b plans.Record) int { return strings.Compare(a.ID, b.ID) })
	return s
}

func sortRows(rows []guardrails.Row) []guardrails.Row {
	return slices.SortedFunc(slices.Values(rows), func(a, b guardrails.Row) int {
		if a.Minute != b.Minute {
			return int(a.Minute - b.Minute)
		}
		if a.Leg != b.Leg {
			return int(a.Leg - b.Leg)
		}
		return strings.Compare(a.Platform, b.Platform)
	})
}
