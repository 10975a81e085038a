// Package backtest asks what the guardrails would have done on nights that are over: the same baseline, the same judge, minute by minute,
// over recorded rows. It is pure: rows, nights and rules in, decisions out.
//
// # Laws
//
//   - A night is judged by [guardrails.Freeze] at its start and by [guardrails.Watch] at every tick after it, as a run does. There is no
//     second judge here.
//   - A decision sees what a run could have seen: minutes that have settled, from 75 minutes before the start on, and no platform before
//     its first minute has settled.
//   - A night that cannot be judged is reported with the reason. It is never left out, and never counted as quiet.
//
// # When the decisions are those of a run, byte for byte
//
// The decision for a minute is what the run had decided by the end of that minute. It is equal when the night starts at the instant at
// which the run froze its baseline, the changes are those of the run, and the rows are what the source answered once each minute had
// settled: rows that were revised afterwards, answers that failed or came a minute late, and windows that reach back over more than the
// three hours that a run keeps make a difference. While a write is under way (seconds, as a rule) a run takes its share for unproved;
// instants of changes do not tell that, so such a minute may differ.
//
// # What it does not tell
//
// Only the guardrails are judged. Whether a hold would have ended, whether a rollback would have worked, and what the users would have
// met are questions for a simulation. After the first rollback of a night the run would have ended; the later decisions are hypothetical.
package backtest

import (
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// The times of a run; see package rollout.
const (
	historyMinutes = 75 // what a run asks for at the start
	shapeMargin    = 11 // minutes beyond the end that the mean around the last knot reaches
	tickEvery      = time.Minute
	tickAfter      = time.Second // after the whole minute: what settles with it is then settled
)

// Input is what a backtest works on. The rows are not changed.
type Input struct {
	Rules   []guardrails.Rule
	TTL     time.Duration // of the record, ≥ 0
	Sources []Source      // in the order of the plan
	Nights  []Night
	Changes []Change           // oldest first; before the first one the share is the one that the traffic had
	Lingers guardrails.Percent // share that stays on the primary while it is asked to carry nothing, 0..100
	Acts    Acts
}

// Acts is what the plan says about verdicts that do not roll back by themselves.
type Acts struct {
	BlindBoth bool          // no data about either leg for a quarter of an hour rolls back
	Common    time.Duration // a breach that the control leg shows too rolls back when it lasts this long, ≥ 0
}

// Source is everything that was recorded of one source, in any order.
type Source struct {
	Name   string
	Settle time.Duration // ≥ 0
	Rows   []guardrails.Row
}

// Night is one stretch of time to judge: from the instant at which a run would have frozen its baseline.
type Night struct {
	Start, End time.Time
	// Back are the earlier days of the shape: how many minutes before the night the clock showed the same time, 1 to 7 days ago. Days
	// that were not recorded may be among them; with fewer than four that were, the night has no shape.
	Back []guardrails.Minute
}

// Change is an instant at which the share asked of the primary was another one, read back. One that repeats the share stands for a
// change of the TLS settings: that, too, begins every window anew.
type Change struct {
	At       time.Time
	Share    guardrails.Percent // 0..100
	Verified time.Time          // when the traffic was seen to follow; zero: never
}

// Report is what a backtest found, night by night in the order of the input.
type Report struct{ Nights []Judged }

// Judged is one night.
type Judged struct {
	Night
	Thin      string             // why the night could not be judged; "" when it was
	Share     guardrails.Percent // the primary's at the start
	ShareFrom string             // the source that told it; "" when it comes from a change, or no source tells the legs apart
	Changed   bool               // a change lies within the night: it was no ordinary one
	Decisions []Decision         // the first at the start, then one a minute
	Acts      Acts               // of the input
}

// Decision is what every rule said by the end of a minute.
type Decision struct {
	At       time.Time // when the minutes of the window had settled
	Share    guardrails.Percent
	Verdicts []guardrails.Verdict
}

// Run judges every night.
func Run(in Input) Report {
	record, days := index(in.Sources), map[hours]guardrails.Table{}
	out := Report{Nights: make([]Judged, 0, len(in.Nights))}
	for _, n := range in.Nights {
		w := watch{in: &in, night: n, record: record, days: days}
		out.Nights = append(out.Nights, w.judge())
	}
	return out
}

// watch is the judging of one night.
type watch struct {
	in     *Input
	night  Night
	record []recorded
	days   map[hours]guardrails.Table // hours of earlier days, of all nights: each day is one of several weeks
	table  guardrails.Table
	coming []arrival // series that nothing was seen of yet, the next one first
}

func (w *watch) judge() Judged {
	out := Judged{Night: w.night, Acts: w.in.Acts}
	w.open()
	base := guardrails.Freeze(w.table, w.week(), w.in.Rules, w.night.Start)
	for _, c := range w.in.Changes {
		out.Changed = out.Changed || c.At.After(w.night.Start) && !c.At.After(w.night.End)
	}
	var known bool
	if out.Share, out.ShareFrom, known = w.startShare(); !known {
		out.Thin = "source " + out.ShareFrom + " tells the carried share for fewer than 20 of the 30 minutes before the start"
		return out
	}
	if out.Share == 0 {
		out.Thin = "the primary carries nothing at the start: no run would begin, and there is nothing to compare with"
		return out
	}
	if rule, ok := base.Unmeasured(w.in.Rules); ok {
		out.Thin = "source " + rule.Source + " has too little history for guardrail " + rule.Name +
			": at least 20 of the last 30 minutes and 2,000 requests are needed"
		return out
	}
	for at := w.night.Start; !at.After(w.night.End); at = nextTick(at) {
		w.see(at)
		s := w.situation(at, out.Share)
		out.Decisions = append(out.Decisions, Decision{
			At: at, Share: s.Share, Verdicts: guardrails.Watch(&w.table, &base, w.in.Rules, s, w.in.Lingers),
		})
	}
	return out
}

// nextTick is just after the next whole minute, where a run looks again.
func nextTick(at time.Time) time.Time { return at.Truncate(tickEvery).Add(tickEvery + tickAfter) }

// situation is what a run would know at an instant. What came before the start is over: the share is at rest then.
func (w *watch) situation(at time.Time, start guardrails.Percent) guardrails.Situation {
	s := guardrails.Situation{Now: at, TTL: w.in.TTL, Share: start, Settled: true}
	for _, c := range w.in.Changes {
		if c.At.After(at) {
			break
		}
		if c.At.After(w.night.Start) {
			s.Share, s.Since = c.Share, guardrails.MinuteOf(c.At)+1
			s.Settled = !c.Verified.IsZero() && guardrails.MinuteOf(c.Verified) <= guardrails.MinuteOf(at)
		}
	}
	return s
}
