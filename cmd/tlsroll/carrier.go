package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/schedule"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/plans"
)

// carrier is a local run with what it needs to be carried out.
type carrier struct {
	*local
	store openedStore
	lease *engine.Lease
	log   *zap.Logger
}

// earlier returns the run to go on with, the last one of this plan when it has ended and had touched something (over is true then), or a
// zero run: then another one is started. What ended runs have to tell still is told.
func (c carrier) earlier(ctx context.Context) (run rollout.Run, over bool, err error) {
	runs, err := c.store.List(ctx)
	if err != nil {
		return rollout.Run{}, false, err
	}
	for _, known := range runs {
		if known.Domain != c.plan.Domain {
			continue
		}
		records, err := store.Read(ctx, c.store, known.ID)
		if err != nil {
			return rollout.Run{}, false, err
		}
		run := rollout.Replay(records)
		if run.End != nil && known.Ended == 0 {
			if run, err = c.carry(ctx, run); err != nil {
				return run, false, err
			}
		}
		switch {
		case run.End != nil && run.Touched && !c.again && run.Digest == plans.Digest(c.plan):
			c.talk(fmt.Sprintf("run %s of this plan has ended: %s, %s; --again starts another one", run.ID, run.End.Phase, run.End.Why))
			return run, true, nil
		case run.End != nil:
			continue
		case run.Digest != plans.Digest(c.plan):
			return rollout.Run{}, false, &exitError{
				code: exitPrecondition,
				err:  fmt.Errorf("run %s of another plan for %s is not finished: %s", run.ID, run.Plan.Domain, run.Live()),
				hint: "apply the plan it was started with to go on with it; tlsroll status " + string(run.ID) + " shows it",
			}
		}
		c.plan = run.Plan
		c.talk(fmt.Sprintf("resuming run %s after record %d, %s", run.ID, run.Seq, run.Phase()))
		return run, false, nil
	}
	return rollout.Run{}, false, nil
}

// carry hands everything to the engine.
func (c carrier) carry(parent context.Context, run rollout.Run) (rollout.Run, error) {
	conn, err := connect(c.io, c.plan, c.clock, wiring{tell: c.tell, permit: c.lease.MayWrite, timeout: engine.CallTimeout(c.claimTTL)})
	if err != nil {
		return run, &exitError{code: exitInvalid, err: err}
	}
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	id, first, err := c.first(ctx, conn, run)
	if err != nil {
		return run, err
	}
	session := &engine.Session{
		Store: c.store, Lease: c.lease, ID: id, Plan: c.plan, Ports: conn.ports, Clock: c.clock, Log: c.log, Tell: c.tell,
	}
	session.Watch = func(before, after rollout.Run, rec rollout.Record) {
		c.watch(before, after, rec)
		if c.order == nil {
			return
		}
		if e := c.order(after); e != nil {
			session.Order(ctx, e)
		}
	}
	session.Open()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop(nil)
	wg.Go(func() { c.signals(ctx, session, stop) })
	wg.Go(func() {
		if err := c.lease.Keep(ctx); err != nil {
			stop(err)
		}
	})
	more := []rollout.Event{first}
	if c.resume && run.Plan != nil {
		more = append(more, rollout.ResumeOrdered{Actor: actor(c.io), Reason: "apply --resume"})
	}
	run, err = session.Run(ctx, run, more...)
	return run, c.failure(run, err)
}

// failure says what an error that ended the process means for the run.
func (c carrier) failure(run rollout.Run, err error) error {
	if _, chosen := errors.AsType[*exitError](err); err == nil || chosen {
		return err
	}
	return &exitError{
		code: exitUnexpected, err: fmt.Errorf("%w; the run is not watched by this process any more. Live now: %s", err, run.Live()),
		hint: "the same command goes on where the run was",
	}
}

// first is the event that a run begins or goes on with, and the run's name.
func (c carrier) first(ctx context.Context, conn *connections, run rollout.Run) (rollout.RunID, rollout.Event, error) {
	if run.ID != "" {
		return run.ID, rollout.Resumed{Actor: actor(c.io), Tool: view.Version()}, nil
	}
	if err := conn.haveKeys(ctx); err != nil {
		return "", nil, &exitError{code: exitPrecondition, err: err, hint: "nothing was touched, and no run was begun"}
	}
	start, _, err := schedule.Start(c.plan, c.clock.At(time.Now()))
	if err != nil {
		return "", nil, &exitError{code: exitInvalid, err: err}
	}
	id := c.newID()
	return id, rollout.Started{
		Begin: start.UTC(), Run: id, Plan: string(plans.Encode(c.plan)), Digest: plans.Digest(c.plan), Actor: actor(c.io), Tool: view.Version(),
	}, nil
}
