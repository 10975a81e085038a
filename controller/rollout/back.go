package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// backSteps are the steps of the way back: those of the plan below the observed share, and last the observed weights themselves.
// Steps that wait for somebody are left out: nobody can block a rollback.
func (r Run) backSteps() []plans.Step {
	var steps []plans.Step
	for _, s := range r.Plan.RollbackFor(r.Origin.Share()) {
		switch s.(type) {
		case plans.Approve, plans.Call:
		case plans.Shift, plans.TLS, plans.Bake, plans.Observe, plans.Together, plans.Verify:
			steps = append(steps, s)
		}
	}
	return append(steps, plans.Shift{Primary: r.Origin.Share()})
}

// rollBack turns the run round, for good. A run that has written nothing just ends.
func (t *turn) rollBack(why string) {
	r := &t.r
	switch {
	case r.Way == Back || r.End != nil:
		return
	case !r.Touched:
		t.end(Halted, why+"; nothing was touched")
		return
	}
	t.record()
	if p := t.last(); p != nil && p.Left.IsZero() {
		p.Left = t.at
	}
	t.drop(&r.share)
	t.drop(&r.tls)
	t.drop(&r.call)
	r.share, r.tls, r.call = lever{}, lever{}, lever{}
	forward := func(c Command) bool {
		switch a := c.Action.(type) {
		case Call, Resolve, Handshake, ReadState, Rehearse:
			return true
		case Wake:
			return a.Do != Tick
		case SetShare, SetTLS, FetchMinutes, Notify:
		}
		return false
	}
	r.pending = slices.DeleteFunc(r.pending, forward)
	t.out = slices.DeleteFunc(t.out, forward)
	r.Way, r.BackWhy, r.Held = Back, why, nil
	r.Step, r.Stage, r.Waiting, r.Proofs = 0, StageEntering, t.at, 0
	t.notify(Page, "back", "Rolling back: "+why+".")
}

// progressBack draws one conclusion on the way back.
func (t *turn) progressBack() bool {
	r := &t.r
	t.pageLevers()
	if r.Retreat != "" {
		return false
	}
	fires := func(v guardrails.Verdict) bool { return v.RollsBack() && v.State >= guardrails.Fire }
	if text := breaching(r.Verdicts, fires); text != "" && r.Restored && r.InForce > 0 {
		t.retreat("the primary breaches although the settings of the start are proved: " + text)
		return true
	}
	t.prove()
	t.pageResidual()
	switch r.Stage {
	case StageEntering:
		return t.enterBack()
	case StageProveShare:
		return t.proveShareBack()
	case StageProveTLS:
		return t.proveTLSBack()
	case StageBaking:
		if !t.at.Before(r.BakeUntil) {
			t.leave()
			return true
		}
	case StageSettling:
		return t.settling()
	case StageScheduled, StageChecking, StageApplying, StageApproving:
	}
	return false
}

// enterBack opens the next step of the way back. Nothing rises before the restored settings are proved.
func (t *turn) enterBack() bool {
	r := &t.r
	steps := r.backSteps()
	if r.Step >= len(steps) {
		r.Stage, r.Waiting = StageSettling, t.at
		t.ask(ReadState{})
		return true
	}
	step := steps[r.Step]
	if shift, _ := parts(step); shift != nil && shift.Primary > r.Weights.Share() {
		if !r.Restored {
			t.proveTLS()
			return true
		}
		if t.age(r.ReadAt) > readFresh {
			return t.lookFirst()
		}
	}
	r.Steps = append(r.Steps, Progress{Way: Back, Index: r.Step, Name: StepName(step), Asked: r.Asked, Entered: t.at})
	t.enter(step)
	return true
}

// lookFirst reads the state before anything rises on the way back; what cannot be read in the time of the last wait ends the run.
func (t *turn) lookFirst() bool {
	if t.waited(t.r.Waiting) > SettleLimit {
		t.end(RolledBackUnverified, "what is configured is not what this run left, or cannot be read"+because(t.r.Drifted))
		return true
	}
	t.ask(ReadState{})
	return false
}

// pageResidual pages when traffic stays on a primary that was drained on the way back. Reference semantics, rollback verification: at most
// 5 points after 15 minutes, 2 after 30.
func (t *turn) pageResidual() {
	r := &t.r
	if r.Asked > 0 || r.ShareAt.IsZero() || !r.Share.Known {
		return
	}
	left, age := r.Share.Carried, t.waited(r.ShareAt)
	if left > residualSoon && age >= residualTime || left > residualLate && age >= 2*residualTime {
		t.notify(Page, "residual", fmt.Sprintf("Rollback: the primary was drained %s ago and still carries %s: some resolvers or clients keep the old answer.",
			minutes(age.Round(time.Minute)), percent(left)))
	}
}

