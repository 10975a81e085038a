package rollout

import (
	"slices"
	"strconv"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// Keys are what a run of a plan claims: its domain, and the DNS record whose weights it writes. Two plans that share either exclude each
// other.
func Keys(p *plans.Plan) []string {
	return []string{"domain:" + p.Domain, "record:" + p.DNS.Record + "." + p.DNS.Zone}
}

// Phase is where a run is, in the words people use.
type Phase int

// The phases. The last five are terminal and absorb.
const (
	Scheduled Phase = iota + 1
	Preflight
	Applying
	Verifying
	Baking
	Holding
	WaitingApproval
	RollingBack
	Succeeded
	RolledBack
	RolledBackUnverified
	Halted
	Missed
)

// String returns the phase's name.
func (p Phase) String() string {
	names := [...]string{
		Scheduled: "Scheduled", Preflight: "Preflight", Applying: "Applying", Verifying: "Verifying", Baking: "Baking", Holding: "Holding",
		WaitingApproval: "WaitingApproval", RollingBack: "RollingBack", Succeeded: "Succeeded", RolledBack: "RolledBack",
		RolledBackUnverified: "RolledBackUnverified", Halted: "Halted", Missed: "Missed",
	}
	if p < Scheduled || int(p) >= len(names) {
		return "Phase " + strconv.Itoa(int(p))
	}
	return names[p]
}

// Terminal reports whether nothing can follow.
func (p Phase) Terminal() bool { return p >= Succeeded }

// Stage is the part of a step that a run is in; the phase follows from it.
type Stage int

// The stages.
const (
	StageScheduled  Stage = iota + 1 // before the start
	StageChecking                    // preflight
	StageEntering                    // between two steps: the next one's gate is not open yet
	StageApplying                    // a write or a call is under way
	StageProveShare                  // written, not yet carried
	StageProveTLS                    // written, not yet shown by the edges
	StageBaking                      // waiting with guardrails armed
	StageApproving                   // waiting for a person
	StageSettling                    // way back only: weights restored, waiting for CLEAR at half the band
)

// Way is the direction of a run.
type Way int

// The ways. Back latches.
const (
	Forward Way = iota + 1
	Back
)

// String returns "forward" or "back".
func (w Way) String() string {
	if w == Back {
		return "back"
	}
	return "forward"
}

// Run is the state of one change. It is a value; only Next makes a new one. Readers may look at every field and change none.
type Run struct {
	ID      RunID
	Plan    *plans.Plan // pinned at Started
	Digest  string
	Seq     uint64    // of the last record
	At      time.Time // of the last record
	Started time.Time // first record
	Start   time.Time // the scheduled start; zero: at once
	Begun   time.Time // preflight began

	Way   Way
	Stage Stage
	Step  int    // index into Steps
	Held  *Hold  // nil unless the run holds
	End   *Ended // nil until the end

	Observed     plans.State   // at the start: where the way back leads
	Origin       plans.Weights // observed weights
	Accepted     plans.TLSSet  // versions the primary's edges accepted at the start
	Probed       plans.TLSSet  // versions that they answered about then
	Restore      plans.TLSTarget
	Change       plans.TLSTarget
	AdvanceUntil time.Time // no step up from then on; zero: no limit

	Asked     plans.Percent // share asked for by the last SetShare
	AskedFrom plans.Percent // share before it
	InForce   plans.Percent // the last asked share that was read back; traffic is judged by it
	Weights   plans.Weights // last read back
	ShareAt   time.Time     // when the last share was read back; zero while a write is under way
	ShareOK   time.Time     // when it was verified; zero: it is not
	TLSAt     time.Time     // when the last settings were read back
	TLSStatus plans.ConfigStatus
	Drifted   string    // how the last read differed from what the run left; "" when it did not
	ReadAt    time.Time // when the providers last said what the run expects
	Exposed   bool      // the change may be live
	Restored  bool      // way back: the restored settings are proved
	Touched   bool      // a write was issued
	BakeUntil time.Time // baking: not before
	Since     guardrails.Minute

	Table      guardrails.Table
	Baseline   guardrails.Baseline
	Week       guardrails.Week      // the same hours before, as far as they are being asked for
	Verdicts   []guardrails.Verdict // of the leg that is judged now
	Share      guardrails.ShareAnswer
	Answers    []plans.Answers
	AnswersAt  time.Time
	Handshakes []plans.Handshake // of the primary
	ShookAt    time.Time         // when they were made
	Proofs     int               // handshake rounds in a row that proved the settings
	Sources    []SourceHealth

	BackWhy string // why the run goes back
	Retreat string // why the primary was drained again on the way back

	Steps []Progress // what was done, oldest first

	Waiting time.Time // since when the next step's gate is waited for, or the end of the way back

	pre       preflight
	share     lever
	tls       lever
	call      lever // not a lever of the change: the webhook that a call step waits for
	pending   []Command
	nextID    CommandID
	fence     CommandID     // reads up to this one began before the last write was made or answered
	lastSet   plans.Weights // of the last SetShare
	ticks     int
	seen      plans.Percent        // the primary's share as it was last read
	resumedAt time.Time            // when somebody began to watch again
	past      []pastDay            // what Week is asked for
	pieceAt   time.Time            // when the last piece of it was taken in
	common    []commonCause        // breaches that the control leg shows too
	unseen    bool                 // way back: a share could not be seen in the traffic
	roundAt   time.Time            // the last round of proofs began
	judged    guardrails.Situation // in which Verdicts were reached
	judgedBy  time.Time            // when the baseline was frozen that they were reached with
	lingered  plans.Percent        // what the primary may have carried then, while asked for nothing
	paged     []string             // what was told once and is not told again
}

// Hold is a wait that only time, data or a person ends.
type Hold struct {
	Since  time.Time
	Why    HoldReason
	Text   string
	Manual bool // only a person ends it
}

// HoldReason is why a run holds.
type HoldReason int

// The reasons.
const (
	HoldOperator HoldReason = iota + 1
	HoldDrift
	HoldGuardrail
	HoldNotConverged
	HoldGate
	HoldWindow
	HoldLever
	HoldApproval
	HoldCommonCause
	HoldBlind
	HoldBackup
)

// String returns a word for the reason.
func (h HoldReason) String() string {
	names := [...]string{
		HoldOperator: "operator", HoldDrift: "drift", HoldGuardrail: "guardrail", HoldNotConverged: "not converged", HoldGate: "not clear",
		HoldWindow: "window", HoldLever: "provider", HoldApproval: "approval",
		HoldCommonCause: "common cause", HoldBlind: "blind", HoldBackup: "backup breaches",
	}
	if h < HoldOperator || int(h) >= len(names) {
		return "hold " + strconv.Itoa(int(h))
	}
	return names[h]
}

// Ended is how a run ended.
type Ended struct {
	Phase Phase
	Why   string // one sentence
}

// SourceHealth is what is known of a source.
type SourceHealth struct {
	Name       string
	AnsweredAt time.Time // last batch; zero: never
	Failure    string    // last failure since; ""
}

// Progress is one step as it was carried out.
type Progress struct {
	Way        Way
	Index      int // into the plan's steps or the way back
	Name       string
	Asked      plans.Percent
	Entered    time.Time
	Applied    time.Time // read back
	Verified   time.Time // share or settings proved
	Left       time.Time
	Stored     plans.Weights
	Answered   plans.Percent
	AnsweredN  int // replies counted; 0: not asked
	Carried    guardrails.ShareAnswer
	Handshakes []plans.Handshake
	Verdicts   []guardrails.Verdict
}

// lever is one of the two things a run writes.
type lever struct {
	want   Action
	cmd    CommandID // outstanding write; 0: none
	retry  CommandID // outstanding Wake; 0: none
	asked  time.Time // when cmd was issued
	failed time.Time // failing since; zero: not failing
	tries  int
	text   string // of the last failure
	parked bool   // a conflict: waits for a person
}

// Phase says where the run is.
func (r Run) Phase() Phase {
	switch {
	case r.End != nil:
		return r.End.Phase
	case r.Way == Back:
		return RollingBack
	case r.Stage == StageScheduled:
		return Scheduled
	case r.Stage == StageChecking:
		return Preflight
	case r.Held != nil:
		return Holding
	}
	switch r.Stage {
	case StageApplying:
		return Applying
	case StageProveShare, StageProveTLS, StageEntering:
		return Verifying
	case StageApproving:
		return WaitingApproval
	case StageBaking, StageSettling, StageScheduled, StageChecking:
		return Baking
	}
	return Scheduled
}

// Outstanding returns the commands that are not answered yet, oldest first. The caller owns the slice.
func (r Run) Outstanding() []Command { return slices.Clone(r.pending) }

// List returns the steps of the way the run is on.
func (r Run) List() []plans.Step {
	if r.Way == Back {
		return r.backSteps()
	}
	return r.Plan.Steps
}

// Current returns the step the run is in; ok is false before the first and after the last.
func (r Run) Current() (plans.Step, bool) {
	if r.Plan == nil || r.Stage < StageEntering || r.Step >= len(r.List()) {
		return nil, false
	}
	return r.List()[r.Step], true
}

// Live says in words what is configured now, as far as the run knows.
func (r Run) Live() string {
	if !r.Weights.Answering() {
		return "as before: nothing was written"
	}
	if r.Drifted != "" {
		return "as somebody else left it: " + r.Drifted
	}
	tls := "TLS as at the start"
	switch {
	case r.Exposed && r.Proofs >= proofRounds:
		tls = "the TLS change is live"
	case r.Exposed:
		tls = "the TLS change may be live"
	}
	return "primary " + r.Weights.Share().String() + " of the weight (" + r.Weights.String() + "), " + tls
}
