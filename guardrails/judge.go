package guardrails

import (
	"math"
	"slices"
	"time"
)

// The figures of the semantics; reference semantics, section 8.
const (
	fastMinutes    = 5
	fastFactor     = 4
	fastRequests   = 50
	fastZ          = 3.09 // one-sided 99.9 %
	fireRequests   = 200
	fireErrors     = 10
	suspectWindow  = 6
	suspectBreach  = 5
	suspectZ       = 1.645 // one-sided 95 %
	thinRequests   = 200   // a minute
	blindMinutes   = 3
	clearMinutes   = 10
	clearUnknown   = 2
	clearBreach    = 1
	clearLast      = 2
	maxWindow      = 180 // minutes; plans refuse longer windows
	burnInAfterTTL = 3   // minutes
	silenceHold    = 10  // percent of share below which silence only holds
	weakBands      = 2   // a breach below this many bands needs a week of history, or the control leg, to roll back
	blindCanary    = 10  // minutes without data on the changed leg alone that roll back
	blindBoth      = 15  // minutes without data on both
)

// MaxWindow is the longest window a rule may have; a longer one is cut to it.
const MaxWindow = maxWindow * time.Minute

// stackWindow is the longest window, in minutes, that is judged without an allocation.
const stackWindow = 16

// Situation is what a judgement needs to know about the run.
type Situation struct {
	Now     time.Time
	Since   Minute        // first whole minute after the last change of weight or of TLS settings: no window reaches back before it
	TTL     time.Duration // of the record, ≥ 0
	Share   Percent       // asked share of the primary, 0..100
	Settled bool          // the asked share was verified since the last change
}

// burnIn is the first minute that rules on means and requests may use.
func (s *Situation) burnIn() Minute {
	ttl := Minute(s.TTL / time.Minute)
	if s.TTL%time.Minute > 0 {
		ttl++
	}
	return s.Since + ttl + burnInAfterTTL
}

// idle reports whether the leg is asked to carry nothing.
func (s *Situation) idle(leg Leg) bool {
	return leg == Primary && s.Share <= 0 || leg == Backup && s.Share >= 100
}

// minutesOf is a rule's duration in minutes, at least one.
func minutesOf(d time.Duration) int { return max(1, int(d/time.Minute)) }

// Judge evaluates one rule for one platform on one leg. platform is "" for a source that tells no platforms apart, and for all
// platforms together. The verdict's window is the rule's, or ten minutes if that is longer; it is shorter right after a change. It
// ends with the newest settled minute that has a row, at most two before the newest settled one. A rule without a limit is PENDING.
func Judge(t *Table, b *Baseline, r Rule, platform string, leg Leg, s Situation) Verdict {
	v := Verdict{Rule: r.Name, Mode: r.Mode, Signal: r.Signal, Platform: platform, Leg: leg, State: Pending}
	j := judge{rule: &r, leg: leg, situation: &s, own: t.input(r.Source, platform, leg), needs: r.Signal.Needs(), minimum: r.minimum()}
	v.Through = t.Through(r.Source, s.Now)
	w := window{within: min(max(minutesOf(r.Within), minutesOf(r.For)), maxWindow), late: j.own.late(v.Through)}
	if r.Signal == Requests {
		j.other = t.input(r.Source, platform, leg.Other())
		j.reference = j.referenceRequests()
		w.late = max(w.late, j.other.late(v.Through))
	}
	v.Through -= w.late
	v.From = max(v.Through-Minute(max(w.within, clearMinutes))+1, s.Since)
	if s.idle(leg) {
		v.State, v.Why = IdleLeg, Idle
		return v
	}
	var stack [stackWindow]observation
	if n := max(0, int(v.Through-v.From)+1); n <= stackWindow {
		w.obs = stack[:n]
	} else {
		w.obs = make([]observation, n)
	}
	j.expect(b.of(r.Source, platform, leg))
	j.observe(w.obs, v.From)
	if found, ok := j.worst(&w, &v); ok && v.State >= Suspect {
		j.explain(t, b, &w, &found, &v)
	}
	return v
}

// worst judges every side and fills in the verdict of the worst, which it returns; ok is false for a rule without a limit.
func (j *judge) worst(w *window, v *Verdict) (s side, ok bool) {
	var buf [maxSides]side
	sides := j.sides(&buf)
	worst, found := tally{}, (*side)(nil)
	for i := range sides {
		t := w.tally(&sides[i])
		state := w.state(j, &sides[i], &t)
		if found == nil || state > v.State || state == v.State && t.breach > worst.breach {
			worst, found, v.State = t, &sides[i], state
		}
	}
	if found == nil {
		return side{}, false
	}
	v.Side, v.Breach, v.OK, v.Unknown, v.Why = found.name, worst.breach, worst.ok, worst.unknown, worst.why
	if w.late > 0 && v.Why == 0 {
		v.Why = Missing
	}
	if worst.latest >= 0 {
		o := &w.obs[worst.latest]
		v.Value, v.Limit, v.Expected, v.Known = o.value[found.slot]*o.shape, found.limit*o.shape, j.expected[found.slot]*o.shape, true
	}
	return *found, true
}

// explain says of a verdict that looks wrong what else is to be known before anything is done about it.
func (j *judge) explain(t *Table, b *Baseline, w *window, sd *side, v *Verdict) {
	switch v.State {
	case Blind:
		j.blindness(t, v)
	case Suspect, Fire, FireFast:
		v.Weak = v.State != FireFast && j.weak(w, sd, v.Through)
		j.attribute(t, b, w, sd, v)
	case Clear, IdleLeg, Pending:
	}
}

