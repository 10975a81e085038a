package rollout_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// mutations break Next on purpose, one law each. The laws must notice every one of them: a law that cannot fail proves nothing.
var mutations = []struct {
	name, file, old, new string
}{
	{"S1 a step asks for more than its share", "forward.go", "plans.WeightsFor(s.Primary, ", "plans.WeightsFor(s.Primary+7, "},
	{"S2 exposure rises although a rule is not CLEAR", "hold.go", "if !v.Passes() {\n\t\t\treturn \"not", "if false {\n\t\t\treturn \"not"},
	{"S2 the share is not verified before the next step", "forward.go", "if r.ShareOK.IsZero() {\n\t\t\treturn false", "if false {\n\t\t\treturn false"},
	{"S2 a verification counts for the next share too", "levers.go", "r.ShareAt, r.ShareOK = zeroTime, zeroTime", "r.ShareAt = zeroTime"},
	{"S2 the change meets traffic that was not judged", "hold.go", "return tls != nil && !tls.Restore && ", "return tls != nil && !tls.Restore && false && "},
	{"S3 the way back rises before the edges prove the restored settings", "back.go", "case r.proved() && t.spread():", "case true:"},
	{"S3 the way back sets the change again", "forward.go", "t.setTLS(r.Restore, r.Change)", "t.setTLS(r.Change, r.Change)"},
	{"S4 the end does not look at what is configured", "answers.go", "drifted := t.driftIn(s)\n", "drifted := \"\"\n"},
	{"S4 a write of the way forward that lands late is left alone", "answers.go", "t.insist(s)\n", "\n"},
	{"drift is seen in a read that began before the write", "levers.go", "{ t.r.fence = t.r.nextID }", "{}"},
	{"S5 a new write does not replace the old one", "back.go", "\tt.drop(&r.share)\n\tt.drop(&r.tls)\n", ""},
	{"S6 a run that was handed over is changed", "next.go", "t.r.pending = slices.Clone(r.pending)\n\tt.r.Steps", "t.r.pending = r.pending\n\tt.r.Steps"},
	{"S8 the idle primary is judged instead of the backup that carries everything", "judge.go", "Share: r.InForce, ", "Share: max(r.InForce, 1), "},
	{"S10 a run that has ended goes on", "next.go", "case r.End != nil:\n\t\treturn r.delivered(rec), nil", "case r.End != nil && rec.Seq == 0:\n\t\treturn r, nil"},
	{"S10 a run that goes back turns forward at a resume", "hold.go", "if r.Held == nil || !r.Held.Manual || r.Way == Back {\n\t\treturn\n\t}", "r.Way = Forward"},
	{"nothing looks at advance_until", "hold.go", "if t.r.AdvanceUntil.IsZero() || ", "if true || "},
	{"a rise that failed is repeated whatever has happened since", "levers.go", "t.raising(l.want) && t.noLonger() != \"\"", "false"},
	{"after a resume a rise is simply made again", "levers.go", "if l.cmd != 0 && t.raising(l.want) {", "if false {"},
	{"an edge that shows a wrong certificate to traffic is waited for", "forward.go", "if r.unusable(h) || h.ChainError != \"\" {", "if h.Edge == \"no edge\" {"},
	{"nobody judges what another hand exposed", "judge.go", "t.situation(), t.maybeOnPrimary()", "t.situation(), 0"},
	{"a weight that comes back while the primary is drained is left alone", "levers.go", "ok && w.Share() > r.Weights.Share() {", "ok && w.Share() > 100 {"},
	{"a common cause that lasts is held for ever", "judge.go", "t.age(r.commonSince(v)) >= r.Plan.CommonCauseLimit", "t.age(r.commonSince(v)) < 0"},
	{"a common cause is counted anew at each verdict", "judge.go", "return c.since", "return r.At"},
	{"a hold ends when the worst is over", "hold.go", "!h.Why.judged() || t.allPass()", "h != nil"},
	{"a past that does not answer stops the night", "preflight.go", "(t.r.weekKnown() || t.age(t.r.Begun) > weekPatience)", "t.r.weekKnown()"},
	{"a resumed write waits without a limit", "hold.go", "text := t.waitingToRise(); text != \"\"", "text := t.waitingToRise(); text == \"never\""},
	{"minutes that nobody asked for turn the run round", "judge.go", "return !drifted && (r.resumedAt.IsZero() || t.age(r.resumedAt) >= blindWatch)", "return drifted || true"},
	{"a rule that cannot fire guards the night", "preflight.go", "doubts != \"\" {\n\t\tif passing", "doubts == \"never\" {\n\t\tif passing"},
	{"L1 a hold has no limit", "hold.go", "if t.age(h.Since) < t.r.Plan.HoldLimit {", "if h.Why != HoldDrift || t.age(h.Since) < t.r.Plan.HoldLimit {"},
	{"L1 the pulse stops", "next.go", "t.issue(Wake{At: nextMinute(t.at), Do: Tick})\n\tfor _, s", "for _, s"},
	{"L2 a breach is not acted on", "forward.go", "text != \"\" {\n\t\tt.rollBack(text)", "text == \"never\" {\n\t\tt.rollBack(text)"},
}

func TestTheLawsNoticeABrokenNext(t *testing.T) {
	t.Parallel()
	turns := make(chan struct{}, runtime.NumCPU()) // each mutant compiles and computes: more at once only wait for each other
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			turns <- struct{}{}
			defer func() { <-turns }()
			source, err := os.ReadFile(m.file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), m.old); n != 1 {
				t.Fatalf("%s holds the text of this mutation %d times; name the place anew", m.file, n)
			}
			out, err := runMutant(t, m.file, strings.Replace(string(source), m.old, m.new, 1))
			switch {
			case err == nil:
				t.Error("no law noticed")
			case !strings.Contains(out, "--- FAIL: Test"):
				t.Errorf("the mutant did not get as far as the laws:\n%s", out)
			}
		})
	}
}

// runMutant runs laws and scenarios with one file replaced.
func runMutant(t *testing.T, file, text string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	mutant := filepath.Join(dir, file)
	if err := os.WriteFile(mutant, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	original, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-overlay", list, "-skip", "^TestTheLawsNotice", "-failfast", ".",
		"-args", "-rapid.checks=800", "-rapid.nofailfile", "-rapid.shrinktime=1s")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
