package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
)

// What is a jump of the wall clock against the machine's steady clock: NTP moves a clock by less, and slower. A longer jump ahead means
// that nobody watched, as after a suspended machine.
const (
	jumpBack  = 5 * time.Second
	jumpAhead = 30 * time.Second
	// lookAgain is how often a timer compares both clocks: a wait for an instant must not outlast a jump.
	lookAgain = 15 * time.Second
)

// instant is one moment by both clocks.
type instant struct {
	wall   time.Time
	steady time.Duration // since an arbitrary point
}

// wallAndSteady reads the machine's clocks.
func wallAndSteady() func() instant {
	began := time.Now()
	return func() instant {
		now := time.Now()
		return instant{wall: now.Round(0), steady: now.Sub(began)}
	}
}

// runClock is a run's time. It follows the wall clock and never goes back: when the wall clock is set back, it goes on by the steady clock
// from where it was, ahead of the wall. Several goroutines may use it.
type runClock struct {
	scale plans.Clock
	read  func() instant

	mu   sync.Mutex
	last instant   // when advance was called
	at   time.Time // the run's time then
}

func newRunClock(scale plans.Clock, read func() instant) *runClock {
	first := read()
	return &runClock{scale: scale, read: read, last: first, at: scale.At(first.wall)}
}

// now is the run's time.
func (c *runClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timeOf(c.read())
}

func (c *runClock) timeOf(i instant) time.Time {
	steady := c.at.Add(c.runDuration(i.steady - c.last.steady))
	if wall := c.scale.At(i.wall); wall.After(steady) {
		return wall
	}
	return steady
}

// advance is the run's time, and how far the wall clock has jumped since it was called last; 0 when it has not.
func (c *runClock) advance() (at time.Time, jump time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.read()
	jump = i.wall.Sub(c.last.wall) - (i.steady - c.last.steady)
	if jump > -jumpBack && jump < jumpAhead {
		jump = 0
	}
	at = c.timeOf(i)
	c.last, c.at = i, at
	return at, jump
}

// until waits for an instant of the run.
func (c *runClock) until(ctx context.Context, at time.Time) error {
	for {
		left := at.Sub(c.now())
		if left <= 0 {
			return ctx.Err()
		}
		if err := sleep(ctx, min(c.scale.WallDuration(left), lookAgain)); err != nil {
			return err
		}
	}
}

func (c *runClock) runDuration(d time.Duration) time.Duration {
	if c.scale.Speed == 0 {
		return d
	}
	return time.Duration(float64(d) * c.scale.Speed)
}

// sleptError means that the wall clock went ahead of the steady one: nobody watched meanwhile. What was under way began before that, so
// the run must be gone on with as after a stop.
type sleptError struct{ by time.Duration }

func (e *sleptError) Error() string {
	return "the clock went ahead by " + e.by.Round(time.Second).String()
}

// setBack is what a run is told of a wall clock that was set back: its time and the sources' differ now, which a person has to look at.
func setBack(by time.Duration) rollout.Event {
	return rollout.PauseOrdered{Actor: "tlsroll", Reason: fmt.Sprintf("the machine's clock was set back by %s, and the run's time cannot go back", by.Round(time.Second))}
}