// blindness measures how long there has been no data, and whether the other leg has some. Traffic that has not come yet after a change of
// weight is not blindness, nor is it where so little is asked that minutes without a request must be expected.
func (j *judge) blindness(t *Table, v *Verdict) {
	if j.rule.Signal == Requests {
		return // the other leg alone can make it blind; the rules on means and errors say which it is
	}
	other := judge{own: t.input(j.rule.Source, v.Platform, j.leg.Other()), needs: j.needs, rule: j.rule}
	v.BlindBoth = true
	elsewhere, seen := sample{}, j.situation.Settled
	for m := v.Through; m >= j.situation.Since && m > v.Through-maxWindow; m-- {
		if _, ok := j.data(m); ok {
			seen = true
			break
		}
		v.BlindFor++
		if n, ok := other.data(m); ok {
			elsewhere.add(n)
			v.BlindBoth = v.BlindBoth && v.BlindFor > blindMinutes
		}
	}
	if w := float64(j.situation.Share) / 100; !v.BlindBoth && w < 1 && (!seen || elsewhere.mean*w/(1-w) < j.minimum) {
		v.BlindFor = 0
	}
}

// data is what a minute of the leg rests on; ok is false when it has no row, or not the numbers that the rule needs.
func (j *judge) data(m Minute) (n float64, ok bool) {
	var sum Counts
	c, unknown := j.own.at(m, &sum)
	if unknown.noData() || !c.has(j.needs) {
		return 0, false
	}
	return j.weight(c), true
}

// weak reports a breach that a week of history might explain: there is none for these minutes, and it is smaller than twice the band.
// Reference semantics, section 3, recommendation 3.
func (j *judge) weak(w *window, sd *side, through Minute) bool {
	if j.rule.Signal != TotalTime && j.rule.Signal != TLSTime && j.rule.Signal != ResponseSize {
		return false
	}
	if n := len(j.shape); n > 0 && through < j.first+Minute(n*shapeStep) {
		return false
	}
	var s sample
	for i := len(w.obs) - 1; i >= 0 && int(s.n) < minutesOf(j.rule.For); i-- {
		if o := &w.obs[i]; sd.mark(o) == breach {
			s.add(o.value[sd.slot])
		}
	}
	band := weakBands * math.Abs(sd.limit-j.expected[sd.slot])
	if !sd.up { // nothing falls by more than all of it: halfway from the limit to nothing is strong
		return s.mean > max(j.expected[sd.slot]-band, sd.limit/2)
	}
	return s.mean < j.expected[sd.slot]+band
}

// JudgeAll evaluates every rule for every platform of its source on a leg, in the order of the rules.
func JudgeAll(t *Table, b *Baseline, rules []Rule, leg Leg, s Situation) []Verdict {
	out := make([]Verdict, 0, 2*len(rules)) // two platforms are usual
	for i := range rules {
		r := &rules[i]
		if leg == Backup && r.Signal == Requests {
			continue // silence is the canary's
		}
		for _, p := range platformsOf(t, b, r) {
			if leg == Backup && !t.shows(r.Source, p, Backup) {
				continue // a source of the primary alone has nothing to say about the control leg
			}
			out = append(out, Judge(t, b, *r, p, leg, s))
		}
	}
	attributeByOthers(out)
	return out
}

// attributeByOthers lets the rules that have a control leg speak for those that have none and FIRE: when some of the same platform FIRE
// too, and the control leg denies each of them, the cause is common. Design, section 16. Nobody speaks against a FAST.
func attributeByOthers(vs []Verdict) {
	var asked []Verdict // as they are: who is spoken for does not speak
	for i := range vs {
		v := &vs[i]
		if v.Control != ControlNone || v.State != Fire {
			continue
		}
		if asked == nil {
			asked = slices.Clone(vs)
		}
		if deniedByOthers(asked, v.Platform) {
			v.Control = ControlDenies
		}
	}
}

// deniedByOthers asks the verdicts on a platform, "" for all, that FIRE and have a control leg.
func deniedByOthers(vs []Verdict, platform string) bool {
	denied := false
	for i := range vs {
		switch v := &vs[i]; {
		case v.Mode != Act || v.State < Fire || v.Signal == Requests, platform != "" && v.Platform != "" && v.Platform != platform:
		case v.Control == ControlConfirms || v.Control == ControlNeutral:
			return false
		case v.Control == ControlDenies:
			denied = true
		}
	}
	return denied
}

// platformsOf lists what a rule must judge: what the baseline knows, so that a platform cannot vanish, and what has appeared since.
// A source that never showed anything is judged as one missing platform.
func platformsOf(t *Table, b *Baseline, r *Rule) []string {
	if !r.PerPlatform {
		return []string{""}
	}
	names := t.Platforms(r.Source)
	for i := range b.Series {
		if s := &b.Series[i]; s.Source == r.Source && !slices.Contains(names, s.Platform) {
			names = append(names, s.Platform)
		}
	}
	if len(names) == 0 {
		return []string{""}
	}
	slices.Sort(names)
	return names
}

// shows reports whether a source has ever had a row of a platform on a leg; platform "" is any.
func (t *Table) shows(name, platform string, leg Leg) bool {
	s := t.source(name)
	return s != nil && slices.ContainsFunc(s.series, func(e series) bool {
		return e.leg == leg && (platform == "" || e.platform == platform)
	})
}
