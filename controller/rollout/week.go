package rollout

import (
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// The hours of the week before that are asked for. A night that goes on is asked for piece by piece, so that a run which ends early has
// not asked a source for a day.
const (
	weekFirst    = time.Hour // from the start on, in preflight
	weekPiece    = time.Hour
	weekAhead    = 30 * time.Minute // a piece is asked for this long before it is needed
	weekPatience = 5 * time.Minute  // what does not answer in this time is left out
	weekMargin   = 11               // minutes around a piece that the means at its ends reach: five for the last knot, five around it
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
		t.listWeek(t.at.Add(-historyMinutes*time.Minute), t.at.Add(weekFirst))
	}
	for i := range r.past {
		if d := &r.past[i]; !d.known {
			t.ask(FetchMinutes{Source: d.source, From: d.from, To: d.to, DaysAgo: d.days})
		}
	}
}

// listWeek lists what is to be asked for the night's minutes between two instants, as far as the run usually lasts.
func (t *turn) listWeek(from, until time.Time) {
	r := &t.r
	if end := r.Plan.Horizon(r.Begun); until.After(end) {
		until = end
	}
	r.Week = guardrails.Week{Until: guardrails.MinuteOf(until)}
	for _, s := range r.Plan.Sources {
		if !r.hasMeans(s.Name) {
			continue
		}
		for days := 1; days <= guardrails.WeekDays; days++ {
			minutes, ok := r.Plan.MinutesBack(r.Begun, days, from, until)
			if !ok {
				continue
			}
			back := guardrails.Minute(minutes)
			r.past = append(r.past, pastDay{
				source: s.Name, days: days, back: back,
				from: guardrails.MinuteOf(from) - weekMargin - back, to: guardrails.MinuteOf(until) + weekMargin - back,
			})
		}
	}
}

// goOnWithTheWeek takes in a piece that is there, and asks for the next one in time. What did not answer is asked for again.
func (t *turn) goOnWithTheWeek() {
	r := &t.r
	if !r.Touched {
		return
	}
	if len(r.past) > 0 {
		if !r.weekKnown() && t.age(r.pieceAt) < weekPatience {
			t.askWeek()
			return
		}
		r.Baseline = r.Baseline.Extend(&r.Week)
		r.Week, r.past, r.pieceAt = guardrails.Week{}, nil, t.at
	}
	known, ok := r.Baseline.ShapeThrough()
	if !ok || known.Start().Sub(t.at) > weekAhead || t.age(r.pieceAt) < weekAhead/2 || !known.Start().Before(r.Plan.Horizon(r.Begun)) {
		return
	}
	t.listWeek(known.Start(), known.Start().Add(weekPiece))
	r.pieceAt = t.at
	t.askWeek()
}

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

// pastFailed leaves a day out, unless the next tick may have more luck.
func (t *turn) pastFailed(a FetchMinutes, kind FailureKind) {
	if d := t.pastDay(a); d != nil && !kind.repeatable() {
		d.known = true
	}
}

// pastDay finds a day that is still waited for.
func (t *turn) pastDay(a FetchMinutes) *pastDay {
	for i := range t.r.past {
		if d := &t.r.past[i]; d.source == a.Source && d.days == a.DaysAgo && d.from == a.From && !d.known {
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

// freeze measures the baseline anew, the last time before anything is written.
func (t *turn) freeze() {
	if r := &t.r; !r.Touched {
		r.Baseline = guardrails.Freeze(r.Table, &r.Week, r.Plan.Guardrails, t.at)
	}
}
