package sim

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// longest is the virtual time in which every night must have ended: law L1. An observation until the evening is the longest part, and a
// hold, a proof on the way back and the wait for CLEAR are bounded too.
const longest = 36 * time.Hour

// errEndless ends a night that is over its time.
var errEndless = errors.New("sim: the night does not end")

// night is one random night while it is played: what carries out its script, and what watches it.
type night struct {
	script script
	w      *World
	run    rollout.Run // as the last record left it
	log    []rollout.Record
	turned time.Time // of the world: when the way back began
	marks  [moments]int
	watcher
	outcome Outcome
	trace   func(format string, args ...any) // nil: nobody reads along
}

// playNight plays a script. Without harm to the process it is the twin of a night with crashes.
func playNight(ctx context.Context, s script, trace func(string, ...any)) *night {
	n := &night{script: s, trace: trace, outcome: Outcome{Index: s.index, Fault: s.world.Fault}}
	n.w = newWorld(s.plan, s.start, &storm{night: n, calls: map[string]uint64{}}, s.world)
	n.w.do.Ports.KeepNothing = true // the rows stay with the record
	n.watch()
	n.w.Order(s.start, rollout.Started{Run: "simulated", Parsed: s.plan, Begin: s.begin, Actor: "tlsroll", Tool: "sim"})
	for i := range s.acts {
		if a := &s.acts[i]; a.when.on == atTime {
			n.w.at(s.start.Add(a.when.after), func() { n.perform(a) })
		}
	}
	n.live(ctx)
	n.atEnd()
	return n
}

// live drives the run through one process after the other.
func (n *night) live(ctx context.Context) {
	defer func() { n.w.endAll() }()
	defer n.endFrozen()
	run := rollout.Run{}
	for {
		var err error
		run, err = engine.Drive(ctx, engine.World{Inbox: n.w, Starter: n.w, Journal: n, Watch: n.turn}, run)
		switch {
		case err == nil:
			n.run = run
			return
		case errors.Is(err, errLost):
			if !n.w.life.slept {
				run = n.replay()
			}
			n.w.life.lost, n.w.life.slept = false, false
			n.w.Order(n.w.now, rollout.Resumed{Actor: "sim", Tool: "sim"})
		default:
			n.law("L1", "%v; stage %d, held %+v, %d commands outstanding", err, n.run.Stage, n.run.Held, len(n.run.Outstanding()))
			return
		}
	}
}

// replay is what the next process does first. Law R2: it finds the run as it was.
func (n *night) replay() rollout.Run {
	replayed := rollout.Replay(n.log)
	if len(n.log) > int(n.run.Seq) { //nolint:gosec // a record that no command followed
		n.run, _ = rollout.Next(n.run, n.log[len(n.log)-1])
	}
	if !reflect.DeepEqual(replayed, n.run) {
		n.law("R2", "the replay of %d records is not the live run", len(n.log))
	}
	return replayed
}

// Append implements engine.Journal.
func (n *night) Append(_ context.Context, rec rollout.Record) error {
	if rec.At.Sub(n.script.start) > longest {
		return errEndless
	}
	if k := len(n.log); k > 0 && (rec.At.Before(n.log[k-1].At) || rec.Seq != n.log[k-1].Seq+1) {
		n.law("R2", "record %d at %s follows record %d at %s", rec.Seq, rec.At, n.log[k-1].Seq, n.log[k-1].At)
	}
	n.log = append(n.log, n.kept(rec))
	n.say("%s %s", rec.At.Format("15:04:05.000"), describe(rec))
	n.mark(atRecord, doubtful)
	if n.w.life.lost {
		return errLost
	}
	return nil
}

// kept is a record as it is remembered: with the rows only where a process may replay them.
func (n *night) kept(rec rollout.Record) rollout.Record {
	if m, ok := rec.Event.(rollout.MinutesArrived); ok && !n.script.dies() {
		m.Batch.Rows = nil
		rec.Event = m
	}
	return rec
}

// turn is told of every record that was decided on.
func (n *night) turn(before, after rollout.Run, rec rollout.Record) {
	n.run = after
	n.look(before, after, rec)
	if before.Way == rollout.Forward && after.Way == rollout.Back {
		n.turned = n.w.now
		n.mark(atBack, decided)
	}
	n.people(after)
	if n.run.End == nil {
		n.mark(atRecord, decided)
	}
}

// people approve, and cut the last observation short.
func (n *night) people(run rollout.Run) {
	step, ok := run.Current()
	if !ok || run.Way != rollout.Forward || run.End != nil {
		return
	}
	switch step.(type) {
	case plans.Approve:
		if run.Stage == rollout.StageApproving && n.approved != run.Step+1 && n.script.approval >= 0 {
			n.approved = run.Step + 1
			n.w.Order(n.w.now.Add(n.script.approval), rollout.Approved{Actor: "sim"})
		}
	case plans.Observe:
		last := run.Steps[len(run.Steps)-1]
		if n.script.watch >= 0 && run.Stage == rollout.StageBaking && run.Held == nil && run.At.Sub(last.Entered) >= n.script.watch && run.At.Sub(n.promoted) >= time.Minute {
			n.promoted = run.At
			n.w.Order(n.w.now, rollout.PromoteOrdered{Actor: "sim", Reason: "seen enough"})
		}
	default:
	}
}

// standing tells a record that is durable and not yet decided on from everything that is done.
type standing int

const (
	decided standing = iota + 1
	doubtful
)

