package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
)

// The machine's clocks cannot be set in a test, so this one looks inside: the run's time never goes back, and a jump is told once.
func TestTheWallClockJumps(t *testing.T) {
	start := time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC)
	var at instant
	c := newRunClock(plans.Clock{}, func() instant { return at })
	at.wall = start
	c.advance()
	tests := []struct {
		name   string
		wall   time.Duration // since the start
		steady time.Duration
		want   time.Duration
		jump   time.Duration
		kind   string
	}{
		{"nothing happens", time.Minute, time.Minute, time.Minute, 0, ""},
		{"NTP slews", 2*time.Minute + time.Second, 2 * time.Minute, 2*time.Minute + time.Second, 0, ""},
		{"the machine was suspended for an hour", 63 * time.Minute, 3 * time.Minute, 63 * time.Minute, 59*time.Minute + 59*time.Second, "resumed"},
		{"it is told once", 64 * time.Minute, 4 * time.Minute, 64 * time.Minute, 0, ""},
		{"set back by an hour", 5 * time.Minute, 5 * time.Minute, 65 * time.Minute, -time.Hour, "pause_ordered"},
		{"time goes on from where it was", 6 * time.Minute, 6 * time.Minute, 66 * time.Minute, 0, ""},
		{"the wall clock is put right again", 67 * time.Minute, 7 * time.Minute, 67 * time.Minute, time.Hour, "resumed"},
	}
	for _, test := range tests {
		at = instant{wall: start.Add(test.wall), steady: test.steady}
		if now := c.now(); !now.Equal(start.Add(test.want)) {
			t.Errorf("%s: now is %s", test.name, now.Sub(start))
		}
		got, jump := c.advance()
		if !got.Equal(start.Add(test.want)) || jump != test.jump {
			t.Errorf("%s: %s with a jump of %s, want %s and %s", test.name, got.Sub(start), jump, test.want, test.jump)
		}
		kind := ""
		if e := jumped(jump); e != nil {
			kind = rollout.Kind(e)
		}
		if diff := cmp.Diff(test.kind, kind); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
