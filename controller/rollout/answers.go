package rollout

import (
	"fmt"
	"math"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// succeeded takes in a command's result. A result of the wrong sort is taken as none.
func (t *turn) succeeded(id CommandID, a Action, res Result) {
	if id <= t.r.fence && !isWrite(a) && t.r.Stage > StageChecking {
		return
	}
	switch res := res.(type) {
	case StateRead:
		t.stateRead(res.State)
	case ShareSet:
		if id == t.r.share.cmd {
			t.shareSet(res.DNS)
		}
	case TLSSet:
		if id == t.r.tls.cmd {
			t.tlsSet(res.TLS)
		}
	case HandshakesDone:
		if h, ok := a.(Handshake); ok {
			t.shook(h.Leg, res.Handshakes)
		}
	case Resolved:
		t.r.Answers, t.r.AnswersAt = res.Answers, t.at
		t.resolved()
	case Done:
		if _, ok := a.(Rehearse); ok {
			t.r.pre.rehearsed = true
		}
		if id == t.r.call.cmd {
			t.r.call = lever{}
		}
	}
}

func isWrite(a Action) bool {
	switch a.(type) {
	case SetShare, SetTLS, Rehearse, Notify, Call:
		return true
	case ReadState, Handshake, Resolve, FetchMinutes, Wake:
	}
	return false
}

// failed takes in a command's failure.
func (t *turn) failed(id CommandID, a Action, kind FailureKind, text string) {
	switch a := a.(type) {
	case SetShare:
		if id == t.r.share.cmd {
			t.leverFailed(&t.r.share, RetryShare, kind, text)
		}
	case SetTLS:
		if id == t.r.tls.cmd {
			t.leverFailed(&t.r.tls, RetryTLS, kind, text)
		}
	case ReadState, Handshake, Resolve, Rehearse:
		t.readFailed(a, kind, text)
	case Call:
		t.callFailed(kind, text)
	case Notify, Wake, FetchMinutes:
	}
}

// readFailed matters in preflight, where nothing was touched; later a read is asked for again at the next tick.
func (t *turn) readFailed(a Action, kind FailureKind, text string) {
	if t.r.Stage != StageChecking {
		return
	}
	t.r.pre.trouble = kind.String() + ": " + text
	if _, rehearsal := a.(Rehearse); rehearsal && kind == Conflict || !kind.repeatable() {
		t.end(Halted, "preflight: "+text)
	}
}

func (t *turn) stateRead(s plans.State) {
	r := &t.r
	if r.Stage == StageChecking {
		if !r.pre.checked {
			r.Observed, r.pre.state = s, true
		}
		return
	}
	r.TLSStatus = s.Primary.TLS.Status
	if !t.idle() {
		return // a write is under way: what is read may be before or after it
	}
	drifted := t.driftIn(s)
	if drifted != "" && t.mayBeBehind() {
		return // asked for again: nothing rises before a read that agrees
	}
	if w, ok := s.Weights(r.Plan.DNS.Line); ok {
		r.seen = w.Share()
	}
	r.Drifted = drifted
	if r.Drifted != "" {
		t.drift(r.Drifted)
		t.insist(s)
		return
	}
	r.ReadAt = t.at
	if r.Stage == StageSettling {
		t.restoredState()
	}
}

// mayBeBehind reports whether a read may come from a server that does not know the last write yet, although another one showed it.
func (t *turn) mayBeBehind() bool {
	return t.age(t.r.ShareAt) < behindFor && t.r.Touched || t.age(t.r.TLSAt) < behindFor
}

// driftIn compares what is configured with what the run left.
func (t *turn) driftIn(s plans.State) string {
	w, ok := s.Weights(t.r.Plan.DNS.Line)
	switch {
	case !ok:
		return "the records at the name are no longer one for each CDN"
	case !w.Equal(t.r.Weights) || !w.PrimaryOn && w.Primary != t.r.Weights.Primary:
		return fmt.Sprintf("the weights are %s, this run left %s", w, t.r.Weights)
	}
	want := t.r.Restore
	if t.r.Exposed && t.r.Way == Forward {
		want = t.r.Change
	}
	if tls := s.Primary.TLS; !isTarget(tls, want) {
		return fmt.Sprintf("the primary's TLS settings are %s, this run left %s", settingsText(tls), targetText(want))
	}
	return ""
}

func settingsText(s plans.TLSSettings) string {
	if !s.Explicit {
		return "the vendor's default"
	}
	return s.Enabled.String()
}

func targetText(w plans.TLSTarget) string {
	if w.Absent {
		return "the vendor's default"
	}
	return w.Enabled.String()
}

func (t *turn) drift(text string) {
	switch {
	case t.r.Way == Back:
		t.notify(Page, "drift back", "Somebody else changed something during the rollback: "+text+".")
	case t.r.Plan.OnDrift == plans.ReactRollback:
		t.rollBack("drift: " + text)
	default:
		t.hold(Hold{Since: t.at, Why: HoldDrift, Text: "drift: " + text, Manual: true})
	}
}

// shook takes in a round of handshakes.
func (t *turn) shook(leg guardrails.Leg, hs []plans.Handshake) {
	r := &t.r
	if r.Stage == StageChecking {
		if leg == guardrails.Primary {
			r.pre.primary = together(r.pre.earlier, hs)
		} else {
			r.pre.backup = together(r.pre.earlier, hs)
		}
		return
	}
	if leg != guardrails.Primary {
		return
	}
	r.Handshakes, r.ShookAt = hs, t.at
	if r.Stage != StageProveTLS {
		return
	}
	if t.proofTrouble() == "" {
		r.Proofs++
	} else {
		r.Proofs = 0
	}
}

// wanted is the set of versions that edges must accept now.
func (r Run) wanted() plans.TLSSet {
	if r.Exposed && r.Way == Forward {
		return r.Plan.Change.Apply(r.Accepted)
	}
	return r.Accepted
}

// unusable reports whether an edge failed where it matters: to a client that speaks everything, to TLS 1.2 or 1.3, or to a version that
// the plan changes. Edges that drop the connection of other old clients are no reason to stop.
func (r Run) unusable(h plans.Handshake) bool {
	needed := plans.TLSSetOf(plans.TLS12, plans.TLS13) | r.Plan.Change.On | r.Plan.Change.Off
	return h.Error != "" && (h.Version == 0 || h.Probed&needed != needed)
}

// proofTrouble says why the last round of handshakes does not prove the settings; "" when it does.
func (t *turn) proofTrouble() string {
	r := &t.r
	if len(r.Handshakes) == 0 {
		return "no edge has answered yet"
	}
	for _, h := range r.Handshakes {
		switch {
		case r.unusable(h):
			return "edge " + h.Edge + " refuses the handshake: " + h.Error
		case h.ChainError != "":
			return "edge " + h.Edge + " shows a certificate that does not verify: " + h.ChainError
		case (h.Accepted^r.wanted())&h.Probed&(r.Probed|r.Plan.Change.On|r.Plan.Change.Off) != 0:
			return fmt.Sprintf("edge %s accepts %s instead of %s", h.Edge, h.Accepted, r.wanted())
		}
	}
	if r.TLSStatus != plans.ConfigLive && r.TLSStatus != 0 {
		return "the CDN reports the configuration as " + r.TLSStatus.String()
	}
	return ""
}

// resolved compares the answers with the stored weights, in preflight.
func (t *turn) resolved() {
	if t.r.Stage != StageChecking {
		return
	}
	if trouble := t.answersTrouble(t.r.Origin.Share()); trouble != "" {
		t.r.pre.trouble = trouble // asked again at the next tick: an earlier change may still be spreading
		return
	}
	t.r.pre.resolved = true
}

// answered share and its tolerance: three standard deviations of the binomial and one point; exact at the ends.
func (t *turn) answersTrouble(want plans.Percent) string {
	got, n := AnsweredShare(t.r.Answers)
	if n == 0 {
		return "no authoritative server answered"
	}
	w := float64(want) / 100
	tol := 300*math.Sqrt(w*(1-w)/float64(n)) + 1
	if math.Abs(float64(got-want)) > tol {
		return fmt.Sprintf("the name servers answer %.1f %% for the primary, the stored weight is %.1f %% (tolerance %.1f pp, %d replies)", float64(got), float64(want), tol, n)
	}
	return ""
}

// AnsweredShare is the primary's share of the authoritative servers' replies, and how many there were. Replies that point elsewhere
// count against both.
func AnsweredShare(answers []plans.Answers) (share plans.Percent, replies int) {
	primary := 0
	for _, a := range answers {
		if a.Authoritative {
			primary += a.Primary
			replies += a.Primary + a.Backup + a.Other
		}
	}
	if replies == 0 {
		return 0, 0
	}
	return plans.Percent(100 * float64(primary) / float64(replies)), replies
}

// age is how long ago an instant is.
func (t *turn) age(since time.Time) time.Duration { return t.at.Sub(since) }

// waited is how long something has been waited for by somebody who watched.
func (t *turn) waited(since time.Time) time.Duration {
	if t.r.resumedAt.After(since) {
		since = t.r.resumedAt
	}
	return t.at.Sub(since)
}
