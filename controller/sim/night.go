package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// Night is a simulated run: how it ended, what it wrote, and every record.
type Night struct {
	Run     rollout.Run
	Writes  []world.Write
	Records []rollout.Record
}

// Play drives a plan through a world to its end. order may look at every turn and put events into the inbox by w.Order; nil looks away.
func Play(ctx context.Context, w *World, order func(w *World, run rollout.Run)) (Night, error) {
	start := w.now
	w.Order(start, rollout.Started{Run: "dry-run", Plan: string(plans.Encode(w.plan)), Digest: plans.Digest(w.plan), Actor: "tlsroll", Tool: "sim"})
	var n Night
	journal := memory{&n.Records}
	run, err := engine.Drive(ctx, engine.World{
		Inbox: w, Starter: w, Journal: journal,
		Watch: func(_, after rollout.Run, _ rollout.Record) {
			if order != nil {
				order(w, after)
			}
		},
	}, rollout.Run{})
	n.Run, n.Writes = run, w.Writes()
	if err != nil {
		return n, fmt.Errorf("simulate: %w", err)
	}
	return n, nil
}

// DryRun is a night without noise or fault, in which every approval comes at once: what a live run would do if nothing goes wrong.
func DryRun(ctx context.Context, plan *plans.Plan, observed plans.State, start time.Time, o Options) (Night, error) {
	o.Quiet, o.Fault = true, world.None
	return Play(ctx, New(plan, observed, start, o), approve())
}

// approve gives each approval that a run waits for, once.
func approve() func(*World, rollout.Run) {
	last := -1
	return func(w *World, run rollout.Run) {
		if run.Stage == rollout.StageApproving && run.Step != last {
			last = run.Step
			w.Order(w.now, rollout.Approved{Actor: "dry-run", Comment: "supposed"})
		}
	}
}

// Reached reports whether a run is in a forward step with everything written that the step writes: baking, or being proved where there is
// no bake. It is where a dry-run turns round to show the way back from a step.
func Reached(run rollout.Run, step int) bool {
	if run.Way != rollout.Forward || run.Step != step || run.End != nil {
		return false
	}
	shift, _ := run.Plan.Steps[step].(plans.Shift)
	return run.Stage == rollout.StageBaking || run.Stage == rollout.StageProveTLS || run.Stage == rollout.StageProveShare && shift.Bake == 0
}

// DryRunBack is a night that is aborted in a forward step: what the way back from there would do.
func DryRunBack(ctx context.Context, plan *plans.Plan, observed plans.State, start time.Time, step int, o Options) (Night, error) {
	o.Quiet, o.Fault = true, world.None
	ordered, approving := false, approve()
	return Play(ctx, New(plan, observed, start, o), func(w *World, run rollout.Run) {
		approving(w, run)
		if !ordered && Reached(run, step) {
			ordered = true
			w.Order(w.now, rollout.AbortOrdered{Actor: "dry-run", Reason: "to show the way back"})
		}
	})
}

// memory is a journal that does not outlive the process.
type memory struct{ records *[]rollout.Record }

// Append implements engine.Journal.
func (m memory) Append(_ context.Context, rec rollout.Record) error {
	*m.records = append(*m.records, rec)
	return nil
}
