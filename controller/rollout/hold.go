package rollout

import (
	"fmt"
	"slices"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// hold stops the run where it is. A hold by hand or for drift stays until a person resumes. A pause before the first step lets
// preflight finish, and nothing more.
func (t *turn) hold(h Hold) {
	if t.r.Way == Back || t.r.End != nil || t.r.Plan == nil {
		return
	}
	if t.r.Held != nil {
		if t.r.Held.Manual && (h.Why != HoldDrift || t.r.Held.Why == HoldDrift) {
			return // drift replaces any other hold: its limit ends without a write
		}
		h.Since = t.r.Held.Since
	}
	if t.r.Held == nil || t.r.Held.Why != h.Why {
		t.issue(Notify{Urgency: Warn, Text: "Holding: " + h.Text + ". " + h.Ends() + " Live now: " + t.r.Live() + "."})
	}
	t.r.Held = &h
}

// Ends says in a sentence how a hold ends.
func (h Hold) Ends() string {
	switch h.Why {
	case HoldOperator, HoldApproval:
		return "It goes on when a person says so, and rolls back at the limit."
	case HoldDrift:
		return "tlsroll does not fight: it goes on when the state is put back and a person says so, and ends at the limit without a write."
	case HoldGuardrail:
		return "It goes on when the rule is CLEAR, rolls back at once when it FIREs, and at the limit at the latest."
	case HoldBackup:
		return "The backup carries everything, so going back helps nobody: it goes on when the rule is CLEAR, and rolls back at the limit."
	case HoldCommonCause:
		return "It goes on when the rule is CLEAR, and rolls back when it lasts, or when the backup recovers and the primary does not."
	case HoldNotConverged, HoldGate, HoldLever, HoldBlind:
		return "It goes on when that is over, and rolls back at the limit."
	case HoldWindow:
		return "Nothing rises any more; it rolls back at the limit."
	}
	return ""
}

// reconsider begins and ends the holds that follow from data.
func (t *turn) reconsider() {
	if t.r.Held != nil && t.r.Held.Manual {
		return
	}
	why, text := t.reasonToHold()
	if text == "" {
		if h := t.r.Held; h == nil || !h.Why.judged() || t.allPass() {
			t.r.Held = nil
		}
		return
	}
	t.hold(Hold{Since: t.at, Why: why, Text: text})
}

// HoldUntil is when a hold rolls back at the latest, or ends as halted; zero when the run does not hold.
func (r Run) HoldUntil() time.Time {
	if r.Held == nil {
		return time.Time{}
	}
	limit := r.Held.Since.Add(r.Plan.HoldLimit)
	for _, c := range r.common {
		if until := c.since.Add(r.Plan.CommonCauseLimit); r.Held.Why == HoldCommonCause && until.Before(limit) {
			limit = until
		}
	}
	return limit
}

// judged reports a hold that verdicts began. It ends when every rule is CLEAR, not when the worst is over: a breach that comes and goes
// would never reach the limit.
func (h HoldReason) judged() bool {
	return h == HoldGuardrail || h == HoldCommonCause || h == HoldBlind || h == HoldBackup
}

func (t *turn) allPass() bool {
	return !slices.ContainsFunc(t.r.Verdicts, func(v guardrails.Verdict) bool { return !v.Passes() })
}

func (t *turn) reasonToHold() (why HoldReason, text string) {
	if why, text := t.guardrailHold(); text != "" {
		return why, text
	}
	if text := t.convergeTrouble(); text != "" {
		return HoldNotConverged, text
	}
	if l, name := t.failing(); l != nil && t.age(l.failed) > leverHold {
		return HoldLever, fmt.Sprintf("the %s cannot be written: %s", name, l.text)
	}
	if l := &t.r.call; !l.failed.IsZero() && t.age(l.failed) > leverHold {
		return HoldLever, "the webhook does not answer: " + l.text
	}
	if text := t.waitingToRise(); text != "" && t.age(t.r.resumedAt) > gateGrace {
		return HoldGate, text
	}
	if t.r.Stage == StageEntering {
		if why, text := t.gate(); text != "" && (why == HoldWindow || t.age(t.r.Waiting) > gateGrace) {
			return why, text
		}
	}
	return 0, ""
}

// guardrailHold is a rule that forbids to go on, the worst first. The backup breaching while it carries everything is one too.
func (t *turn) guardrailHold() (why HoldReason, text string) {
	worst := guardrails.HoldHere - 1
	for _, v := range t.r.Verdicts {
		d := v.Decision()
		if d <= worst {
			continue
		}
		worst, text = d, VerdictText(v)
	}
	switch worst {
	case guardrails.Advance, guardrails.Wait:
		return 0, ""
	case guardrails.HoldCommon:
		return HoldCommonCause, text
	case guardrails.HoldBlind:
		return HoldBlind, text
	case guardrails.RollBack: // the backup's: the primary's would have turned the run round
		return HoldBackup, text
	case guardrails.HoldHere:
	}
	return HoldGuardrail, text
}

// waitingToRise says what a write that raises exposure, and was under way when the process ended, waits for; "" when none waits.
func (t *turn) waitingToRise() string {
	for _, l := range []*lever{&t.r.share, &t.r.tls} {
		if l.cmd == 0 && l.retry != 0 && l.failed.IsZero() && t.raising(l.want) {
			if text := t.windowClosed(); text != "" {
				return text
			}
			return t.notJudgedWell()
		}
	}
	return ""
}

// convergeTrouble is a share that does not come, or went elsewhere.
func (t *turn) convergeTrouble() string {
	r := &t.r
	if r.Stage != StageProveShare || !r.ShareOK.IsZero() {
		return ""
	}
	age := t.waited(r.ShareAt)
	if age > convergePage {
		t.notify(Page, fmt.Sprint("converge ", r.Step), "Not converged in "+convergePage.String()+": "+t.shareTrouble()+".")
	}
	if r.Share.WrongWay || age > ConvergeHold {
		return t.shareTrouble()
	}
	return ""
}

// shareTrouble says which of the four weights disagree.
func (t *turn) shareTrouble() string {
	r := &t.r
	text := fmt.Sprintf("asked %s, stored %s", percent(r.Asked), percent(r.Weights.Share()))
	if r.AnswersAt.Before(r.ShareAt) {
		text += ", answered unknown"
	} else {
		got, _ := AnsweredShare(r.Answers)
		text += ", answered " + percent(got)
	}
	if !r.Share.Known {
		return text + ", carried not known yet"
	}
	return text + fmt.Sprintf(", carried %s (tolerance %.1f pp)", percent(r.Share.Carried), float64(r.Share.Tolerance))
}

// gate says why the next step may not begin; "" when it may. What does not raise exposure needs no gate, except the end.
func (t *turn) gate() (why HoldReason, text string) {
	r := &t.r
	atEnd := r.Step >= len(r.Plan.Steps)
	if !atEnd && !t.raises(r.Plan.Steps[r.Step]) {
		return 0, ""
	}
	if text := t.windowClosed(); !atEnd && text != "" {
		return HoldWindow, text
	}
	if r.ShareOK.IsZero() {
		return HoldGate, "the present share is not verified: " + t.shareTrouble()
	}
	return HoldGate, t.notJudgedWell()
}

// windowClosed says that nothing may rise any more; "" while it may.
func (t *turn) windowClosed() string {
	if t.r.AdvanceUntil.IsZero() || t.at.Before(t.r.AdvanceUntil) {
		return ""
	}
	return "no step up after " + t.r.AdvanceUntil.Format("15:04 MST")
}

// notJudgedWell says which source or rule forbids to raise exposure; "" when none does.
func (t *turn) notJudgedWell() string {
	r := &t.r
	for _, s := range r.Sources {
		if s.AnsweredAt.Before(r.resumedAt) && s.Failure == "" {
			return "source " + s.Name + " has not answered since the run went on"
		}
		if s.Failure != "" || t.age(s.AnsweredAt) > sourceFresh {
			return "source " + s.Name + " does not answer" + because(s.Failure)
		}
	}
	if len(r.Verdicts) == 0 && len(r.Plan.Guardrails) > 0 {
		return "nothing has been judged yet"
	}
	for _, v := range r.Verdicts {
		if !v.Passes() {
			return "not CLEAR yet: " + VerdictText(v)
		}
	}
	return ""
}

// raises reports whether a step may raise exposure or the primary's share.
func (t *turn) raises(s plans.Step) bool {
	shift, tls := parts(s)
	if shift != nil && shift.Primary > t.r.Weights.Share() {
		return true
	}
	return tls != nil && !tls.Restore && (t.r.Weights.Share() > 0 || shift != nil && shift.Primary > 0 || !t.r.AdvanceUntil.IsZero() && !t.at.Before(t.r.AdvanceUntil))
}

// holdExpired ends a hold that nobody resolved: the way back, or for drift an end without a write.
func (t *turn) holdExpired() bool {
	h := t.r.Held
	if t.age(h.Since) < t.r.Plan.HoldLimit {
		return false
	}
	if h.Why == HoldDrift {
		t.end(Halted, h.Text+"; nobody resolved it in "+t.r.Plan.HoldLimit.String()+", and tlsroll does not fight over it")
		return true
	}
	t.rollBack("held for " + t.r.Plan.HoldLimit.String() + ": " + h.Text)
	return true
}

func (t *turn) resume(e ResumeOrdered) {
	r := &t.r
	if r.Held == nil || !r.Held.Manual || r.Way == Back {
		return
	}
	r.Held = nil
	t.issue(Notify{Urgency: Info, Text: "Resumed by " + e.Actor + because(e.Reason) + "."})
	if r.share.parked {
		t.retry(&r.share, RetryShare)
	}
	if r.tls.parked {
		t.retry(&r.tls, RetryTLS)
	}
	if r.Stage > StageChecking {
		t.ask(ReadState{})
	}
}

// promote skips the rest of a bake. Everything else that guards a step up stays.
func (t *turn) promote() {
	r := &t.r
	why := ""
	switch {
	case r.Way == Back || r.Stage != StageBaking:
		why = "there is no bake to end"
	case r.Held != nil:
		why = "the run holds"
	case r.ShareOK.IsZero():
		why = "the share is not verified"
	default:
		why = t.notJudgedWell()
	}
	if why != "" {
		t.issue(Notify{Urgency: Info, Text: "Not promoted: " + why + "."})
		return
	}
	r.BakeUntil = t.at
}

func (t *turn) approved() {
	if t.r.Way != Forward || t.r.Stage != StageApproving {
		return
	}
	if t.r.Held != nil && t.r.Held.Why == HoldApproval {
		t.r.Held = nil
	}
	t.leave()
}

// approvalExpired does what the plan says about silence.
func (t *turn) approvalExpired() bool {
	step, _ := t.r.Current()
	a, ok := step.(plans.Approve)
	if !ok || t.age(t.r.Waiting) < a.TTL {
		return false
	}
	if a.OnTimeout == plans.ReactRollback {
		t.rollBack("nobody approved in " + a.TTL.String())
		return true
	}
	t.hold(Hold{Since: t.at, Why: HoldApproval, Text: "nobody approved in " + a.TTL.String(), Manual: true})
	return false
}
