// Package engine is the shell around package rollout: it makes records durable, calls Next, and starts what is due.
//
// There is one loop, [Drive]. Live, demo, dry-run, simulation and resume differ only in the [World] they hand to it. And there is one
// way to carry out a command, [Executor.Do]: observe, compare, set, observe, against ports that are the real providers or a model.
//
// # Laws
//
//   - A record is durable before its commands start.
//   - A write is never repeated blindly: after any failure that may have been applied, and after a crash, the next act is a read.
//   - A write begins only under a claim that outlasts it, and after a takeover only when the last call of the one before is over: [Lease].
//   - A machine that slept goes on as after a stop.
//   - What a run tells waits for nothing, and nothing waits for it.
//   - One goroutine owns a run. A lever's writes run one after the other; a newer command on a lever ends the older one first.
//   - Whoever starts a goroutine waits for it.
//
// Waits between reads are the run's time (they shrink with the lab's speed); timeouts and backoff of network calls are wall time.
package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
)

// Inbox says what happens next.
type Inbox interface {
	// Next waits for an event. Its time never decreases.
	Next(ctx context.Context) (time.Time, rollout.Event, error)
}

// Starter carries out commands. Start does not wait for the outcome, which comes back through the Inbox.
type Starter interface {
	Start(ctx context.Context, c rollout.Command)
}

// Journal keeps records. When Append returns nil the record is as durable as the mode asks for.
type Journal interface {
	Append(ctx context.Context, rec rollout.Record) error
}

// World is everything a run touches.
type World struct {
	Inbox   Inbox
	Starter Starter
	Journal Journal
	// Watch is told of every turn after its record is durable and before its commands start; nil: nobody watches. It must not block.
	Watch func(before, after rollout.Run, rec rollout.Record)
}

// Drive carries a run on until it ends, and returns it as it is then. A run that was replayed goes on where it was: the inbox must hold a
// Resumed first, which may change what is outstanding; then the outstanding commands are started. Drive fails when ctx ends or a record
// cannot be made durable; nothing was started for that record then.
func Drive(ctx context.Context, w World, r rollout.Run) (rollout.Run, error) {
	if r.Seq > 0 && r.End == nil {
		var err error
		if r, _, err = turn(ctx, w, r); err != nil {
			return r, err
		}
		for _, c := range r.Outstanding() {
			w.Starter.Start(ctx, c)
		}
	}
	for r.End == nil {
		var due []rollout.Command
		var err error
		if r, due, err = turn(ctx, w, r); err != nil {
			return r, err
		}
		for _, c := range due {
			w.Starter.Start(ctx, c)
		}
	}
	return r, nil
}

// Flush records which notifications of an ended run are delivered, until none is outstanding or ctx ends. They must have been started.
func Flush(ctx context.Context, w World, r rollout.Run) (rollout.Run, error) {
	for len(r.Outstanding()) > 0 {
		at, e, err := w.Inbox.Next(ctx)
		if err != nil {
			return r, fmt.Errorf("await deliveries: %w", err)
		}
		if !slices.ContainsFunc(r.Outstanding(), func(c rollout.Command) bool { return c.ID == rollout.Answers(e) }) {
			continue // what was asked for before the end is of no use any more
		}
		if r, _, err = take(ctx, w, r, rollout.Record{Seq: r.Seq + 1, At: at, Event: e}); err != nil {
			return r, err
		}
	}
	return r, nil
}

// turn takes one event: durable first, then decided on. It starts nothing.
func turn(ctx context.Context, w World, r rollout.Run) (rollout.Run, []rollout.Command, error) {
	at, e, err := w.Inbox.Next(ctx)
	if err != nil {
		return r, nil, fmt.Errorf("await event %d: %w", r.Seq+1, err)
	}
	return take(ctx, w, r, rollout.Record{Seq: r.Seq + 1, At: at, Event: e})
}

func take(ctx context.Context, w World, r rollout.Run, rec rollout.Record) (rollout.Run, []rollout.Command, error) {
	if err := w.Journal.Append(ctx, rec); err != nil {
		return r, nil, fmt.Errorf("make record %d durable: %w", rec.Seq, err)
	}
	after, due := rollout.Next(r, rec)
	if w.Watch != nil {
		w.Watch(r, after, rec)
	}
	return after, due, nil
}
