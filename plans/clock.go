package plans

import "time"

// Clock maps wall time to the run's time: run = Start + (wall − Epoch) × Speed. The zero Clock is wall time itself.
type Clock struct {
	Epoch time.Time // a wall instant
	Start time.Time // the run's instant at Epoch
	Speed float64   // run seconds a wall second, > 0
}

// At returns the run's instant at a wall instant.
func (c Clock) At(wall time.Time) time.Time {
	if c.Speed == 0 {
		return wall
	}
	return c.Start.Add(time.Duration(float64(wall.Sub(c.Epoch)) * c.Speed))
}

// Wall returns the wall instant of a run's instant.
func (c Clock) Wall(run time.Time) time.Time {
	if c.Speed == 0 {
		return run
	}
	return c.Epoch.Add(time.Duration(float64(run.Sub(c.Start)) / c.Speed))
}

// WallDuration returns how long a duration of the run takes on the wall.
func (c Clock) WallDuration(d time.Duration) time.Duration {
	if c.Speed == 0 {
		return d
	}
	return time.Duration(float64(d) / c.Speed)
}
