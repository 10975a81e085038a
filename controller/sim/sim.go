// Package sim is a world in virtual time: the same Drive, the same executor and the same decisions as in a live run, over the model in
// providers/lab/world, with an event heap in place of a clock. A night takes milliseconds.
//
// A dry-run gives it the state that was really read, and no noise: what comes out is every write that a live run would make, in order,
// and when. A simulation gives it a fault and a seed.
//
// Laws: the same inputs give the same night. A command is carried out at the instant of its start and answered later, so that two
// commands of the same instant do not see each other's answers. Nothing here sleeps or does I/O.
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

// latency is how long a call takes in virtual time.
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

	mu     sync.Mutex // the executor reads three providers at once
	model  *world.World
	now    time.Time // of the last event
	cursor time.Time // of the command being carried out, ≥ now
	queue  queue
	order  int
}

// New returns a world in which observed is configured, at the instant start.
func New(plan *plans.Plan, observed plans.State, start time.Time, o Options) *World {
	w := &World{plan: plan, now: start, cursor: start}
	w.model = world.New(world.Config{
		Domain: plan.Domain, Line: plan.DNS.Line, State: observed, Location: plan.Location(), Seed: o.Seed, Fault: o.Fault, Quiet: o.Quiet, NightRise: o.NightRise,
		BackupTLS: o.Backup, DefaultTLS: o.Default, ZeroWeight: plan.DNS.Zero == plans.ZeroWeight,
		PrimaryEdgeNames: plan.Primary.Edges, BackupEdgeNames: plan.Backup.Edges,
	}, start)
	w.do = &engine.Executor{Plan: plan, Ports: w.ports()}
	return w
}

// Order puts an event into the inbox: Started, or what a person orders. It happens at an instant, at once when that is past.
func (w *World) Order(at time.Time, e rollout.Event) { w.push(at, e) }

// Writes returns every write that was made, oldest first.
func (w *World) Writes() []world.Write { return w.model.Log() }

// Next implements engine.Inbox.
func (w *World) Next(ctx context.Context) (time.Time, rollout.Event, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, nil, err
	}
	if w.queue.Len() == 0 {
		return time.Time{}, nil, errors.New("sim: nothing is due any more: the run waits for something that will not come")
	}
	popped := heap.Pop(&w.queue)
	next, ok := popped.(item)
	if !ok {
		panic(fmt.Sprintf("sim: popped a %T", popped))
	}
	w.now = next.at
	w.model.Advance(w.now)
	return next.at, next.event, nil
}

// Start implements engine.Starter.
func (w *World) Start(ctx context.Context, c rollout.Command) {
	if wake, ok := c.Action.(rollout.Wake); ok {
		w.push(wake.At, rollout.TimerFired{ID: c.ID})
		return
	}
	w.cursor = w.now
	e := w.do.Do(ctx, c)
	w.push(w.cursor.Add(latency), e)
}

func (w *World) push(at time.Time, e rollout.Event) {
	if at.Before(w.now) {
		at = w.now
	}
	w.order++
	heap.Push(&w.queue, item{at: at.UTC(), order: w.order, event: e})
}

// item is an event and when it comes; equal instants keep their order.
type item struct {
	at    time.Time
	order int
	event rollout.Event
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
		panic(fmt.Sprintf("sim: pushed a %T", x))
	}
	*q = append(*q, i)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}
