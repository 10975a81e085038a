package rollout

import (
	"strconv"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// RunID names a run. It is unique in a store.
type RunID string

// CommandID numbers a run's commands from 1.
type CommandID uint64

// Record is one thing that happened. Seq counts from 1 without gaps; At never decreases.
type Record struct {
	Seq   uint64
	At    time.Time // the run's time
	Event Event
}

// Event is what happened.
//
//sumtype:decl
type Event interface{ event() }

// Started is the first record of every run. The plan is pinned here: the file may change afterwards.
type Started struct {
	Run    RunID
	Plan   string      // the plan as canonical YAML
	Parsed *plans.Plan `json:"-"` // the same, when whoever begins the run has it; nil: Plan is parsed
	Digest string
	Begin  time.Time // the start that was resolved from the schedule; zero: at once
	Actor  string
	Tool   string // version of tlsroll
}

// Names are the plan's domain and name; both are "" when it cannot be read.
func (s Started) Names() (domain, name string) {
	p, problems := plans.Parse("journal", []byte(s.Plan))
	if problems.HasErrors() {
		return "", ""
	}
	return p.Domain, p.Name
}

// Resumed is the first record after a crash or a stop: time may have passed that nobody watched.
type Resumed struct{ Actor, Tool string }

// CommandSucceeded answers any command but Wake and FetchMinutes.
type CommandSucceeded struct {
	ID     CommandID
	Result Result
}

// CommandFailed answers any command but Wake and FetchMinutes.
type CommandFailed struct {
	ID   CommandID
	Kind FailureKind
	Text string // what failed, with no secret in it
}

// MinutesArrived answers FetchMinutes. The journal keeps the digest; the rows lie beside it.
type MinutesArrived struct {
	ID     CommandID
	Batch  guardrails.Batch
	Digest string
}

// SourceFailed answers FetchMinutes: there are no minutes this time. It is never a pass.
type SourceFailed struct {
	ID     CommandID
	Source string
	Kind   FailureKind
	Text   string
}

// TimerFired answers Wake.
type TimerFired struct{ ID CommandID }

// PauseOrdered asks for a hold.
type PauseOrdered struct{ Actor, Reason string }

// ResumeOrdered ends a hold that a person or drift began.
type ResumeOrdered struct{ Actor, Reason string }

// PromoteOrdered skips the rest of a bake; it is ignored unless every rule is CLEAR and the share is verified.
type PromoteOrdered struct{ Actor, Reason string }

// AbortOrdered starts the way back now.
type AbortOrdered struct{ Actor, Reason string }

// Approved answers an approve step.
type Approved struct{ Actor, Comment string }

func (Started) event()          {}
func (Resumed) event()          {}
func (CommandSucceeded) event() {}
func (CommandFailed) event()    {}
func (MinutesArrived) event()   {}
func (SourceFailed) event()     {}
func (TimerFired) event()       {}
func (PauseOrdered) event()     {}
func (ResumeOrdered) event()    {}
func (PromoteOrdered) event()   {}
func (AbortOrdered) event()     {}
func (Approved) event()         {}

// Result is what a command brought back.
//
//sumtype:decl
type Result interface{ result() }

// StateRead answers ReadState.
type StateRead struct{ State plans.State }

// ShareSet answers SetShare: the weights were read back as wanted.
type ShareSet struct{ DNS plans.DNSState }

// TLSSet answers SetTLS: the settings were accepted and read back. They may not be live yet.
type TLSSet struct{ TLS plans.TLSSettings }

// HandshakesDone answers Handshake.
type HandshakesDone struct{ Handshakes []plans.Handshake }

// Resolved answers Resolve.
type Resolved struct{ Answers []plans.Answers }

// Done answers Rehearse, Notify and Call.
type Done struct{}

func (StateRead) result()      {}
func (ShareSet) result()       {}
func (TLSSet) result()         {}
func (HandshakesDone) result() {}
func (Resolved) result()       {}
func (Done) result()           {}

// FailureKind is what a failure means; the words are those of package providers.
type FailureKind int

// The kinds.
const (
	Transient FailureKind = iota + 1
	Throttled
	Denied
	Missing
	Conflict
	Invalid
	Unknown
)

// String returns the word used in output, as "throttled".
func (k FailureKind) String() string {
	switch k {
	case Transient:
		return "transient"
	case Throttled:
		return "throttled"
	case Denied:
		return "denied"
	case Missing:
		return "missing"
	case Conflict:
		return "conflict"
	case Invalid:
		return "invalid"
	case Unknown:
		return "unknown"
	}
	return "kind " + strconv.Itoa(int(k))
}

// repeatable reports whether the same command may work later.
func (k FailureKind) repeatable() bool { return k == Transient || k == Throttled || k == Unknown }
