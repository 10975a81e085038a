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
		sources[s.Name] = source{w, s.Name, view, s.Type == "alicloud"}
	}
	return engine.Ports{
		Levers: engine.Levers{Primary: primary{w}, DNS: records{w}}, Backup: backup{w}, Sources: sources, Prober: prober{w}, Resolver: resolver{w},
		Notifier: silent{}, Caller: silent{},
		Now:      func() time.Time { return w.clock.at(w.now) },
		Pause:    func(_ context.Context, d time.Duration) error { return w.wait(d) },
		MayWrite: w.mayWrite,
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
	f(w.model, w.now)
}

func (w *World) mayWrite(context.Context) error {
	life := w.life.number
	if w.running != nil {
		life = w.running.life
	}
	wait, err := w.met.mayWrite(life, w.now)
	if err != nil {
		return err
	}
	return w.wait(wait)
}

// call reads by a cloud API, which the fault or the night may refuse.
func (w *World) call(api string, f func(m *world.World, now time.Time, behind time.Duration)) error {
	var took time.Duration
	for try := 1; ; try++ {
		r, err := w.meet(api, world.Reading)
		if waiting := w.wait(r.before); waiting != nil {
			return waiting
		}
		took += r.before + r.after
		if err == nil && r.err == nil {
			w.look(func(m *world.World, now time.Time) {
				w.spent = max(w.spent, took)
				f(m, now, r.behind)
			})
			return w.wait(r.after)
		}
		if err == nil {
			err = r.err
		}
		if waiting := w.wait(r.after + throttlePause); waiting != nil {
			return waiting
		}
		took += throttlePause
		if engine.KindOf(err) != rollout.Throttled || try == throttleTries {
			w.look(func(*world.World, time.Time) { w.spent = max(w.spent, took) })
			return err
		}
	}
}

// meet asks what a call meets: the fault's refusal, or what the night has for it.
func (w *World) meet(api string, kind world.Call) (r reply, err error) {
	w.look(func(m *world.World, now time.Time) {
		if err = m.Refuse(now, api); err == nil {
			r = w.met.call(api, kind, now)
		}
	})
	return r, err
}

// write sends one write. It arrives whatever becomes of who sent it.
func (w *World) write(api string, what sent, apply func(m *world.World, now time.Time) error) error {
	t := w.running
	for try := 1; ; try++ {
		r, err := w.meet(api, world.Writing)
		if err == nil {
			err = r.err
			w.met.began(t, what, w.now)
			a, waiting := w.carry(t, r, what, apply)
			switch {
			case waiting != nil:
				return waiting
			case err == nil:
				err = a.refused
			}
			if err != nil && engine.KindOf(err) != rollout.Unknown {
				w.met.refused(what)
			}
		}
		if err == nil || engine.KindOf(err) != rollout.Throttled || try == throttleTries {
			return err
		}
		if waiting := w.wait(throttlePause); waiting != nil {
			return waiting
		}
	}
}

// arrival is what the model says of a write, once it is there.
type arrival struct{ refused error }

// carry brings a write to the model and waits for the answer.
func (w *World) carry(t *task, r reply, what sent, apply func(m *world.World, now time.Time) error) (*arrival, error) {
	a := &arrival{}
	arrive := func() {
		if r.lost {
			return
		}
		w.look(func(m *world.World, now time.Time) {
			if a.refused = apply(m, now); a.refused == nil {
				w.met.landed(t, what, now)
			}
		})
	}
	if r.before == 0 {
		arrive()
	} else {
		w.push(item{at: w.now.Add(r.before), act: arrive, sent: true})
	}
	return a, w.wait(r.before + r.after)
}

type primary struct{ w *World }

// Read implements engine.CDN.
func (p primary) Read(context.Context) (s plans.CDNState, err error) {
	err = p.w.call("cdn:DescribeCdnDomainConfigs", func(m *world.World, now time.Time, behind time.Duration) {
		state := m.Behind(now, behind)
		s = state.Primary
		p.w.met.saw(p.w.running, state, laneTLS)
	})
	return s, err
}

// SetTLS implements engine.TLSSetter.
func (p primary) SetTLS(_ context.Context, t plans.TLSWrite) error {
	return p.w.write("cdn:BatchSetCdnDomainConfig", sent{TLS: &t}, func(m *world.World, now time.Time) error {
		_, err := m.WriteTLS(now, t)
		return err
	})
}

type backup struct{ w *World }

// Read implements engine.CDN.
func (b backup) Read(context.Context) (s plans.CDNState, err error) {
	err = b.w.call("qiniu:GetDomain", func(m *world.World, now time.Time, behind time.Duration) { s = m.Behind(now, behind).Backup })
	return s, err
}

type records struct{ w *World }

// Read implements engine.DNS.
func (r records) Read(context.Context) (s plans.DNSState, err error) {
	err = r.w.call("alidns:DescribeSubDomainRecords", func(m *world.World, now time.Time, behind time.Duration) {
		state := m.Behind(now, behind)
		s = state.DNS
		r.w.met.saw(r.w.running, state, laneShare)
	})
	return s, err
}

// Write implements engine.DNS.
func (r records) Write(_ context.Context, d plans.DNSWrite) error {
	return r.w.write("alidns:UpdateDNSSLBWeight", sent{DNS: d}, func(m *world.World, now time.Time) error { return m.WriteDNS(now, d) })
}

type source struct {
	w     *World
	name  string
	view  world.View
	cloud bool // asked by a cloud API
}

// Fetch implements engine.Metrics.
func (s source) Fetch(_ context.Context, from, to guardrails.Minute) (rows []guardrails.Row, err error) {
	if s.cloud {
		err = s.w.call("cdn:DescribeDomainRealTimeHttpCodeData", func(m *world.World, now time.Time, _ time.Duration) {
			rows = m.Minutes(now, s.view, from, to)
		})
	} else {
		s.w.look(func(m *world.World, now time.Time) { rows = m.Minutes(now, s.view, from, to) })
	}
	if err != nil {
		return nil, err
	}
	return s.w.met.rows(s.name, s.w.now, to, rows)
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
