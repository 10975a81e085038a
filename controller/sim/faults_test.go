package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/sim"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// TestFaultsEndAsTheSemanticsSay plays the faults that guardrails must see, each with three kinds of noise: how the run ends, what turned
// it round, and at which share at the latest.
func TestFaultsEndAsTheSemanticsSay(t *testing.T) {
	t.Parallel()
	const canary, inPlace = "tls13-canary.yaml", "tls13-in-place.yaml"
	for _, test := range []struct {
		plan  string
		fault world.Fault
		want  rollout.Phase
		why   string // in the reason of the way back
		share plans.Percent
	}{
		{canary, world.Errors6, rollout.RolledBack, "error-rate", 10},
		{canary, world.TLSSlow, rollout.RolledBack, "tls-time", 10},
		{canary, world.SizeDrop, rollout.RolledBack, "response-size", 10},
		{canary, world.TooGood, rollout.RolledBack, "total-time", 10},
		{canary, world.Status5xx, rollout.RolledBack, "status-share", 10},
		{canary, world.Silence, rollout.RolledBack, "silence", 10},
		{canary, world.Blind, rollout.RolledBack, "silence", 10}, // traffic that never came counts by its rule, rows that stop as BLIND
		{canary, world.NaN, rollout.RolledBack, "BLIND", 10},
		{canary, world.Gaps, rollout.Succeeded, "", 60},
		{canary, world.Flap, rollout.RolledBack, "held for 1h0m0s: error-rate", 10},
		{canary, world.CommonCause, rollout.RolledBack, "held for 1h0m0s: error-rate", 0},
		{inPlace, world.CommonCause, rollout.RolledBack, "both CDNs have breached for 20m0s: error-rate", 60},
		{inPlace, world.Errors6, rollout.RolledBack, "error-rate", 60},
	} {
		t.Run(fmt.Sprintf("%s in %s", test.fault, test.plan), func(t *testing.T) {
			t.Parallel()
			p := example(t, test.plan)
			start, ok, err := p.StartAt()
			if err != nil || !ok {
				start = time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC)
			}
			for seed := range uint64(3) {
				n, err := sim.Play(t.Context(), sim.New(p, observed(before(p)), start, sim.Options{Fault: test.fault, Seed: seed}), nil)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				top := plans.Percent(0)
				for _, s := range n.Run.Steps {
					if s.Way == rollout.Forward {
						top = max(top, s.Asked)
					}
				}
				if top != test.share {
					t.Errorf("seed %d: the primary got %s, want %s", seed, top, test.share)
				}
				if n.Run.End.Phase != test.want || !strings.Contains(n.Run.BackWhy, test.why) {
					t.Errorf("seed %d: want %s for %q, got %+v", seed, test.want, test.why, *n.Run.End)
				}
			}
		})
	}
}
