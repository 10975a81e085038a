package rollout

import (
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// pastDay is one earlier day of one source: the same hours of the clock, for the baseline's shape.
type pastDay struct {
	source string
	days   int               // ago
	back   guardrails.Minute // the night's minute m has the civil time of the day's minute m − back
	from   guardrails.Minute // of the day
	to     guardrails.Minute
	known  bool // answered, or given up
}

// askWeek asks the sources of means for the same hours of the week before. A day on which the clock was changed is left out. What does
// not answer is left out as well: the rules are marked, and a weak breach needs the control leg then.
func (t *turn) askWeek() {
	r := &t.r
	if len(r.past) == 0 {
		t.listWeek()
	}
	for i := range r.past {
		if d := &r.past[i]; !d.known {
			t.ask(FetchMinutes{Source: d.source, From: d.from, To: d.to, DaysAgo: d.days})
		}
	}
}

// listWeek lists what is to be asked, from before the baseline's half hour until the run has usually ended.
func (t *turn) listWeek() {
	r := &t.r
	from, until := t.at.Add(-historyMinutes*time.Minute), r.Plan.Horizon(t.at)
	r.Week.Until = guardrails.MinuteOf(until)
	for _, s := range r.Plan.Sources {
		if !r.hasMeans(s.Name) {
			continue
		}
		for days := 1; days <= guardrails.WeekDays; days++ {
			minutes, ok := r.Plan.MinutesBack(t.at, days, from, until)
			if !ok {
				continue
			}
			back := guardrails.Minute(minutes)
			r.past = append(r.past, pastDay{
				source: s.Name, days: days, back: back, from: guardrails.MinuteOf(from) - back, to: guardrails.MinuteOf(until) + shapeMargin - back,
			})
		}
	}
}

// shapeMargin is how many minutes beyond the end the mean around the last one reaches.
const shapeMargin = 6

// hasMeans reports whether a rule compares a mean of the source with the baseline.
func (r Run) hasMeans(source string) bool {
	for _, g := range r.Plan.Guardrails {
		switch g.Signal {
		case guardrails.TotalTime, guardrails.TLSTime, guardrails.ResponseSize:
			if g.Source == source {
				return true
			}
		case guardrails.ErrorRate, guardrails.StatusShare, guardrails.Requests, guardrails.TLS13Share:
		}
	}
	return false
}

// pastArrived takes in one earlier day.
func (t *turn) pastArrived(a FetchMinutes, b guardrails.Batch) {
	r := &t.r
	d := t.pastDay(a)
	if d == nil {
		return
	}
	d.known = true
	for i := range r.Week.Days {
		if r.Week.Days[i].Back == d.back {
			r.Week.Days[i].Table = r.Week.Days[i].Table.Merge(b, t.at)
			return
		}
	}
	r.Week.Days = append(r.Week.Days, guardrails.Day{Back: d.back, Table: guardrails.Table{}.Merge(b, t.at)})
}

// pastFailed leaves a day out.
func (t *turn) pastFailed(a FetchMinutes) {
	if d := t.pastDay(a); d != nil {
		d.known = true
	}
}

// pastDay finds a day that is still waited for.
func (t *turn) pastDay(a FetchMinutes) *pastDay {
	for i := range t.r.past {
		if d := &t.r.past[i]; d.source == a.Source && d.days == a.DaysAgo && !d.known {
			return d
		}
	}
	return nil
}

// weekKnown reports whether no earlier day is waited for any more.
func (r Run) weekKnown() bool {
	for _, d := range r.past {
		if !d.known {
			return false
		}
	}
	return true
}

// freeze measures the baseline anew, the last time before anything is written. From then on the week is not needed any more.
func (t *turn) freeze() {
	r := &t.r
	if r.Touched {
		r.Week, r.past = guardrails.Week{}, nil
		return
	}
	r.Baseline = guardrails.Freeze(r.Table, &r.Week, r.Plan.Guardrails, t.at)
}
