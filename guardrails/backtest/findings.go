package backtest

import (
	"slices"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// Finding is what one rule would have done to one platform on one leg in a night. A moment that did not come is nil.
type Finding struct {
	Rule     string
	Platform string
	Leg      guardrails.Leg
	Mode     guardrails.Mode
	Signal   guardrails.Signal
	Suspect  *Moment // the first of each kind
	Blind    *Moment
	Fire     *Moment // FIRE or FAST
	RollBack *Moment // the first that would have started the way back
	Held     bool    // it would have held at some minute
	Minutes  int     // decisions it took part in
}

// Moment is an instant of the night and the verdict that was reached then: its window is the minutes that decided.
type Moment struct {
	Decision guardrails.Verdict
	Index    int // of the decision in the night
}

// Findings sums up a night, rule by rule in the order in which they were first judged.
func (j *Judged) Findings() []Finding {
	var out []Finding
	var common []time.Time // since when each breaches with the control leg
	for i := range j.Decisions {
		for k := range j.Decisions[i].Verdicts {
			v := &j.Decisions[i].Verdicts[k]
			at := slices.IndexFunc(out, func(f Finding) bool { return f.about(v) })
			if at < 0 {
				out = append(out, Finding{Rule: v.Rule, Platform: v.Platform, Leg: v.Leg, Mode: v.Mode, Signal: v.Signal})
				common = append(common, time.Time{})
				at = len(out) - 1
			}
			out[at].add(v, i)
			if v.Leg == guardrails.Primary && j.Acts.turn(v, j.Decisions[i].At, &common[at]) && out[at].RollBack == nil {
				out[at].RollBack = &Moment{Decision: *v, Index: i}
			}
		}
	}
	return out
}

// Of returns the verdicts of a finding's rule, platform and leg in a night, one for each decision that has one.
func (j *Judged) Of(f Finding) []Moment {
	var out []Moment
	for i := range j.Decisions {
		for k := range j.Decisions[i].Verdicts {
			if v := &j.Decisions[i].Verdicts[k]; f.about(v) {
				out = append(out, Moment{Decision: *v, Index: i})
			}
		}
	}
	return out
}

func (f *Finding) about(v *guardrails.Verdict) bool {
	return f.Leg == v.Leg && f.Platform == v.Platform && f.Rule == v.Rule
}

func (f *Finding) add(v *guardrails.Verdict, i int) {
	first := func(m **Moment) {
		if *m == nil {
			*m = &Moment{Decision: *v, Index: i}
		}
	}
	f.Minutes++
	switch v.State {
	case guardrails.Suspect:
		first(&f.Suspect)
	case guardrails.Blind:
		first(&f.Blind)
	case guardrails.Fire, guardrails.FireFast:
		first(&f.Fire)
	case guardrails.Clear, guardrails.IdleLeg, guardrails.Pending:
	}
	f.Held = f.Held || v.Holds()
}

// turn reports whether a verdict, at an instant, starts the way back. common is since when its breach is a common cause.
func (a Acts) turn(v *guardrails.Verdict, at time.Time, common *time.Time) bool {
	if v.State == guardrails.Clear {
		*common = time.Time{}
	}
	switch v.Decision() {
	case guardrails.RollBack:
		return true
	case guardrails.HoldBlind:
		return a.BlindBoth
	case guardrails.HoldCommon:
		if common.IsZero() {
			*common = at
		}
		return at.Sub(*common) >= a.Common
	case guardrails.Advance, guardrails.Wait, guardrails.HoldHere:
	}
	return false
}

// Tally counts nights. Only nights without a change tell of false alarms: what a rule did on a night of a change may have been right.
type Tally struct {
	Rule       string // "" for all rules together
	Nights     int    // judged, with no change in them
	RolledBack int    // of these: a rollback
	Held       int    // a hold at some minute, and no rollback
	Changed    int    // judged, with a change in them
	RolledThen int    // of these: a rollback
}

// FalseAlarms is the share of quiet nights on which there would have been a rollback, if none of them was bad. ok is false without nights.
func (t Tally) FalseAlarms() (rate guardrails.Percent, ok bool) {
	if t.Nights == 0 {
		return 0, false
	}
	return guardrails.Percent(100 * float64(t.RolledBack) / float64(t.Nights)), true
}

// Tallies counts over all nights: all rules together first, then each rule in the order given. A night counts once, however many
// platforms a rule fired on.
func (r Report) Tallies(rules []guardrails.Rule) []Tally {
	out := make([]Tally, 1, 1+len(rules))
	for _, rule := range rules {
		out = append(out, Tally{Rule: rule.Name})
	}
	for i := range r.Nights {
		if r.Nights[i].Thin != "" {
			continue
		}
		findings := r.Nights[i].Findings()
		for k := range out {
			out[k].count(r.Nights[i].Changed, findings)
		}
	}
	return out
}

func (t *Tally) count(changed bool, findings []Finding) {
	rolled, held := false, false
	for i := range findings {
		if f := &findings[i]; t.Rule == "" || t.Rule == f.Rule {
			rolled, held = rolled || f.RollBack != nil, held || f.Held
		}
	}
	switch {
	case changed:
		t.Changed++
		if rolled {
			t.RolledThen++
		}
		return
	case rolled:
		t.RolledBack++
	case held:
		t.Held++
	}
	t.Nights++
}
