package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
)

// The longest a command may take on the wall. The rollout repeats what is still needed.
const (
	readTimeout  = time.Minute
	leverTimeout = 3 * time.Minute
	endTimeout   = 5 * time.Second // for an older write to end once it was told to
)

// Live is the Inbox and the Starter of a run against real providers, or against the lab.
type Live struct {
	clock  *runClock
	do     *Executor
	log    *zap.Logger
	events chan rollout.Event
	bulk   chan rollout.Event // has no room: what is sent has been taken in
	wg     sync.WaitGroup
	kept   []rollout.Event // given out before any other: what the clock did, and the event that showed it

	mu     sync.Mutex
	levers [2]lane // share, tls
	said   outbox
}

// lane is the command under way on a lever.
type lane struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// NewLive returns a world for one run. ports.Now and ports.Pause are set by it, from the clock. Every command is logged with its answer.
func NewLive(id rollout.RunID, clock plans.Clock, plan *plans.Plan, ports Ports, log *zap.Logger) *Live {
	l := &Live{clock: newRunClock(clock, wallAndSteady()), log: log, events: make(chan rollout.Event, 64), bulk: make(chan rollout.Event)}
	ports.Now = l.clock.now
	ports.Pause = func(ctx context.Context, d time.Duration) error { return sleep(ctx, clock.WallDuration(d)) }
	l.do = &Executor{Run: id, Plan: plan, Ports: ports}
	return l
}

// Post puts an event into the inbox: the first Started, an operator's order. It gives up when ctx ends.
func (l *Live) Post(ctx context.Context, e rollout.Event) {
	select {
	case l.events <- e:
	case <-ctx.Done():
	}
}

// Order is Post for whoever must not wait, as World.Watch.
func (l *Live) Order(ctx context.Context, e rollout.Event) {
	l.wg.Go(func() { l.Post(ctx, e) })
}

// Next implements Inbox. Only the goroutine that drives the run may call it. A wall clock that was set back comes as an event of its own,
// before the one that showed it; after one that went ahead it fails with a *sleptError, and the event is kept.
func (l *Live) Next(ctx context.Context) (time.Time, rollout.Event, error) {
	var e rollout.Event
	if len(l.kept) > 0 {
		e, l.kept = l.kept[0], l.kept[1:]
		if _, first := e.(rollout.Resumed); first { // nothing may come before it, another jump neither
			return l.clock.now().UTC(), e, nil
		}
	} else {
		select {
		case e = <-l.events:
		case e = <-l.bulk:
		case <-ctx.Done():
			return time.Time{}, nil, ctx.Err()
		}
	}
	at, jump := l.clock.advance()
	if jump != 0 {
		l.log.Warn("clock jumped", zap.Duration("by", jump))
		l.kept = slices.Insert(l.kept, 0, e)
		if jump > 0 {
			return time.Time{}, nil, &sleptError{jump}
		}
		e = setBack(-jump)
	}
	return at.UTC(), e, nil
}

// Start implements Starter.
func (l *Live) Start(ctx context.Context, c rollout.Command) {
	switch a := c.Action.(type) {
	case rollout.Wake:
		l.wg.Go(func() {
			if l.clock.until(ctx, a.At) == nil {
				l.Post(ctx, rollout.TimerFired{ID: c.ID})
			}
		})
	case rollout.SetShare:
		l.startLever(ctx, 0, c)
	case rollout.SetTLS:
		l.startLever(ctx, 1, c)
	case rollout.Notify:
		l.say(ctx, c)
	case rollout.FetchMinutes:
		if a.DaysAgo > 0 {
			l.startBulk(ctx, c)
			return
		}
		l.startRead(ctx, c)
	case rollout.ReadState, rollout.Handshake, rollout.Resolve, rollout.Rehearse, rollout.Call:
		l.startRead(ctx, c)
	}
}

func (l *Live) startRead(ctx context.Context, c rollout.Command) {
	l.wg.Go(func() {
		limited, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		l.Post(ctx, l.carryOut(limited, c))
	})
}

// startBulk reads what is much, and no guardrail waits for: a few at once in the whole process, until the run has taken each in.
func (l *Live) startBulk(ctx context.Context, c rollout.Command) {
	l.wg.Go(func() {
		if l.do.Ports.bulk.take(ctx) != nil {
			return
		}
		defer l.do.Ports.bulk.give()
		limited, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		select {
		case l.bulk <- l.carryOut(limited, c):
		case <-ctx.Done():
		}
	})
}

// carryOut does a command and logs what came of it, in wall time. No text in it holds a secret: adapters see to that.
func (l *Live) carryOut(ctx context.Context, c rollout.Command) rollout.Event {
	began := time.Now()
	e := l.do.Do(ctx, c)
	fields := []zap.Field{
		zap.Uint64("command", uint64(c.ID)), zap.String("action", rollout.ActionName(c.Action)), zap.Duration("took", time.Since(began)),
	}
	switch e := e.(type) {
	case rollout.CommandFailed:
		l.log.Warn("command failed", append(fields, zap.Stringer("kind", e.Kind), zap.String("error", e.Text))...)
	case rollout.SourceFailed:
		l.log.Warn("source failed", append(fields, zap.String("source", e.Source), zap.Stringer("kind", e.Kind), zap.String("error", e.Text))...)
	default:
		l.log.Info("command done", fields...)
	}
	return e
}

// startLever ends what the lever was doing, and then does the new command.
func (l *Live) startLever(ctx context.Context, which int, c rollout.Command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.levers[which]
	limited, cancel := context.WithTimeout(ctx, leverTimeout)
	now := lane{cancel: cancel, done: make(chan struct{})}
	l.levers[which] = now
	l.wg.Go(func() {
		defer close(now.done)
		defer cancel()
		if before.done != nil {
			before.cancel()
			select {
			case <-before.done:
			case <-time.After(endTimeout): // it hangs in something that does not heed its context: the newer write must not wait for it
			}
		}
		e := l.carryOut(limited, c)
		if limited.Err() != context.Canceled {
			l.Post(ctx, e)
		}
	})
}

// resume ends what the levers are doing, and makes a Resumed the next event: whoever drives the run starts again what is outstanding.
func (l *Live) resume(why string) {
	l.endWrites()
	l.kept = slices.Insert(l.kept, 0, rollout.Event(rollout.Resumed{Actor: why}))
}

// endWrites ends what the levers are doing, and waits for it: an ended run writes nothing.
func (l *Live) endWrites() {
	l.mu.Lock()
	levers := l.levers
	l.mu.Unlock()
	for _, lane := range levers {
		if lane.done == nil {
			continue
		}
		lane.cancel()
		select {
		case <-lane.done:
		case <-time.After(endTimeout):
		}
	}
}

// Wait waits for everything that was started. Call it after Drive has returned; cancel the context first to end what is under way.
func (l *Live) Wait() { l.wg.Wait() }

// sleep waits on the wall clock.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
