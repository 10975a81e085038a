package engine

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/tlsroll/tlsroll/controller/rollout"
)

// How long one delivery may take on the wall, and the longest pause before it is tried again.
const (
	notifyTimeout = 10 * time.Second
	notifyPause   = time.Minute
)

// outbox is what a run has to tell, oldest first. The journal keeps it: a notification is outstanding until its delivery is recorded. It
// has a goroutine of its own, so a receiver that is dead or slow holds up nothing but what comes after it.
type outbox struct {
	queue   []rollout.Command
	newest  rollout.CommandID // that was put in
	running bool
}

// say delivers a notification after those before it, as often as it takes. Commands are numbered in the order in which they are due, so one
// that is started again, after the machine slept, is in hand already.
func (l *Live) say(ctx context.Context, c rollout.Command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.ID <= l.said.newest {
		return
	}
	l.said.newest = c.ID
	l.said.queue = append(l.said.queue, c)
	if !l.said.running {
		l.said.running = true
		l.wg.Go(func() { l.deliver(ctx) })
	}
}

func (l *Live) deliver(ctx context.Context) {
	for {
		l.mu.Lock()
		if len(l.said.queue) == 0 || ctx.Err() != nil {
			l.said.running = false
			l.mu.Unlock()
			return
		}
		c := l.said.queue[0]
		l.said.queue = l.said.queue[1:]
		l.mu.Unlock()
		if e := l.deliverOne(ctx, c); e != nil {
			l.Post(ctx, e)
		}
	}
}

// deliverOne tries until the receiver has it, or says that it never will; nil when ctx ended before that.
func (l *Live) deliverOne(ctx context.Context, c rollout.Command) rollout.Event {
	pause := backoff.NewExponentialBackOff()
	pause.MaxInterval = notifyPause
	for {
		limited, cancel := context.WithTimeout(ctx, notifyTimeout)
		e := l.carryOut(limited, c)
		cancel()
		f, failed := e.(rollout.CommandFailed)
		if ctx.Err() != nil && failed {
			return nil
		}
		if !failed || f.Kind == rollout.Denied || f.Kind == rollout.Invalid || f.Kind == rollout.Missing {
			return e
		}
		if sleep(ctx, pause.NextBackOff()) != nil {
			return nil
		}
	}
}
