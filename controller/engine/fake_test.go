package engine_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

// cloud is both CDNs and the records. Its scripts say what goes wrong with the next calls.
type cloud struct {
	mu     sync.Mutex
	state  plans.State
	old    plans.DNSState // what stale reads show
	stale  int            // reads that still show it
	writes []plans.DNSWrite
	tls    []plans.TLSWrite
	script []fault // one a write; none left: all goes well
	reads  int
}

type fault int

const (
	ok           fault = iota
	failedBefore       // refused, nothing happened
	failedAfter        // the answer is lost, the write is not
	lost               // the answer is lost, and the write too
	staleAfter         // accepted, and reads lag
	denied
)

func newCloud() *cloud {
	return &cloud{state: plans.State{
		Primary: plans.CDNState{
			CNAME: "p.example.net", Online: true, Certificate: true,
			TLS: plans.TLSSettings{Explicit: true, Enabled: plans.TLSSetOf(plans.TLS12), ConfigID: "7", Status: plans.ConfigLive},
		},
		Backup: plans.CDNState{CNAME: "b.example.net", Online: true, Certificate: true},
		DNS: plans.DNSState{Weighted: true, Records: []plans.Record{
			{ID: "1", Value: "p.example.net", Line: "default", Weight: 60, WeightKnown: true, Enabled: true},
			{ID: "2", Value: "b.example.net", Line: "default", Weight: 40, WeightKnown: true, Enabled: true},
		}},
	}}
}

func (c *cloud) next() fault {
	if len(c.script) == 0 {
		return ok
	}
	f := c.script[0]
	c.script = c.script[1:]
	return f
}

func kind(k providers.Kind) error {
	return &providers.Error{Provider: "test", Op: "write", Kind: k, Err: errors.New("scripted")}
}

func (c *cloud) weights() plans.Weights {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, _ := c.state.Weights("default")
	return w
}

type cdn struct {
	*cloud
	backup bool
}

func (c cdn) Read(ctx context.Context) (plans.CDNState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.backup {
		return c.state.Backup, ctx.Err()
	}
	return c.state.Primary, ctx.Err()
}

func (c cdn) SetTLS(_ context.Context, w plans.TLSWrite) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.next()
	if f == failedBefore {
		return kind(providers.Throttled)
	}
	if f == denied {
		return kind(providers.Denied)
	}
	if f != lost {
		c.tls = append(c.tls, w)
		if w.Set != nil {
			c.state.Primary.TLS = *w.Set
		} else {
			c.state.Primary.TLS = plans.TLSSettings{Status: plans.ConfigLive}
		}
	}
	if f == failedAfter || f == lost {
		return kind(providers.Unknown)
	}
	return nil
}

type records struct{ *cloud }

func (r records) Read(ctx context.Context) (plans.DNSState, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	if r.stale > 0 {
		r.stale--
		return r.old, ctx.Err()
	}
	return r.state.DNS, ctx.Err()
}

func (r records) Write(_ context.Context, w plans.DNSWrite) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.next()
	switch f {
	case failedBefore:
		return kind(providers.Throttled)
	case denied:
		return kind(providers.Denied)
	case lost:
		return kind(providers.Unknown)
	case ok, failedAfter, staleAfter:
	}
	r.old = r.state.DNS
	recs := append([]plans.Record(nil), r.state.DNS.Records...)
	for i := range recs {
		if recs[i].ID != w.RecordID {
			continue
		}
		switch w.Action {
		case plans.SetWeight:
			recs[i].Weight = w.Weight
		case plans.EnableRecord:
			recs[i].Enabled = true
		case plans.DisableRecord:
			recs[i].Enabled = false
		}
	}
	r.state.DNS.Records = recs
	r.writes = append(r.writes, w)
	if f == staleAfter {
		r.stale = 3
	}
	if f == failedAfter {
		return kind(providers.Unknown)
	}
	return nil
}

// quiet is a prober, resolver, source, notifier and webhook that have nothing to say.
type quiet struct{}

func (quiet) Handshake(context.Context, guardrails.Leg) ([]plans.Handshake, error) { return nil, nil }

func (quiet) Resolve(context.Context, string, string, int) ([]plans.Answers, error) {
	return nil, nil
}

func (quiet) Fetch(context.Context, guardrails.Minute, guardrails.Minute) ([]guardrails.Row, error) {
	return nil, nil
}
func (quiet) Notify(context.Context, engine.Key, rollout.Urgency, string) error { return nil }
func (quiet) Call(context.Context, engine.Key, string, int) error               { return nil }

func ports(c *cloud) engine.Ports {
	return engine.Ports{
		Levers: engine.Levers{Primary: cdn{c, false}, DNS: records{c}}, Backup: cdn{c, true}, Sources: map[string]engine.Metrics{"rum": quiet{}},
		Prober: quiet{}, Resolver: quiet{}, Notifier: quiet{}, Caller: quiet{},
		Now:   func() time.Time { return time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC) },
		Pause: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
}
