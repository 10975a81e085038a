package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// canary is a short canary: half an hour of the run's time.
const canary = `
version: tlsroll/v1
name: short
domain: cdn.example.com
primary: {provider: alicloud}
backup: {provider: qiniu}
dns: {provider: alicloud, zone: example.com, record: cdn}
change: {tls13: on}
sources:
  rum: {type: prometheus, settle: 1m, url: "http://127.0.0.1:1", queries: {requests: r, errors: e}}
guardrails:
  - {name: errors, source: rum, signal: error_rate, per: platform, above: 5%, for: 5m, within: 6m}
steps:
  - shift: {primary: 0%}
  - tls: change
  - shift: {primary: 10%, bake: 10m}
`

func shortPlan(t *testing.T) *plans.Plan {
	t.Helper()
	p, problems := plans.Parse("short.yaml", []byte(canary))
	if problems.HasErrors() {
		t.Fatal(problems.Render([]byte(canary)))
	}
	return p
}

// model is a modelled night around one domain that several controllers may act on. Time is the wall's, which is a bubble's in a test.
type model struct {
	mu     sync.Mutex
	w      *world.World
	writes []string // who wrote, in order
}

func newModel(p *plans.Plan, fault world.Fault) *model {
	on := plans.TLSSetOf(plans.TLS12)
	return &model{w: world.New(world.Config{Domain: p.Domain, Line: p.DNS.Line, Location: time.UTC, Seed: 1, Fault: fault, Quiet: true, State: plans.State{
		Primary: plans.CDNState{
			Domain: p.Domain, CNAME: "p.example.net", Status: "online", Online: true, Certificate: true, TLSReadable: true,
			TLS: plans.TLSSettings{Explicit: true, Enabled: on, ConfigID: "7", Status: plans.ConfigLive},
		},
		Backup: plans.CDNState{Domain: p.Domain, CNAME: "b.example.net", Status: "success", Online: true, Certificate: true},
		DNS: plans.DNSState{Weighted: true, MinTTL: time.Second, Records: []plans.Record{
			{ID: "1", Name: "cdn", Type: "CNAME", Value: "p.example.net", Line: p.DNS.Line, TTL: time.Minute, Weight: 60, WeightKnown: true, Enabled: true},
			{ID: "2", Name: "cdn", Type: "CNAME", Value: "b.example.net", Line: p.DNS.Line, TTL: time.Minute, Weight: 40, WeightKnown: true, Enabled: true},
		}},
	}}, time.Now())}
}

func (m *model) look(f func(w *world.World, now time.Time)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m.w, time.Now())
}

func (m *model) state() (s plans.State) {
	m.look(func(w *world.World, now time.Time) { s = w.State(now) })
	return s
}

// view is the model as one controller sees it. A frozen controller's calls hang where they are, as those of a stopped process.
type view struct {
	*model
	who    string
	frozen *freeze
}

// freeze stops a controller and lets it go on.
type freeze struct {
	mu   sync.Mutex
	wait chan struct{}
}

func (f *freeze) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wait = make(chan struct{})
}

func (f *freeze) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.wait)
	f.wait = nil
}

// pass waits while the controller is frozen. What stands still does not look at its context.
func (f *freeze) pass() {
	f.mu.Lock()
	wait := f.wait
	f.mu.Unlock()
	if wait != nil {
		<-wait
	}
}

func (v view) ports() engine.Ports {
	return engine.Ports{
		Levers: engine.Levers{Primary: primaryView{v}, DNS: dnsView{v}}, Backup: backupView{v},
		Sources: map[string]engine.Metrics{"rum": sourceView{v}}, Prober: proberView{v}, Resolver: resolverView{v}, Notifier: quiet{}, Caller: quiet{},
	}
}

type (
	primaryView  struct{ view }
	backupView   struct{ view }
	dnsView      struct{ view }
	sourceView   struct{ view }
	proberView   struct{ view }
	resolverView struct{ view }
)

func (v primaryView) Read(context.Context) (plans.CDNState, error) {
	v.frozen.pass()
	return v.state().Primary, nil
}

func (v primaryView) SetTLS(_ context.Context, t plans.TLSWrite) (err error) {
	v.frozen.pass()
	v.look(func(w *world.World, now time.Time) {
		v.writes = append(v.writes, v.who)
		_, err = w.WriteTLS(now, t)
	})
	return err
}

func (v backupView) Read(context.Context) (plans.CDNState, error) {
	v.frozen.pass()
	return v.state().Backup, nil
}

func (v dnsView) Read(context.Context) (plans.DNSState, error) {
	v.frozen.pass()
	return v.state().DNS, nil
}

func (v dnsView) Write(_ context.Context, d plans.DNSWrite) (err error) {
	v.frozen.pass()
	v.look(func(w *world.World, now time.Time) {
		v.writes = append(v.writes, v.who)
		err = w.WriteDNS(now, d)
	})
	return err
}

func (v sourceView) Fetch(_ context.Context, from, to guardrails.Minute) (rows []guardrails.Row, err error) {
	v.frozen.pass()
	v.look(func(w *world.World, now time.Time) { rows = w.Minutes(now, world.RUM, from, to) })
	if len(rows) == 0 {
		return nil, errors.New("no minutes")
	}
	return rows, nil
}

func (v proberView) Handshake(_ context.Context, leg guardrails.Leg) (hs []plans.Handshake, err error) {
	v.frozen.pass()
	v.look(func(w *world.World, now time.Time) { hs = w.Handshakes(now, leg) })
	return hs, nil
}

func (v resolverView) Resolve(_ context.Context, _, _ string, n int) (as []plans.Answers, err error) {
	v.frozen.pass()
	v.look(func(w *world.World, now time.Time) { as = []plans.Answers{w.Answers(now, n)} })
	return as, nil
}
