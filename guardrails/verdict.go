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
}

// RollsBack reports whether the verdict starts the way back.
func (v Verdict) RollsBack() bool { return v.Mode == Act && v.State >= Fire }

// Holds reports whether the verdict forbids a step up and asks for a hold.
func (v Verdict) Holds() bool { return v.Mode == Act && (v.State == Suspect || v.State == Blind) }

// Passes reports whether the verdict allows a step up.
func (v Verdict) Passes() bool { return v.Mode != Act || v.State == Clear || v.State == IdleLeg }
