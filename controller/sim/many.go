package sim

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
)

// Simulate plays the nights 0..nights-1 of a seed and returns their outcomes by index. It uses as many goroutines as may run at once; what
// comes out does not depend on their number. It ends early when ctx does, with its error.
func Simulate(ctx context.Context, plan *plans.Plan, start time.Time, seed uint64, nights int) ([]Outcome, error) {
	return SimulateFrom(ctx, plan, start, seed, 0, nights)
}

// SimulateFrom is Simulate for the nights first..first+nights-1 of the seed.
func SimulateFrom(ctx context.Context, plan *plans.Plan, start time.Time, seed uint64, first, nights int) ([]Outcome, error) {
	out := make([]Outcome, nights)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), nights) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= nights || ctx.Err() != nil {
					return
				}
				out[i] = Random(ctx, plan, start, seed, first+i, nil)
			}
		})
	}
	wg.Wait()
	return out, ctx.Err()
}

// Random plays one night: the same plan, start, seed and index give the same night. A trace is given every record, write and deed as it
// happens; nil looks away.
func Random(ctx context.Context, plan *plans.Plan, start time.Time, seed uint64, index int, trace func(format string, args ...any)) Outcome {
	s := draw(plan, start, seed, index)
	n := playNight(ctx, s, trace)
	if twin, ok := s.twin(); ok && n.outcome.End != 0 {
		calm := playNight(ctx, twin, nil)
		n.outcome.Twin = true
		if sameKind(n, calm) {
			return n.outcome
		}
		n.law("R1", "the night ended as %s (%s), and without crashes as %s (%s)", n.outcome.End, n.outcome.Why, calm.outcome.End, calm.outcome.Why)
		n.outcome.Broken = n.broken
	}
	return n.outcome
}

// twin is the night without crashes, takeovers and suspensions, where it must end the same: where seconds decide nothing. That is a night
// in which processes die, and nobody else acts, every call is answered, and the fault is there from the beginning or not at all, and far
// from any limit.
func (s *script) twin() (script, bool) {
	if len(s.acts) == 0 || len(s.spells) > 0 || s.hands() || !s.world.Onset.IsZero() || harmOf(s.world.Fault) == marginal || s.watch < 0 {
		return script{}, false
	}
	calm := *s
	calm.acts = nil
	return calm, true
}

// sameKind reports whether both ended alike, or had a reason not to: a night that was away for long may find the window closed.
func sameKind(n, calm *night) bool {
	if n.outcome.End == calm.outcome.End {
		return true
	}
	return n.outcome.End == rollout.RolledBack && calm.outcome.End == rollout.Succeeded && n.away > time.Minute
}
