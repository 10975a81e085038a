package sim

import (
	"context"
	"iter"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
)

// The lanes of a process: what writes, one command at a time each.
const (
	laneShare = iota
	laneTLS
	laneRehearsal
	lanes
)

// life is a process that drives the run.
type life struct {
	number int
	lanes  [lanes]*task
	lost   bool      // it has crashed, or was taken over while it was frozen
	slept  bool      // it is the one before, which only slept: it need not replay anything
	asleep time.Time // it takes nothing in before
	quiet  time.Time // it must not write before: the last call of the one before may be under way
}

// task is a command that writes, as a coroutine: it stops where a call or a pause takes time.
type task struct {
	command rollout.Command
	begun   time.Time
	stored  plans.Weights // when it began
	judged  bool          // its first write was judged
	life    int
	next    func() (time.Duration, bool)
	stop    func()
	yield   func(time.Duration) bool
	ended   bool
	asleep  time.Time // the process that it belongs to is frozen
	event   rollout.Event
}

// begin ends what the lane was doing, and starts a command. What the older one has sent already is on its way, and nobody can call it back.
func (w *World) begin(ctx context.Context, c rollout.Command, lane int) {
	if before := w.life.lanes[lane]; before != nil {
		w.end(before)
	}
	t := &task{command: c, begun: w.now, stored: w.model.Weights(), life: w.life.number}
	t.next, t.stop = iter.Pull(func(yield func(time.Duration) bool) {
		t.yield = yield
		t.event = w.do.Do(ctx, c)
	})
	w.life.lanes[lane] = t
	w.resume(t)
}

// resume carries a task on to its next wait, or to its end.
func (w *World) resume(t *task) {
	switch {
	case t.ended:
		return
	case w.now.Before(t.asleep):
		w.at(t.asleep, func() { w.resume(t) })
		return
	}
	w.running = t
	wait, more := t.next()
	w.running = nil
	if more {
		w.at(w.now.Add(wait), func() { w.resume(t) })
		return
	}
	t.ended = true
	w.answer(t.life, 0, t.event)
}

// end stops a task where it is. It unwinds without doing anything more, and its answer is not heard.
func (w *World) end(t *task) {
	if t.ended {
		return
	}
	t.ended = true
	w.running = t
	t.stop()
	w.running = nil
}

// endAll stops everything of the present process.
func (w *World) endAll() {
	for _, t := range w.life.lanes {
		if t != nil {
			w.end(t)
		}
	}
}

// wait lets d pass for the running task. Outside of a task it is added to what the command takes.
func (w *World) wait(d time.Duration) error {
	t := w.running
	switch {
	case t == nil || d == 0 && !t.ended:
		return nil
	case t.ended || !t.yield(d):
		return context.Canceled
	}
	return nil
}
