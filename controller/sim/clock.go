package sim

import "time"

// clock is the run's time over the world's. It may be ahead, or stand still for a while; it never goes back. The zero clock is right.
type clock struct {
	ahead  time.Duration
	frozen time.Time // the run's time while it stands still
	until  time.Time // of the world: it stands still before
	last   time.Time
}

// at is the run's time at an instant of the world.
func (c *clock) at(now time.Time) time.Time {
	t := now.Add(c.ahead)
	if now.Before(c.until) {
		t = c.frozen
	}
	if t.Before(c.last) {
		t = c.last
	}
	c.last = t
	return t
}

// when is the instant of the world at which the run's clock, as it goes now, shows t.
func (c *clock) when(t time.Time) time.Time { return t.Add(-c.ahead) }
