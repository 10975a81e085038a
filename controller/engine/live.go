package engine

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
)

// The longest a command may take on the wall. The rollout repeats what is still needed.
const (
	readTimeout   = time.Minute
	leverTimeout  = 3 * time.Minute
	notifyTimeout = 10 * time.Second
	endTimeout    = 5 * time.Second // for an older write to end once it was told to
)

// Live is the Inbox and the Starter of a run against real providers, or against the lab.
type Live struct {
	clock  plans.Clock
	do     *Executor
	log    *zap.Logger
	events chan rollout.Event
	wg     sync.WaitGroup
	last   time.Time

	mu     sync.Mutex
	levers [2]lane // share, tls
}

// lane is the command under way on a lever.
type lane struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// NewLive returns a world for one run. ports.Now and ports.Pause are set by it, from the clock. Every command is logged with its answer.
func NewLive(clock plans.Clock, plan *plans.Plan, ports Ports, log *zap.Logger) *Live {
	l := &Live{clock: clock, log: log, events: make(chan rollout.Event, 64)}
	ports.Now = func() time.Time { return clock.At(time.Now()) }
	ports.Pause = func(ctx context.Context, d time.Duration) error { return sleep(ctx, clock.WallDuration(d)) }
	l.do = &Executor{Plan: plan, Ports: ports}
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

// Next implements Inbox. Only the goroutine that drives the run may call it.
func (l *Live) Next(ctx context.Context) (time.Time, rollout.Event, error) {
	select {
	case e := <-l.events:
		if at := l.clock.At(time.Now()).UTC().Round(0); at.After(l.last) {
			l.last = at
		}
		return l.last, e, nil
	case <-ctx.Done():
		return time.Time{}, nil, ctx.Err()
	}
}

// Start implements Starter.
func (l *Live) Start(ctx context.Context, c rollout.Command) {
	switch a := c.Action.(type) {
	case rollout.Wake:
		l.wg.Go(func() {
			if sleep(ctx, time.Until(l.clock.Wall(a.At))) == nil {
				l.Post(ctx, rollout.TimerFired{ID: c.ID})
			}
		})
	case rollout.SetShare:
		l.startLever(ctx, 0, c)
	case rollout.SetTLS:
		l.startLever(ctx, 1, c)
	case rollout.Notify:
		l.wg.Go(func() { // the last words of a run are said after its context has ended
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
			defer cancel()
			l.Post(ctx, l.carryOut(limited, c))
		})
	case rollout.ReadState, rollout.Handshake, rollout.Resolve, rollout.FetchMinutes, rollout.Rehearse, rollout.Call:
		l.wg.Go(func() {
			limited, cancel := context.WithTimeout(ctx, readTimeout)
			defer cancel()
			l.Post(ctx, l.carryOut(limited, c))
		})
	}
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