// mark counts a moment, and does what waits for it. Acts that come between a record and its commands are told apart.
func (n *night) mark(on moment, s standing) {
	if s == decided {
		n.marks[on]++
	}
	count := n.marks[on]
	if s == doubtful {
		count++
	}
	for i := range n.script.acts {
		a := &n.script.acts[i]
		early := on == atRecord && a.do == doCrash && a.durable
		if a.when.on != on || max(1, a.when.n) != count || early != (s == doubtful) {
			continue
		}
		if early {
			n.marks[on]++ // no turn follows in this process
			n.perform(a)
			return
		}
		n.w.at(n.w.now.Add(a.when.after), func() { n.perform(a) })
	}
}

// perform does a deed.
func (n *night) perform(a *act) {
	n.say("%s --- %s", n.w.now.Format("15:04:05.000"), a.do)
	w := n.w
	switch a.do {
	case doPause:
		w.Order(w.now, rollout.PauseOrdered{Actor: "ann", Reason: "look"})
	case doResume:
		w.Order(w.now, rollout.ResumeOrdered{Actor: "ann"})
	case doPromote:
		w.Order(w.now, rollout.PromoteOrdered{Actor: "ann"})
	case doAbort:
		w.Order(w.now, rollout.AbortOrdered{Actor: "ann"})
	case doDrift:
		n.drifted = w.now
		w.model.Disturb(w.now, a.leg, a.weight)
	case doCrash:
		n.crash(a.long)
		n.outcome.Crashes++
	case doTakeover:
		n.takeOver(a)
		n.outcome.Takeovers++
	case doSuspend:
		n.suspend(a.long)
		n.outcome.Suspends++
	case doAhead:
		n.jumped = true
		n.jump(a.long)
		n.outcome.Jumps++
	case doStill:
		n.jumped = true
		n.still(a.long)
		n.outcome.Jumps++
	}
}

// crash ends the process; another one begins a while later.
func (n *night) crash(away time.Duration) {
	w := n.w
	w.endAll()
	w.life = life{number: w.life.number + 1, asleep: w.now.Add(away), lost: true}
	n.away += away
}

// takeOver freezes the process; another one takes its claim when that has run out. What the frozen one had sent lands late, and its
// coroutines go on when it thaws, for as long as it takes until its next record is refused.
func (n *night) takeOver(a *act) {
	w := n.w
	taken := w.now.Add(a.long)
	w.delay(taken.Add(a.late))
	thawed := taken.Add(time.Second)
	for _, t := range w.life.lanes {
		if t != nil && !t.ended {
			t.asleep = thawed
			n.frozen = append(n.frozen, t)
			w.at(thawed.Add(20*time.Second), func() { w.end(t) })
		}
	}
	w.life = life{number: w.life.number + 1, asleep: taken, quiet: taken.Add(callTimeout()), lost: true}
	n.away += a.long
}

func (n *night) endFrozen() {
	for _, t := range n.frozen {
		n.w.end(t)
	}
}

// noticed is how far a clock has to go ahead until the process takes it for a time in which nobody watched; package engine has the same.
const noticed = 30 * time.Second

// suspend freezes the process for a while; its clock shows when it is back.
func (n *night) suspend(long time.Duration) {
	w := n.w
	until := w.now.Add(long)
	w.life.asleep = until
	for _, t := range w.life.lanes {
		if t != nil && !t.ended {
			t.asleep = until
		}
	}
	n.away += long
	n.wentAhead(until, long)
}

// jump puts the run's clock ahead. Timers look at it, so those that are due go off.
func (n *night) jump(by time.Duration) {
	w := n.w
	w.clock.ahead += by
	due := w.queue
	w.queue = nil
	for _, i := range due {
		if !i.wake.IsZero() {
			i.at = w.clock.when(i.wake)
		}
		w.push(i)
	}
	n.wentAhead(w.now, by)
}

// still stops the run's clock for a while, and lets it go on as if it had not stood still.
func (n *night) still(long time.Duration) {
	w := n.w
	w.clock.frozen, w.clock.until = w.clock.at(w.now), w.now.Add(long)
	n.wentAhead(w.clock.until, long)
}

// wentAhead is what a process does when it sees that its clock went ahead, as engine.Session does: it ends what it was writing, and goes on
// as after a stop. In the model that is a process that is gone and comes back at once.
func (n *night) wentAhead(when time.Time, by time.Duration) {
	if by < noticed {
		return
	}
	number := n.w.life.number
	n.w.at(when, func() {
		w := n.w
		if number != w.life.number || n.run.End != nil {
			return // somebody else goes on already
		}
		w.endAll()
		w.life = life{number: w.life.number + 1, quiet: w.life.quiet, lost: true, slept: true}
	})
}

func (n *night) say(format string, args ...any) {
	if n.trace != nil {
		n.trace(format, args...)
	}
}

// describe is a record in a line.
func describe(rec rollout.Record) string {
	text := fmt.Sprintf("%d %s", rec.Seq, rollout.Kind(rec.Event))
	switch e := rec.Event.(type) {
	case rollout.CommandFailed:
		return text + fmt.Sprintf(" %d %s: %s", e.ID, e.Kind, e.Text)
	case rollout.CommandSucceeded:
		return text + fmt.Sprintf(" %d %T", e.ID, e.Result)
	case rollout.MinutesArrived:
		return text + fmt.Sprintf(" %s %s..%s", e.Batch.Source, e.Batch.From.Start().UTC().Format("15:04"), e.Batch.To.Start().UTC().Format("15:04"))
	case rollout.SourceFailed:
		return text + " " + e.Source + ": " + e.Text
	case rollout.Started, rollout.Resumed, rollout.TimerFired, rollout.PauseOrdered, rollout.ResumeOrdered, rollout.PromoteOrdered, rollout.AbortOrdered, rollout.Approved:
	}
	return text
}

// minuteIndex is a minute's place in the watcher's tables.
func (n *night) minuteIndex(m guardrails.Minute) int {
	return int(m - guardrails.MinuteOf(n.script.start) + seenBefore)
}
