// Package schedule resolves when a plan starts, to an absolute instant that is then stored: a run never works out its start again.
//
// Cron expressions go through robfig/cron, behind guards for what is known to go wrong there: a time zone inside the expression (some
// panic), descriptors as @daily, and dates that never come, for which the library returns the zero time without an error. A start that
// falls into the hour that a zone skips is passed over by the library; it is refused here, since nobody can say what was meant.
package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/tlsroll/tlsroll/plans"
)

// Start returns when a plan starts, seen from now. ok is false when the plan has no schedule and starts when it is applied. The instant of
// an `at` may lie in the past; the run then decides by the start deadline whether it is missed. That of a cron expression is the first one
// after now.
func Start(p *plans.Plan, now time.Time) (at time.Time, ok bool, err error) {
	if p.Schedule.Cron == "" {
		return p.StartAt()
	}
	at, err = next(p.Schedule.Cron, now.In(p.Location()))
	return at, err == nil, err
}

func next(expression string, now time.Time) (time.Time, error) {
	fail := func(why string) (time.Time, error) {
		return time.Time{}, fmt.Errorf("schedule.cron %q: %s", expression, why)
	}
	if strings.Contains(expression, "TZ=") {
		return fail("a time zone does not belong here; write it as schedule.timezone")
	}
	if strings.HasPrefix(strings.TrimSpace(expression), "@") {
		return fail("write the five fields: minute, hour, day of month, month, day of week")
	}
	s, err := parse(expression)
	if err != nil {
		return fail(err.Error())
	}
	at := s.Next(now)
	if at.IsZero() {
		return fail("this date never comes")
	}
	if gap := skipped(s, now, at); !gap.IsZero() {
		return fail(fmt.Sprintf("the clocks of %s skip the start on %s; give the start as an instant with schedule.at", now.Location(), gap.Format(time.DateOnly)))
	}
	return at, nil
}

// parse turns a panic of the library into an error.
func parse(expression string) (s cron.Schedule, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("not five fields")
		}
	}()
	return cron.ParseStandard(expression)
}

// skipped returns a start before at that the wall clock of the zone jumps over; zero when there is none. The same expression in UTC, which
// skips nothing, says which wall times are meant.
func skipped(s cron.Schedule, now, at time.Time) time.Time {
	wall := func(t time.Time) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
	}
	meant := s.Next(wall(now))
	if !meant.Before(wall(at)) {
		return time.Time{}
	}
	return meant
}
