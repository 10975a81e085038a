// Package sim is a world in virtual time: the same Drive, the same executor and the same decisions as in a live run, over the model in
// providers/lab/world, with an event heap in place of a clock. A night takes milliseconds.
//
// A dry-run gives it the state that was really read, and no noise: what comes out is every write that a live run would make, in order,
// and when. A random night ([Simulate]) gives it faults, trouble, people and crashes, all drawn from a seed, and a watcher that judges
// from outside whether a law was broken.
//
// Laws: the same inputs give the same night. What writes is a coroutine that stops at each call and pause, so that everything else may
// happen between two writes; what only reads is carried out at the instant of its start and answered later, so that two commands of the
// same instant do not see each other's answers. Nothing here sleeps or does I/O.
package sim

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// latency is how long a command takes in virtual time, beyond the calls that it makes.
const latency = 300 * time.Millisecond

// Options say what the night is like. The zero value is a healthy one with noise.
type Options struct {
	Fault world.Fault // 0 is none
	Seed  uint64
	Quiet bool // no noise: for dry-runs
	// NightRise is as in [world.Config]: how much longer times get until the morning.
	NightRise float64
	// Backup and Default are what the edges speak where the state does not tell; 0 takes the model's.
	Backup  plans.TLSSet
	Default plans.TLSSet
}

// World is the Inbox and the Starter of one simulated run. One goroutine drives it.
type World struct {
	plan *plans.Plan
	do   *engine.Executor
	met  conditions

	mu    sync.Mutex // the executor reads three providers at once
	model *world.World
	spent time.Duration // by the longest call of the command being carried out

	now     time.Time // of the last thing that happened
	clock   clock
	queue   queue
	order   int
	life    life
	running *task // nil while nothing but the loop runs
}

// New returns a world in which observed is configured, at the instant start.
func New(plan *plans.Plan, observed plans.State, start time.Time, o Options) *World {
	return newWorld(plan, start, calm{}, world.Config{State: observed, Seed: o.Seed, Fault: o.Fault, Quiet: o.Quiet, NightRise: o.NightRise, BackupTLS: o.Backup, DefaultTLS: o.Default})
}

// newWorld makes the model agree with the plan.
func newWorld(plan *plans.Plan, start time.Time, met conditions, cfg world.Config) *World {
	w := &World{plan: plan, now: start, met: met, life: life{number: 1}}
	cfg.Domain, cfg.Line, cfg.Location, cfg.ZeroWeight = plan.Domain, plan.DNS.Line, plan.Location(), plan.DNS.Zero == plans.ZeroWeight
	cfg.PrimaryEdgeNames, cfg.BackupEdgeNames = plan.Primary.Edges, plan.Backup.Edges
	w.model = world.New(cfg, start)
	w.do = &engine.Executor{Plan: plan, Ports: w.ports()}
	return w
}

// Order puts an event into the inbox: Started, or what a person orders. It happens at an instant, at once when that is past.
func (w *World) Order(at time.Time, e rollout.Event) { w.push(item{at: at, event: e}) }

// Writes returns every write that was made, oldest first.
func (w *World) Writes() []world.Write { return w.model.Log() }

// errLost ends a Drive whose process has crashed, or will find that somebody else has taken over.
var errLost = errors.New("sim: the process is gone")

// Next implements engine.Inbox.
func (w *World) Next(ctx context.Context) (time.Time, rollout.Event, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, nil, err
	}
	for w.queue.Len() > 0 {
		next := w.pop()
		if next.life != 0 && next.life != w.life.number {
			continue // nobody hears what a dead process asked for
		}
		w.now = next.at
		w.model.Advance(w.now)
		if next.act != nil {
			next.act()
			if w.life.lost {
				return time.Time{}, nil, errLost
			}
			continue
		}
		if w.notYet(&next) {
			w.push(next)
			continue
		}
		return w.clock.at(w.now).UTC(), next.event, nil
	}
	return time.Time{}, nil, errors.New("sim: nothing is due any more: the run waits for something that will not come")
}

// notYet moves an event to when the process can take it in: it may be suspended, and a timer looks at the run's clock.
func (w *World) notYet(i *item) bool {
	if w.now.Before(w.life.asleep) {
		i.at = w.life.asleep
		return true
	}
	if left := i.wake.Sub(w.clock.at(w.now)); !i.wake.IsZero() && left > 0 {
		i.at = w.now.Add(left)
		return true
	}
	return false
}

// Start implements engine.Starter.
func (w *World) Start(ctx context.Context, c rollout.Command) {
	switch a := c.Action.(type) {
	case rollout.Wake:
		w.push(item{at: w.clock.when(a.At), wake: a.At, life: w.life.number, event: rollout.TimerFired{ID: c.ID}})
	case rollout.SetShare:
		w.begin(ctx, c, laneShare)
	case rollout.SetTLS:
		w.begin(ctx, c, laneTLS)
	case rollout.Rehearse:
		w.begin(ctx, c, laneRehearsal)
	case rollout.ReadState, rollout.Handshake, rollout.Resolve, rollout.FetchMinutes, rollout.Notify, rollout.Call:
		w.spent = 0
		e := w.do.Do(ctx, c)
		w.answer(w.life.number, w.spent, e)
	}
}

// answer sends an event to whoever asked.
func (w *World) answer(life int, after time.Duration, e rollout.Event) {
	w.push(item{at: w.now.Add(after + latency), life: life, event: e})
}

// delay lets no write that is on its way arrive before an instant.
func (w *World) delay(until time.Time) {
	due := w.queue
	w.queue = nil
	for _, i := range due {
		if i.sent && i.at.Before(until) {
			i.at = until
		}
		w.push(i)
	}
}

// at makes something happen.
func (w *World) at(when time.Time, act func()) { w.push(item{at: when, act: act}) }

func (w *World) push(i item) {
	if i.at.Before(w.now) {
		i.at = w.now
	}
	w.order++
	i.at, i.order = i.at.UTC(), w.order
	heap.Push(&w.queue, i)
}

func (w *World) pop() item {
	popped := heap.Pop(&w.queue)
	next, ok := popped.(item)
	if !ok {
		panic(fmt.Sprintf("sim: popped %#v, which is no item", popped))
	}
	return next
}

// item is an event, or an act of the world, and when it comes; equal instants keep their order.
type item struct {
	at    time.Time
	order int
	event rollout.Event
	act   func()    // nil for an event
	life  int       // the process that it is for; 0: whoever there is
	sent  bool      // a write that is on its way
	wake  time.Time // of a timer: the instant of the run
}

type queue []item

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at.Before(q[j].at) || q[i].at.Equal(q[j].at) && q[i].order < q[j].order
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	i, ok := x.(item)
	if !ok {
		panic(fmt.Sprintf("sim: pushed %#v, which is no item", x))
	}
	*q = append(*q, i)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = item{}
	*q = old[:len(old)-1]
	return last
}
