package guardrails

import "strconv"

// State is what a rule says about one platform on one leg. A greater state is worse.
type State int

// The states, healthiest first.
const (
	Clear    State = iota + 1 // healthy for long enough
	IdleLeg                   // the leg is asked to carry nothing
	Pending                   // neither healthy for long enough nor wrong
	Suspect                   // looks wrong, not for long enough: hold
	Blind                     // no data: hold
	Fire                      // wrong for long enough: roll back
	FireFast                  // so wrong that five minutes are enough: roll back
)

// String returns the word used in output, as "CLEAR".
func (s State) String() string {
	switch s {
	case Clear:
		return "CLEAR"
	case IdleLeg:
		return "IDLE"
	case Pending:
		return "PENDING"
	case Suspect:
		return "SUSPECT"
	case Blind:
		return "BLIND"
	case Fire:
		return "FIRE"
	case FireFast:
		return "FAST"
	}
	return "STATE " + strconv.Itoa(int(s))
}

// Verdict is a rule's judgement of one platform on one leg.
type Verdict struct {
	Rule     string
	Mode     Mode
	Signal   Signal
	Platform string // "" when the rule is not per platform, or the source tells none apart
	Leg      Leg
	Side     string // which limit: "above", "rise", "drop", "2xx up" …
	State    State
	From     Minute // first minute of the window
	Through  Minute // last minute of the window
	Breach   int    // minutes of each kind in the window
	OK       int
	Unknown  int
	Why      Unknown // the most recent reason for an unknown minute; 0 when there is none
	Value    float64 // of the latest known minute, in the signal's unit: percent, ms, bytes; 0 when nothing is known
	Limit    float64 // what Value must not pass, in the same unit
	Expected float64 // the baseline, in the same unit; 0 for absolute rules
	Known    bool    // Value holds something

	Control   Control // what the control leg says about a SUSPECT, FIRE or FAST; 0 when nothing breaches
	Versus    float64 // how much higher than the control leg, against what is expected of each: points, or percent for means
	Weak      bool    // a mean without a week of history, beyond its limit by less than twice the band
	BlindFor  int     // BLIND: minutes without data
	BlindBoth bool    // BLIND: the control leg has none either
}

// Decision is what a verdict asks for. A greater decision is worse.
type Decision int

// The decisions; reference semantics, section 8, "decision".
const (
	Advance    Decision = iota + 1 // healthy, or a shadow rule: it may go on
	Wait                           // neither healthy for long enough nor wrong
	HoldHere                       // looks wrong, or nothing is seen: no step up
	HoldCommon                     // wrong on both legs: no step up, and a page; roll back if it lasts
	HoldBlind                      // no data on either leg for a quarter of an hour: page, and what the plan says about it
	RollBack
)

// String returns a word for the decision, as "roll back".
func (d Decision) String() string {
	switch d {
	case Advance:
		return "advance"
	case Wait:
		return "wait"
	case HoldHere:
		return "hold"
	case HoldCommon:
		return "hold, common cause"
	case HoldBlind:
		return "hold, blind on both legs"
	case RollBack:
		return "roll back"
	}
	return "decision " + strconv.Itoa(int(d))
}

// Decision is what the verdict asks for by itself. A breach that the control leg denies is a common cause. A weak one rolls back only
// when the control leg confirms it.
func (v Verdict) Decision() Decision {
	if v.Mode != Act {
		return Advance
	}
	switch v.State {
	case Clear, IdleLeg:
		return Advance
	case Pending:
		return Wait
	case Suspect:
		return HoldHere
	case Blind:
		return v.blindness()
	case Fire, FireFast:
	}
	switch {
	case v.Weak && v.Control != ControlConfirms:
		return HoldHere
	case v.Control == ControlDenies:
		return HoldCommon
	}
	return RollBack
}

func (v *Verdict) blindness() Decision {
	switch {
	case !v.BlindBoth && v.BlindFor >= blindCanary:
		return RollBack
	case v.BlindFor >= blindBoth:
		return HoldBlind
	}
	return HoldHere
}

// RollsBack reports whether the verdict starts the way back.
func (v Verdict) RollsBack() bool { return v.Decision() == RollBack }

// Holds reports whether the verdict forbids a step up and asks for a hold.
func (v Verdict) Holds() bool { return v.Decision() >= HoldHere && v.Decision() < RollBack }

// Passes reports whether the verdict allows a step up.
func (v Verdict) Passes() bool { return v.Decision() == Advance }
