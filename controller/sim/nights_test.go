package sim_test

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/sim"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// make test plays 2,000 nights, make nightly 100,000; the detector of races makes each ten times as dear.
var (
	nights = flag.Int("nights", usualNights, "random nights to play")
	seed   = flag.Uint64("seed", 1, "seed of the random nights")
)

func canary(t *testing.T) (*plans.Plan, time.Time) {
	t.Helper()
	p := example(t, "tls13-canary.yaml")
	start, _, err := p.StartAt()
	if err != nil {
		t.Fatal(err)
	}
	return p, start
}

// No law is broken in any night, a harmful fault never succeeds, and every way to end is common enough to be tested.
func TestRandomNightsKeepTheLaws(t *testing.T) {
	p, start := canary(t)
	const piece = 50 // a mutant is found in the first pieces
	var all []sim.Outcome
	for first := 0; first < *nights; first += piece {
		out, err := sim.SimulateFrom(t.Context(), p, start, *seed, first, min(piece, *nights-first))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, out...)
		for _, o := range out {
			for _, b := range o.Broken {
				t.Error(b)
			}
		}
		if t.Failed() {
			return
		}
	}
	r := sim.Summarise(all)
	for _, e := range r.Ends {
		if e.Nights*400 < r.Nights {
			t.Errorf("%s ended %d of %d nights: too few to mean anything", e.Phase, e.Nights, r.Nights)
		}
	}
	for _, f := range r.Faults {
		if f.Fault != world.None && f.Nights*200 < r.Nights {
			t.Errorf("%s came in %d of %d nights", f.Fault, f.Nights, r.Nights)
		}
	}
	if quiet := r.Verdicts[sim.QuietDone]; len(r.QuietBack)*50 > quiet {
		t.Errorf("%d of %d nights in which nothing was wrong were rolled back; the first: %+v", len(r.QuietBack), quiet, r.QuietBack[0])
	}
}

// A night does not depend on what else is played, nor on how many goroutines play.
func TestRandomNightsAreTheSameAgain(t *testing.T) {
	p, start := canary(t)
	const count = 12
	together, err := sim.Simulate(t.Context(), p, start, 7, count)
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.GOMAXPROCS(1)
	alone, err := sim.Simulate(t.Context(), p, start, 7, count)
	runtime.GOMAXPROCS(before)
	if diff := cmp.Diff(together, alone); err != nil || diff != "" {
		t.Errorf("many goroutines and one differ: %v (-many +one)\n%s", err, diff)
	}
	for i := range count {
		if diff := cmp.Diff(together[i], sim.Random(t.Context(), p, start, 7, i, nil)); diff != "" {
			t.Errorf("night %d alone differs (-together +alone)\n%s", i, diff)
		}
	}
}

// A trace names every record and write, and says the same each time.
func TestATraceTellsTheNight(t *testing.T) {
	p, start := canary(t)
	trace := func() (lines []string, o sim.Outcome) {
		o = sim.Random(t.Context(), p, start, 1, 0, func(f string, a ...any) { lines = append(lines, fmt.Sprintf(f, a...)) })
		return lines, o
	}
	first, o := trace()
	again, _ := trace()
	if diff := cmp.Diff(first, again); diff != "" || len(first) < o.Records {
		t.Errorf("%d lines of %d records (-first +again)\n%s", len(first), o.Records, diff)
	}
}

// What is counted comes from the outcomes.
func TestSummarise(t *testing.T) {
	r := sim.Summarise([]sim.Outcome{
		{Index: 0, Fault: world.Errors10, End: rollout.RolledBack, Verdict: sim.HarmSeen, Undisturbed: true, Detection: 9 * time.Minute, BackToWrite: time.Second},
		{Index: 1, End: rollout.Succeeded, Verdict: sim.QuietDone, Crashes: 2, Twin: true},
		{Index: 2, End: rollout.RolledBack, Verdict: sim.QuietBack},
		{Index: 3, Fault: world.Drift, End: rollout.Halted, Verdict: sim.Open, Broken: []sim.Broken{{Law: "S1", Night: 3}, {Law: "S1", Night: 3}}},
	})
	type counts struct {
		Succeeded, Back, Halted, Seen, Alarms, Crashes, Twins, Laws int
		Slowest                                                     time.Duration
	}
	got := counts{
		r.Ends[0].Nights, r.Ends[1].Nights, r.Ends[3].Nights, r.Verdicts[sim.HarmSeen], len(r.QuietBack), r.Crashes, r.Twins, r.BrokenLaws[0].Nights, r.Slowest.Took,
	}
	if diff := cmp.Diff(counts{1, 2, 1, 1, 1, 2, 1, 1, 9 * time.Minute}, got); diff != "" {
		t.Errorf("counts (-want +got)\n%s", diff)
	}
}
