package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/plans"
)

// flushPatience is how long, on the wall, an ended run waits for its last words to be delivered. What is left stays in the journal, for
// whoever opens it next.
const flushPatience = 30 * time.Second

// Session carries one run under a lease that the caller keeps: it drives the run to its end, and sees to it that what the run had to tell
// is delivered. All fields must be set, except Watch.
type Session struct {
	Store store.Store
	Lease *Lease
	ID    rollout.RunID
	Plan  *plans.Plan
	Ports Ports // MayWrite is set by the session
	Clock plans.Clock
	Log   *zap.Logger
	// Tell is for what concerns the process rather than the run, as a journal that cannot be written. It must not block.
	Tell func(rollout.Urgency, string)
	// Watch is World.Watch.
	Watch func(before, after rollout.Run, rec rollout.Record)

	live *Live
}

// Open prepares the session, so that events can be posted.
func (s *Session) Open() {
	s.Ports.MayWrite = s.Lease.MayWrite
	s.live = NewLive(s.ID, s.Clock, s.Plan, s.Ports, s.Log)
}

// Order gives the run an event without waiting: what a person orders. It gives up when ctx ends.
func (s *Session) Order(ctx context.Context, e rollout.Event) { s.live.Order(ctx, e) }

// Run drives the run from its first events: a Started or, for one that is gone on with, a Resumed, and what a person orders at once. It
// returns the run as it is then, and an error when ctx ended before its end, which is then the context's cause; nothing of it goes on
// after that.
func (s *Session) Run(parent context.Context, run rollout.Run, first ...rollout.Event) (rollout.Run, error) {
	ctx, stop := context.WithCancel(parent)
	defer s.live.Wait()
	defer stop()
	j := &journal{store: s.Store, claim: s.Lease.Claim(), run: s.ID, tell: s.Tell, hold: func(reason string) {
		s.Order(ctx, rollout.PauseOrdered{Actor: "tlsroll", Reason: reason})
	}}
	w := World{Inbox: s.live, Starter: s.live, Journal: j, Watch: s.Watch}
	var err error
	if run.End == nil {
		for _, e := range first {
			s.live.Post(ctx, e)
		}
		run, err = s.drive(ctx, w, run)
		s.live.endWrites()
	} else {
		for _, c := range run.Outstanding() {
			s.live.Start(ctx, c)
		}
	}
	if err == nil {
		run, err = s.flush(ctx, w, run)
	}
	if cause := context.Cause(parent); err != nil && cause != nil {
		err = cause
	}
	return run, err
}

// drive is Drive, gone on with after each time that the machine slept.
func (s *Session) drive(ctx context.Context, w World, run rollout.Run) (rollout.Run, error) {
	for {
		var err error
		run, err = Drive(ctx, w, run)
		slept, ok := errors.AsType[*sleptError](err)
		if !ok {
			return run, err
		}
		if run.Seq > 0 { // else nothing has begun yet
			s.live.resume(slept.Error())
		}
	}
}

// flush records what is delivered after the end, and then notes the end in the store.
func (s *Session) flush(parent context.Context, w World, ended rollout.Run) (rollout.Run, error) {
	ctx, cancel := context.WithTimeout(parent, flushPatience)
	defer cancel()
	run, err := Flush(ctx, w, ended)
	for {
		if _, slept := errors.AsType[*sleptError](err); !slept {
			break
		}
		run, err = Flush(ctx, w, run) // a run that has ended misses nothing
	}
	if errors.Is(err, context.DeadlineExceeded) && parent.Err() == nil {
		s.Tell(rollout.Warn, fmt.Sprintf("%d notifications could not be delivered; they are kept in the journal and tried again at the next start", len(run.Outstanding())))
		return run, nil
	}
	if err != nil {
		return run, err
	}
	if err := s.Store.Finish(ctx, s.Lease.Claim(), run.ID, run.End.Phase); err != nil {
		return run, fmt.Errorf("note the end of run %s: %w", run.ID, err)
	}
	return run, nil
}
