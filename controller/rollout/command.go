package rollout

import (
	"strconv"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// Command is something to do. It stays outstanding until it is answered or replaced.
type Command struct {
	ID     CommandID
	Action Action
}

// Action is what to do.
//
//sumtype:decl
type Action interface{ action() }

// ReadState reads both CDNs and the records.
type ReadState struct{}

// SetShare brings the weights to Want: read, write what differs in the safe order, read back. A state that is neither Before, nor Want,
// nor on the way between is somebody else's: fail with Conflict, unless Force.
type SetShare struct {
	Names  Names
	Want   plans.Weights
	Before plans.Weights
	Force  bool
}

// Names are the host names by which the two records are told apart. Commands carry them, so that the DNS lever needs no CDN to answer.
type Names struct {
	Primary string
	Backup  string
}

// SetTLS brings the primary's TLS settings to Want in the same manner.
type SetTLS struct {
	Want   plans.TLSTarget
	Before plans.TLSTarget
	Force  bool
}

// Handshake probes every edge of a leg.
type Handshake struct{ Leg guardrails.Leg }

// Resolve asks each name server Queries times where the name points.
type Resolve struct {
	Names   Names
	Queries int
}

// FetchMinutes asks a source for the minutes From..To.
type FetchMinutes struct {
	Source  string
	From    guardrails.Minute
	To      guardrails.Minute
	DaysAgo int // 0: the night itself; else the same hours on an earlier day, for the baseline's shape
}

// Wake asks for a TimerFired at an instant; at once when it is past.
type Wake struct {
	At time.Time
	Do Errand
}

// Rehearse writes the primary record's present weight, to prove that writing is permitted. It changes nothing.
type Rehearse struct{ Names Names }

// Notify tells a person.
type Notify struct {
	Urgency Urgency
	Text    string
}

// Call asks a webhook.
type Call struct {
	URL    string
	Expect int
}

func (ReadState) action()    {}
func (SetShare) action()     {}
func (SetTLS) action()       {}
func (Handshake) action()    {}
func (Resolve) action()      {}
func (FetchMinutes) action() {}
func (Wake) action()         {}
func (Rehearse) action()     {}
func (Notify) action()       {}
func (Call) action()         {}

// ActionName is a word for an action in logs, as "set_share".
func ActionName(a Action) string {
	switch a.(type) {
	case ReadState:
		return "read_state"
	case SetShare:
		return "set_share"
	case SetTLS:
		return "set_tls"
	case Handshake:
		return "handshake"
	case Resolve:
		return "resolve"
	case FetchMinutes:
		return "fetch_minutes"
	case Wake:
		return "wake"
	case Rehearse:
		return "rehearse"
	case Notify:
		return "notify"
	case Call:
		return "call"
	}
	return ""
}

// Errand is what a Wake is for.
type Errand int

// The errands.
const (
	Begin      Errand = iota + 1 // the scheduled start
	Tick                         // every minute
	RetryShare                   // a lever that failed
	RetryTLS
	RetryCall // a webhook that did not answer
)

// String returns "begin", "tick", "retry share", "retry tls" or "retry call".
func (e Errand) String() string {
	switch e {
	case Begin:
		return "begin"
	case Tick:
		return "tick"
	case RetryShare:
		return "retry share"
	case RetryTLS:
		return "retry tls"
	case RetryCall:
		return "retry call"
	}
	return "errand " + strconv.Itoa(int(e))
}

// Urgency orders notifications. Pages want a person now.
type Urgency int

// The urgencies.
const (
	Info Urgency = iota + 1
	Warn
	Page
)

// String returns "info", "warn" or "page".
func (u Urgency) String() string {
	switch u {
	case Info:
		return "info"
	case Warn:
		return "warn"
	case Page:
		return "page"
	}
	return "urgency " + strconv.Itoa(int(u))
}
