package rollout_test

import (
	"runtime"
	"testing"

	"github.com/tlsroll/tlsroll/controller/rollout/mutant"
)

// mutations break Next on purpose, one law each. The laws must notice every one of them: a law that cannot fail proves nothing.
var mutations = []mutant.Mutation{
	{Name: "S1 a step asks for more than its share", File: "forward.go", Old: "plans.WeightsFor(s.Primary, ", New: "plans.WeightsFor(s.Primary+7, "},
	{Name: "S2 exposure rises although a rule is not CLEAR", File: "hold.go", Old: "if !v.Passes() {\n\t\t\treturn \"not", New: "if false {\n\t\t\treturn \"not"},
	{Name: "S2 the share is not verified before the next step", File: "forward.go", Old: "if r.ShareOK.IsZero() {\n\t\t\treturn false", New: "if false {\n\t\t\treturn false"},
	{Name: "S2 a verification counts for the next share too", File: "levers.go", Old: "r.ShareAt, r.ShareOK = zeroTime, zeroTime", New: "r.ShareAt = zeroTime"},
	{Name: "S2 the change meets traffic that was not judged", File: "hold.go", Old: "return tls != nil && !tls.Restore && ", New: "return tls != nil && !tls.Restore && false && "},
	{Name: "S3 the way back rises before the edges prove the restored settings", File: "back.go", Old: "case r.proved() && t.spread():", New: "case true:"},
	{Name: "S3 the way back sets the change again", File: "forward.go", Old: "t.setTLS(r.Restore, r.Change)", New: "t.setTLS(r.Change, r.Change)"},
	{Name: "S4 the end does not look at what is configured", File: "answers.go", Old: "drifted := t.driftIn(s)\n", New: "drifted := \"\"\n"},
	{Name: "S4 a write of the way forward that lands late is left alone", File: "answers.go", Old: "t.insist(s)\n", New: "\n", By: "TestLawS4AWriteThatLandsLateIsUndone"},
	{Name: "drift is seen in a read that began before the write", File: "levers.go", Old: "{ t.r.fence = t.r.nextID }", New: "{}"},
	{Name: "S5 a new write does not replace the old one", File: "back.go", Old: "\tt.drop(&r.share)\n\tt.drop(&r.tls)\n", New: ""},
	{Name: "S6 a run that was handed over is changed", File: "next.go", Old: "t.r.pending = slices.Clone(r.pending)\n\tt.r.Steps", New: "t.r.pending = r.pending\n\tt.r.Steps"},
	{Name: "S8 the idle primary is judged instead of the backup that carries everything", File: "judge.go", Old: "Share: r.InForce, ", New: "Share: max(r.InForce, 1), "},
	{Name: "S10 a run that has ended goes on", File: "next.go", Old: "case r.End != nil:\n\t\treturn r.delivered(rec), nil", New: "case r.End != nil && rec.Seq == 0:\n\t\treturn r, nil"},
	{Name: "S10 a run that goes back turns forward at a resume", File: "hold.go", Old: "if r.Held == nil || !r.Held.Manual || r.Way == Back {\n\t\treturn\n\t}", New: "r.Way = Forward"},
	{Name: "nothing looks at advance_until", File: "hold.go", Old: "if t.r.AdvanceUntil.IsZero() || ", New: "if true || "},
	{Name: "a rise that failed is repeated whatever has happened since", File: "levers.go", Old: "t.raising(l.want) && t.noLonger() != \"\"", New: "false"},
	{Name: "after a resume a rise is simply made again", File: "levers.go", Old: "if l.cmd != 0 && t.raising(l.want) {", New: "if false {"},
	{Name: "an edge that shows a wrong certificate to traffic is waited for", File: "forward.go", Old: "if r.unusable(h) || h.ChainError != \"\" {", New: "if h.Edge == \"no edge\" {", By: "TestLawABrokenEdgeWithTrafficTurnsTheRunRound"},
	{Name: "nobody judges what another hand exposed", File: "judge.go", Old: "t.situation(), t.maybeOnPrimary()", New: "t.situation(), 0", By: "TestDriftHoldWithExposedUsersIsJudged"},
	{Name: "a weight that comes back while the primary is drained is left alone", File: "levers.go", Old: "ok && w.Share() > r.Weights.Share() {", New: "ok && w.Share() > 100 {", By: "TestWeightDriftWhileDrainedOnTheWayBackIsDrainedAgain"},
	{Name: "a common cause that lasts is held for ever", File: "judge.go", Old: "t.age(r.commonSince(v)) >= r.Plan.CommonCauseLimit", New: "t.age(r.commonSince(v)) < 0"},
	{Name: "a common cause is counted anew at each verdict", File: "judge.go", Old: "return c.since", New: "return r.At"},
	{Name: "a hold ends when the worst is over", File: "hold.go", Old: "!h.Why.judged() || t.allPass()", New: "h != nil"},
	{Name: "a past that does not answer stops the night", File: "preflight.go", Old: "(t.r.weekKnown() || t.age(t.r.Begun) > weekPatience)", New: "t.r.weekKnown()"},
	{Name: "a resumed write waits without a limit", File: "hold.go", Old: "text := t.waitingToRise(); text != \"\"", New: "text := t.waitingToRise(); text == \"never\""},
	{Name: "minutes that nobody asked for turn the run round", File: "judge.go", Old: "return !drifted && (r.resumedAt.IsZero() || t.age(r.resumedAt) >= blindWatch)", New: "return drifted || true"},
	{Name: "a rule that cannot fire guards the night", File: "preflight.go", Old: "doubts != \"\" {\n\t\tif passing", New: "doubts == \"never\" {\n\t\tif passing"},
	{Name: "L1 a hold has no limit", File: "hold.go", Old: "if t.age(h.Since) < t.r.Plan.HoldLimit {", New: "if h.Why != HoldDrift || t.age(h.Since) < t.r.Plan.HoldLimit {"},
	{Name: "L1 the pulse stops", File: "next.go", Old: "t.issue(Wake{At: nextMinute(t.at), Do: Tick})\n\tfor _, s", New: "for _, s"},
	{Name: "L2 a breach is not acted on", File: "forward.go", Old: "text != \"\" {\n\t\tt.rollBack(text)", New: "text == \"never\" {\n\t\tt.rollBack(text)"},
}

func TestTheLawsNoticeABrokenNext(t *testing.T) {
	t.Parallel()
	turns := make(chan struct{}, runtime.NumCPU()) // each mutant compiles and computes: more at once only wait for each other
	for _, m := range mutations {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			turns <- struct{}{}
			defer func() { <-turns }()
			mutant.Noticed(t, m, "--- FAIL: Test", "-run", m.By, "-skip", "^TestTheLawsNotice", "-failfast", ".",
				"-args", "-rapid.seed=1", "-rapid.checks=800", "-rapid.nofailfile", "-rapid.shrinktime=1s")
		})
	}
}
