package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/controller/schedule"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/guardrails/backtest"
	"github.com/tlsroll/tlsroll/plans"
)

const clockLayout = "15:04:05"

// nightly says which part of each day is judged.
type nightly struct {
	clock  string        // 15:04:05 in the plan's zone
	length time.Duration // 0: as long as the plan takes
}

// nightlyOf takes the clock time from the flag, or from the plan's schedule. A cron expression gives the time of its first start after the
// data begins; the days that it names do not matter, since every recorded night can be judged.
func nightlyOf(p *plans.Plan, from string, length, longest time.Duration, begins time.Time) (nightly, error) {
	n := nightly{length: length}
	if length < 0 || length > longest {
		return n, usage(fmt.Errorf("--for %s is not from 1m to %s", length, longest))
	}
	if from != "" {
		for _, layout := range []string{"15:04", clockLayout} {
			if t, err := time.Parse(layout, from); err == nil {
				n.clock = t.Format(clockLayout)
				return n, nil
			}
		}
		return n, usage(fmt.Errorf("--from %q is no time of day; write it as 02:00", from))
	}
	at, scheduled, err := schedule.Start(p, begins)
	switch {
	case err != nil:
		return n, &exitError{code: exitInvalid, err: err, hint: "say which part of the day with --from 02:00"}
	case !scheduled:
		return n, usage(errors.New("the plan has no schedule, so nothing says which part of the day to judge: say it with --from 02:00"))
	}
	n.clock = at.In(p.Location()).Format(clockLayout)
	return n, nil
}

// nights lists the civil days whose start lies in first..last, and those that are skipped because their clock does not show the time once.
// No night is longer than the record: what is after its end was not lost, but not recorded.
func (n nightly) nights(p *plans.Plan, recorded minutes) (out []backtest.Night, skipped []view.SkippedNight) {
	loc, first, last := p.Location(), recorded.first.Start(), recorded.last.End()
	clock, err := time.Parse(clockLayout, n.clock)
	if err != nil {
		panic("clock " + n.clock + " is none: " + err.Error())
	}
	y, m, d := first.In(loc).Date()
	for i := 0; ; i++ {
		day := time.Date(y, m, d+i, 0, 0, 0, 0, time.UTC)
		civil := time.Date(y, m, d+i, clock.Hour(), clock.Minute(), clock.Second(), 0, time.UTC)
		if day.AddDate(0, 0, -1).After(last) {
			return out, skipped
		}
		found := plans.OnClock(civil, loc)
		if about := time.Date(y, m, d+i, clock.Hour(), clock.Minute(), clock.Second(), 0, loc); about.Before(first) || about.After(last) {
			continue
		}
		if len(found) != 1 {
			why := "the clock of " + loc.String() + " is put forward over " + n.clock
			if len(found) > 1 {
				why = "the clock of " + loc.String() + " shows " + n.clock + " twice"
			}
			skipped = append(skipped, view.SkippedNight{Day: day.Format(time.DateOnly), Why: why})
			continue
		}
		start := found[0]
		end := p.EndAfter(start)
		if n.length > 0 {
			end = start.Add(n.length)
		}
		end = recorded.until(start, end)
		out = append(out, backtest.Night{Start: start, End: end, Back: earlierDays(p, start, end)})
	}
}

// earlierDays lists the days that the shape of a night is taken from.
func earlierDays(p *plans.Plan, start, end time.Time) (back []guardrails.Minute) {
	for days := 1; days <= guardrails.WeekDays; days++ {
		if minutes, ok := p.MinutesBack(start, days, start.Add(-time.Hour), end); ok {
			back = append(back, guardrails.Minute(minutes))
		}
	}
	return back
}
