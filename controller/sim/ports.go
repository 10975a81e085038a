package sim

import (
	"context"
	"time"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// ports connects the executor with the model.
func (w *World) ports() engine.Ports {
	sources := map[string]engine.Metrics{}
	for _, s := range w.plan.Sources {
		view := world.RUM
		if s.Type == "alicloud" {
			view = world.EdgePrimary
		}
		sources[s.Name] = source{w, view, s.Type == "alicloud"}
	}
	return engine.Ports{
		Levers: engine.Levers{Primary: primary{w}, DNS: records{w}}, Backup: backup{w}, Sources: sources, Prober: prober{w}, Resolver: resolver{w},
		Notifier: silent{}, Caller: silent{},
		Now: func() time.Time { return w.cursor },
		Pause: func(ctx context.Context, d time.Duration) error {
			w.cursor = w.cursor.Add(d)
			return ctx.Err()
		},
	}
}

// A throttled call is repeated as the retry decorator of a live run does.
const (
	throttleTries = 6
	throttlePause = time.Second
)

// look runs f on the model at the present instant.
func (w *World) look(f func(m *world.World, now time.Time)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w.model, w.cursor)
}

// call does the same by a cloud API, which the fault may refuse.
func (w *World) call(api string, f func(m *world.World, now time.Time) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for try := 1; ; try++ {
		err := w.model.Refuse(w.cursor, api)
		if err == nil {
			return f(w.model, w.cursor)
		}
		if engine.KindOf(err) != rollout.Throttled || try == throttleTries {
			return err
		}
		w.cursor = w.cursor.Add(throttlePause)
	}
}

type primary struct{ w *World }

// Read implements engine.CDN.
func (p primary) Read(context.Context) (s plans.CDNState, err error) {
	err = p.w.call("cdn:DescribeCdnDomainConfigs", func(m *world.World, now time.Time) error {
		s = m.State(now).Primary
		return nil
	})
	return s, err
}

// SetTLS implements engine.TLSSetter.
func (p primary) SetTLS(_ context.Context, t plans.TLSWrite) error {
	return p.w.call("cdn:BatchSetCdnDomainConfig", func(m *world.World, now time.Time) error {
		_, err := m.WriteTLS(now, t)
		return err
	})
}

type backup struct{ w *World }

// Read implements engine.CDN.
func (b backup) Read(context.Context) (s plans.CDNState, err error) {
	err = b.w.call("qiniu:GetDomain", func(m *world.World, now time.Time) error {
		s = m.State(now).Backup
		return nil
	})
	return s, err
}

type records struct{ w *World }

// Read implements engine.DNS.
func (r records) Read(context.Context) (s plans.DNSState, err error) {
	err = r.w.call("alidns:DescribeSubDomainRecords", func(m *world.World, now time.Time) error {
		s = m.State(now).DNS
		return nil
	})
	return s, err
}

// Write implements engine.DNS.
func (r records) Write(_ context.Context, d plans.DNSWrite) error {
	return r.w.call("alidns:UpdateDNSSLBWeight", func(m *world.World, now time.Time) error { return m.WriteDNS(now, d) })
}

type source struct {
	w     *World
	view  world.View
	cloud bool // asked by a cloud API
}

// Fetch implements engine.Metrics.
func (s source) Fetch(_ context.Context, from, to guardrails.Minute) (rows []guardrails.Row, err error) {
	if !s.cloud {
		s.w.look(func(m *world.World, now time.Time) { rows = m.Minutes(now, s.view, from, to) })
		return rows, nil
	}
	err = s.w.call("cdn:DescribeDomainRealTimeHttpCodeData", func(m *world.World, now time.Time) error {
		rows = m.Minutes(now, s.view, from, to)
		return nil
	})
	return rows, err
}

type prober struct{ w *World }

// Handshake implements engine.Prober.
func (p prober) Handshake(_ context.Context, leg guardrails.Leg) (hs []plans.Handshake, err error) {
	p.w.look(func(m *world.World, now time.Time) { hs = m.Handshakes(now, leg) })
	return hs, nil
}

type resolver struct{ w *World }

// Resolve implements engine.Resolver.
func (r resolver) Resolve(_ context.Context, _, _ string, n int) (as []plans.Answers, err error) {
	r.w.look(func(m *world.World, now time.Time) { as = []plans.Answers{m.Answers(now, n)} })
	return as, nil
}

// silent is a notifier and a webhook that are always content.
type silent struct{}

// Notify implements engine.Notifier.
func (silent) Notify(context.Context, engine.Key, rollout.Urgency, string) error { return nil }

// Call implements engine.Caller.
func (silent) Call(context.Context, engine.Key, string, int) error { return nil }
