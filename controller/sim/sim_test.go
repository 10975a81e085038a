package sim_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/sim"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/plans/examples"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

func observed(on plans.TLSSet) plans.State {
	return plans.State{
		Primary: plans.CDNState{
			Domain: "cdn.example.com", CNAME: "cdn.example.com.w.example.net", Status: "online", Online: true, Certificate: true, TLSReadable: true,
			TLS: plans.TLSSettings{Explicit: true, Enabled: on, ConfigID: "7", Status: plans.ConfigLive},
		},
		Backup: plans.CDNState{Domain: "cdn.example.com", CNAME: "cdn-example-com.q.example.net", Status: "success", Online: true, Certificate: true},
		DNS: plans.DNSState{Weighted: true, MinTTL: time.Second, Records: []plans.Record{
			{ID: "1", Name: "cdn", Type: "CNAME", Value: "cdn.example.com.w.example.net", Line: "default", TTL: time.Minute, Weight: 60, WeightKnown: true, Enabled: true},
			{ID: "2", Name: "cdn", Type: "CNAME", Value: "cdn-example-com.q.example.net", Line: "default", TTL: time.Minute, Weight: 40, WeightKnown: true, Enabled: true},
		}},
	}
}

func example(t *testing.T, name string) *plans.Plan {
	t.Helper()
	text, ok := examples.Source(name)
	if !ok {
		t.Fatalf("no example %s", name)
	}
	p, problems := plans.Parse(name, []byte(text))
	if problems.HasErrors() {
		t.Fatal(problems.Render([]byte(text)))
	}
	return p
}

func before(p *plans.Plan) plans.TLSSet {
	all := plans.TLSSetOf(plans.TLS10, plans.TLS11, plans.TLS12)
	return all&^p.Change.On | p.Change.Off
}

func TestFaultsEndAsTheirNamesSay(t *testing.T) {
	tests := []struct {
		fault world.Fault
		want  rollout.Phase
	}{
		{world.None, rollout.Succeeded},
		{world.Errors10, rollout.RolledBack},
		{world.Latency25, rollout.RolledBack},
		{world.Throttle, rollout.Succeeded},
		{world.DNSStuck, rollout.Succeeded},
		{world.TLSStuck, rollout.RolledBack},
		{world.EdgeWrongCert, rollout.RolledBack},
	}
	p := example(t, "tls13-canary.yaml")
	start, _, err := p.StartAt()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		for seed := range uint64(3) {
			n, err := sim.Play(t.Context(), sim.New(p, observed(before(p)), start, sim.Options{Fault: test.fault, Seed: seed}), nil)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", test.fault, seed, err)
			}
			if n.Run.End.Phase != test.want {
				t.Errorf("%s, seed %d: want %s, got %+v", test.fault, seed, test.want, *n.Run.End)
			}
		}
	}
}

// What is no cloud API is not throttled by one.
func TestThrottleDelaysCloudAPIsAlone(t *testing.T) {
	p := example(t, "tls13-canary.yaml")
	start, _, err := p.StartAt()
	if err != nil {
		t.Fatal(err)
	}
	n, err := sim.Play(t.Context(), sim.New(p, observed(before(p)), start, sim.Options{Fault: world.Throttle}), nil)
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		source  string
		delayed bool // ticks are a second after the minute, and an answer takes a third of a second
	}
	got := map[answer]int{}
	for _, r := range n.Records {
		if e, ok := r.Event.(rollout.MinutesArrived); ok && r.At.Sub(start) > time.Minute {
			got[answer{e.Batch.Source, r.At.Second() > 1}]++
		}
	}
	if got[answer{"rum", true}] != 0 || got[answer{"rum", false}] < 1000 || got[answer{"edge", true}] < 300 || got[answer{"edge", false}] < 300 {
		t.Errorf("answers: %v; want those of Prometheus at once, and some of the CDN's monitoring late", got)
	}
}

// A night that gets slower until the morning is no fault, and the simulator passes it on to the model.
func TestANightThatRises(t *testing.T) {
	p := example(t, "tls13-canary.yaml")
	start, _, err := p.StartAt()
	if err != nil {
		t.Fatal(err)
	}
	last := func(rise float64) float64 {
		n, err := sim.Play(t.Context(), sim.New(p, observed(before(p)), start, sim.Options{NightRise: rise}), nil)
		if err != nil || n.Run.End.Phase != rollout.Succeeded {
			t.Fatalf("rise %v: %v, %+v", rise, err, n.Run.End)
		}
		for _, r := range n.Records {
			if e, ok := r.Event.(rollout.MinutesArrived); ok && e.Batch.Source == "rum" && r.At.After(start.Add(4*time.Hour)) {
				row := e.Batch.Rows[0]
				return row.Counts.TotalMS / row.Counts.Requests
			}
		}
		t.Fatal("no minutes at 06:00")
		return 0
	}
	if flat, risen := last(-1), last(0.08); risen/flat < 1.06 || risen/flat > 1.09 {
		t.Errorf("total time at 06:00 is %.1f ms, and %.1f ms in a night that rises by 8 %%", flat, risen)
	}
}

// The writes of a dry-run are those of the safe order, forward, and back from each step; and the same inputs give the same night.
func TestDryRunOfEveryExample(t *testing.T) {
	for _, name := range examples.Names() {
		p := example(t, name)
		start := time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC)
		if at, ok, err := p.StartAt(); err == nil && ok {
			start = at
		}
		state := observed(before(p))
		n, err := sim.DryRun(t.Context(), p, state, start, sim.Options{})
		if err != nil || n.Run.End.Phase != rollout.Succeeded {
			t.Fatalf("%s: %v, %+v", name, err, n.Run.End)
		}
		again, err := sim.DryRun(t.Context(), p, state, start, sim.Options{})
		if diff := cmp.Diff(n.Writes, again.Writes); err != nil || diff != "" {
			t.Errorf("%s: two nights differ: %v\n%s", name, err, diff)
		}
		for step, s := range p.Steps {
			if _, waits := s.(plans.Approve); waits {
				continue // nothing is written there to come back from
			}
			back, err := sim.DryRunBack(t.Context(), p, state, start, step, sim.Options{})
			if err != nil {
				t.Fatalf("%s back from %d: %v", name, step, err)
			}
			if want := restoredOrUntouched(back); back.Run.End.Phase != want {
				t.Errorf("%s back from step %d: want %s, got %+v", name, step, want, back.Run.End)
			}
		}
	}
}

// restoredOrUntouched is the end that an abort must have.
func restoredOrUntouched(n sim.Night) rollout.Phase {
	if !n.Run.Touched {
		return rollout.Halted
	}
	return rollout.RolledBack
}