// sourceDead reports whether the source of the carried share has been silent for too long to wait for it.
func (t *turn) sourceDead() bool {
	name := t.r.shareSource()
	for _, s := range t.r.Sources {
		if s.Name == name {
			return t.waited(s.AnsweredAt) > ConvergeHold
		}
	}
	return true
}

func (t *turn) proveShareBack() bool {
	r := &t.r
	switch {
	case !r.ShareOK.IsZero():
		t.verified()
		return t.proveTLSOrBake()
	case t.waited(r.ShareAt) > ConvergeHold && t.sourceDead() && !r.AnswersAt.Before(r.ShareAt) && t.answersTrouble(r.Weights.Share()) == "":
		r.unseen = true // a dead source does not block the way back; its end is unverified
		t.leave()
		return true
	case t.waited(r.ShareAt) > convergeBack:
		t.end(RolledBackUnverified, "the carried share did not follow in "+convergeBack.String()+": "+t.shareTrouble())
		return true
	case t.waited(r.ShareAt) > ConvergeHold:
		t.notify(Page, fmt.Sprint("converge back ", r.Step), "Rollback: "+t.shareTrouble()+".")
	}
	return false
}

func (t *turn) proveTLSBack() bool {
	r := &t.r
	switch {
	case r.proved() && t.spread():
		r.Restored, r.Exposed = true, false
		t.verified()
		if step, ok := r.Current(); ok && isVerify(step) {
			t.leave()
			return true
		}
		r.Stage, r.Waiting = StageEntering, t.at
		return true
	case t.waited(r.Waiting) > ProofLimitBack:
		t.end(RolledBackUnverified, "the restored TLS settings could not be proved: "+t.proofTrouble())
		return true
	case t.waited(r.Waiting) > ProofLimit:
		t.notify(Page, "prove back", "Rollback: the restored TLS settings are not proved yet: "+t.proofTrouble()+".")
	}
	return false
}

// spread reports whether the restored settings have reached the edges, as far as time can tell. An edge that the change had not reached yet
// shows the settings of the start, and turns to the change afterwards. The CDN's status tells them apart, where there is one.
func (t *turn) spread() bool {
	told := !t.r.Restore.Absent && t.r.TLSStatus == plans.ConfigLive
	return told || t.age(t.r.TLSAt) >= spreadUntold
}

func isVerify(s plans.Step) bool { _, ok := s.(plans.Verify); return ok }

// settling waits for CLEAR at half the band; the end itself comes with a read of the restored state.
func (t *turn) settling() bool {
	if t.waited(t.r.Waiting) <= SettleLimit {
		return false
	}
	why := t.notClear()
	switch {
	case t.r.Drifted != "":
		why = t.r.Drifted
	case why == "":
		why = "the state could not be read"
	}
	t.end(RolledBackUnverified, "settings and weights were restored, but the end is not proved: "+why)
	return true
}

// restoredState ends the run when what was just read is the state of the start, and every rule is CLEAR.
func (t *turn) restoredState() {
	switch {
	case !t.r.Restored || !t.r.Weights.Equal(t.r.Origin):
	case t.r.unseen && t.sourceDead():
		t.end(RolledBackUnverified, "settings and weights are as at the start; what the traffic does cannot be seen, since its source does not answer")
	case t.notClear() == "":
		t.end(RolledBack, t.r.BackWhy)
	}
}

// notClear lists what the end of the way back still waits for.
func (t *turn) notClear() string {
	r := &t.r
	var parts []string
	if r.Origin.Share() > 0 {
		for _, v := range guardrails.JudgeRestored(&r.Table, &r.Baseline, r.Plan.Guardrails, t.situation()) {
			if !v.Passes() {
				parts = append(parts, VerdictText(v))
			}
		}
	}
	return strings.Join(parts, "; ")
}

// retreat drains the primary once more and ends the run unverified.
func (t *turn) retreat(why string) {
	r := &t.r
	r.Retreat, r.Stage = why, StageApplying
	t.setShare(0, plans.WeightsFor(0, r.Plan.DNS.Zero))
	t.notify(Page, "retreat", "Rollback: "+why+". The primary is drained again.")
}

// pageLevers pages when a lever has failed for a minute. It never delays a write.
func (t *turn) pageLevers() {
	for _, l := range []struct {
		name string
		*lever
	}{{"DNS share", &t.r.share}, {"TLS settings", &t.r.tls}} {
		if !l.failed.IsZero() && t.age(l.failed) >= leverPage {
			t.notify(Page, "lever "+l.name, fmt.Sprintf("Rollback: the %s cannot be written since %s: %s. It is tried again until it lands.",
				l.name, l.failed.UTC().Format("15:04:05Z"), l.text))
		}
		if l.cmd != 0 && t.age(l.asked) >= 3*leverPage {
			t.notify(Page, "slow lever "+l.name, fmt.Sprintf("Rollback: the write of the %s has no answer since %s.", l.name, l.asked.UTC().Format("15:04:05Z")))
		}
	}
}
