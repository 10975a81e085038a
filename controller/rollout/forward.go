package rollout

import (
	"fmt"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

var zeroTime time.Time //nolint:gochecknoglobals // a name for the zero value; it is never assigned

// progressForward draws one conclusion, worst first, and reports whether there may be another.
func (t *turn) progressForward() bool {
	r := &t.r
	if text := t.breach(); text != "" {
		t.rollBack(text)
		return true
	}
	t.prove()
	if trouble := t.exposedTrouble(); trouble != "" {
		t.rollBack(trouble)
		return true
	}
	t.reconsider()
	if r.Held != nil {
		return t.holdExpired()
	}
	return t.advance()
}

// advance moves within a step, or to the next one.
func (t *turn) advance() bool {
	r := &t.r
	switch r.Stage {
	case StageEntering:
		return t.enterNext()
	case StageProveShare:
		if r.ShareOK.IsZero() {
			return false
		}
		t.verified()
		return t.proveTLSOrBake()
	case StageProveTLS:
		return t.advanceProof()
	case StageBaking:
		if t.at.Before(r.BakeUntil) {
			return false
		}
		t.leave()
		return true
	case StageApproving:
		return t.approvalExpired()
	case StageScheduled, StageChecking, StageApplying, StageSettling:
	}
	return false
}

// prove looks whether the asked share is stored, answered and carried, and moves on from a write that has landed.
func (t *turn) prove() {
	r := &t.r
	if r.Stage == StageApplying && t.idle() && !r.call.busy() {
		t.afterApply()
	}
	if r.ShareAt.IsZero() {
		return
	}
	r.Share = guardrails.VerifyShare(&r.Table, &r.Baseline, guardrails.ShareQuestion{
		Source: r.shareSource(), Now: t.at, Asked: r.Asked, Before: r.AskedFrom, Since: r.ShareAt, TTL: r.Plan.DNS.TTL,
	})
	if r.ShareOK.IsZero() && r.Share.Verified && !r.AnswersAt.Before(r.ShareAt) && t.answersTrouble(r.Weights.Share()) == "" {
		r.ShareOK = t.at
		t.fresh = true
		t.judge()
	}
}

// afterApply chooses what must be proved now.
func (t *turn) afterApply() {
	step, _ := t.r.Current()
	shift, tls := parts(step)
	switch {
	case shift != nil && (t.r.Way == Forward || shift.Primary > 0):
		t.r.Stage = StageProveShare
		t.askResolve()
	case tls != nil && t.r.Way == Forward:
		t.proveTLS()
	default:
		t.leave()
	}
}

func (t *turn) proveTLS() {
	t.r.Stage, t.r.Proofs, t.r.Waiting = StageProveTLS, 0, t.at
	t.askProof()
}

// askProof begins a round: what the CDN says, and what the edges show.
func (t *turn) askProof() {
	t.r.roundAt = t.at
	t.ask(ReadState{})
	t.ask(Handshake{Leg: guardrails.Primary})
}

// proved reports whether the edges showed the settings in enough rounds in a row, and the CDN said the same in the last one.
func (r Run) proved() bool { return r.Proofs >= proofRounds && !r.ReadAt.Before(r.roundAt) }

// proveTLSOrBake follows a proved share.
func (t *turn) proveTLSOrBake() bool {
	r := &t.r
	step, _ := r.Current()
	shift, tls := parts(step)
	switch {
	case tls != nil && r.Way == Forward:
		t.proveTLS()
	case shift != nil && shift.Bake > 0:
		r.Stage, r.BakeUntil = StageBaking, t.at.Add(shift.Bake)
	default:
		t.leave()
	}
	return true
}

// parts finds the writes in a step.
func parts(s plans.Step) (shift *plans.Shift, tls *plans.TLS) {
	switch s := s.(type) {
	case plans.Shift:
		return &s, nil
	case plans.TLS:
		return nil, &s
	case plans.Together:
		for _, sub := range s.Steps {
			a, b := parts(sub)
			if a != nil {
				shift = a
			}
			if b != nil {
				tls = b
			}
		}
	case plans.Bake, plans.Observe, plans.Approve, plans.Call, plans.Verify:
	}
	return shift, tls
}

// advanceProof waits for two rounds of handshakes that prove the settings.
func (t *turn) advanceProof() bool {
	r := &t.r
	switch {
	case r.proved():
		t.verified()
		step, _ := r.Current()
		if shift, _ := parts(step); shift != nil && shift.Bake > 0 {
			r.Stage, r.BakeUntil = StageBaking, t.at.Add(shift.Bake)
			return true
		}
		t.leave()
		return true
	case t.waited(r.Waiting) > ProofLimit:
		t.rollBack(fmt.Sprintf("the TLS change was not proved in %s: %s", ProofLimit, t.proofTrouble()))
		return true
	}
	return false
}

// exposedTrouble is a failed handshake on an edge that has traffic: it does not wait for the proof's deadline.
func (t *turn) exposedTrouble() string {
	r := &t.r
	if r.Stage != StageProveTLS || !r.Exposed || r.Weights.Share() == 0 {
		return ""
	}
	for _, h := range r.Handshakes {
		if r.unusable(h) || h.ChainError != "" {
			return t.proofTrouble()
		}
	}
	return ""
}

// enterNext opens the next step, or ends the run, when its gate allows.
func (t *turn) enterNext() bool {
	r := &t.r
	if _, text := t.gate(); text != "" {
		return false
	}
	if r.Step >= len(r.Plan.Steps) {
		t.end(Succeeded, "all steps are done, the primary carries "+r.Asked.String())
		return true
	}
	step := r.Plan.Steps[r.Step]
	if _, tls := parts(step); (tls != nil || t.raises(step)) && t.age(r.ReadAt) > readFresh {
		t.ask(ReadState{}) // somebody else may have moved weight since: look before exposing anybody
		return false
	}
	r.Steps = append(r.Steps, Progress{Way: Forward, Index: r.Step, Name: StepName(step), Asked: r.Asked, Entered: t.at})
	t.enter(step)
	return true
}

// enter does a step's first act.
func (t *turn) enter(step plans.Step) {
	r := &t.r
	switch s := step.(type) {
	case plans.Shift:
		t.freeze()
		r.Stage = StageApplying
		t.shift(s)
	case plans.TLS:
		t.freeze()
		r.Stage = StageApplying
		t.change(s)
	case plans.Bake:
		r.Stage, r.BakeUntil = StageBaking, t.at.Add(s.For)
	case plans.Observe:
		r.Stage, r.BakeUntil = StageBaking, s.EndAfter(t.at, r.Plan.Location())
	case plans.Approve:
		r.Stage, r.Waiting = StageApproving, t.at
		t.notify(Warn, fmt.Sprint("approve ", r.Step), "Approval by "+s.By+" is needed to go on.")
	case plans.Call:
		r.Stage = StageApplying
		r.call = lever{want: Call(s), asked: t.at, cmd: t.issue(Call(s))}
	case plans.Together:
		t.freeze()
		r.Stage = StageApplying
		for _, sub := range s.Steps {
			t.enter(sub)
		}
	case plans.Verify:
		t.proveTLS()
	}
	t.last().Asked = r.Asked
}

func (t *turn) shift(s plans.Shift) {
	want := plans.WeightsFor(s.Primary, t.r.Plan.DNS.Zero)
	if t.r.Way == Back && t.r.Step == len(t.r.backSteps())-1 {
		want = t.r.Origin
	}
	t.setShare(s.Primary, want)
}

func (t *turn) change(s plans.TLS) {
	r := &t.r
	if s.Restore || r.Way == Back {
		t.setTLS(r.Restore, r.Change)
		return
	}
	r.Exposed, r.Restored = true, false
	t.setTLS(r.Change, r.Restore)
}

// leave ends a step; the next one's gate comes then.
func (t *turn) leave() {
	r := &t.r
	if p := t.last(); p != nil {
		p.Left = t.at
	}
	r.Step++
	r.Stage, r.Waiting = StageEntering, t.at
}

func (t *turn) verified() {
	if p := t.last(); p != nil && p.Verified.IsZero() {
		p.Verified = t.at
	}
}

// last is the step under way, or the one just left.
func (t *turn) last() *Progress {
	if len(t.r.Steps) == 0 {
		return nil
	}
	return &t.r.Steps[len(t.r.Steps)-1]
}

// record keeps the evidence of the step under way.
func (t *turn) record() {
	p := t.last()
	if p == nil || !p.Left.IsZero() && !p.Left.Equal(t.at) {
		return
	}
	r := &t.r
	p.Stored = r.Weights
	if !r.ShareAt.IsZero() && !r.AnswersAt.Before(r.ShareAt) {
		p.Answered, p.AnsweredN = AnsweredShare(r.Answers)
	}
	if r.Share.Known {
		p.Carried = r.Share
	}
	if len(r.Verdicts) > 0 {
		p.Verdicts = r.Verdicts
	}
	if !r.ShookAt.Before(p.Entered) {
		p.Handshakes = r.Handshakes
	}
}
