package sim_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutations break a law on purpose, in rollout or in engine. A thousand random nights must notice every one of them.
var mutations = []struct {
	name, file, old, new string
}{
	{"a step asks for more than its share", "../rollout/forward.go", "plans.WeightsFor(s.Primary, ", "plans.WeightsFor(s.Primary*3/2, "},
	{"exposure rises without a verified share", "../rollout/forward.go", "r.ShareOK.IsZero() && r.Share.Verified && !r.AnswersAt.Before(r.ShareAt) && t.answersTrouble(r.Weights.Share()) == \"\"", "r.ShareOK.IsZero()"},
	{"the way back forgets a lever", "../rollout/forward.go", "for _, sub := range s.Steps {\n\t\t\tt.enter(sub)", "for _, sub := range s.Steps[:1] {\n\t\t\tt.enter(sub)"},
	{"a new write does not replace the old one", "../rollout/back.go", "\tt.drop(&r.share)\n\tt.drop(&r.tls)\n", ""},
	{"the way back rises without a proof", "../rollout/back.go", "case r.proved() && t.spread():", "case true:"},
	{"a read from a server that is behind is drift", "../rollout/answers.go", "drifted != \"\" && t.mayBeBehind()", "false"},
	{"after a resume a rise is simply made again", "../rollout/levers.go", "if l.cmd != 0 && t.raising(l.want) {", "if false {"},
	{"the pulse stops", "../rollout/next.go", "t.issue(Wake{At: nextMinute(t.at), Do: Tick})\n\tfor _, s", "for _, s"},
	{"nothing looks at advance_until", "../rollout/hold.go", "if t.r.AdvanceUntil.IsZero() || ", "if true || "},
	{"a write without an answer is repeated blindly", "../engine/levers.go", "writeErr := dns.Write(ctx, write)\n", "writeErr := dns.Write(ctx, write)\n\tif writeErr != nil {\n\t\twriteErr = dns.Write(ctx, write)\n\t}\n"},
	{"a frozen controller writes without a check", "../engine/levers.go", "return x.Ports.MayWrite(ctx)", "return nil"},
	{"a write is decided on a read that is older than the last one", "../engine/levers.go", "x.readSince(ctx, dns, names, left)", "x.readSince(ctx, dns, names, nil)"},
	{"the shares of a shift are written in the other order", "../engine/levers.go", "plans.WritesBetween(w, a.Want)[0]", "last(plans.WritesBetween(w, a.Want))"},
}

// tail is what a mutant may need to compile.
const tail = "\nfunc last(ws []plans.DNSWrite) plans.DNSWrite { return ws[len(ws)-1] }\n"

func TestRandomNightsNoticeABrokenLaw(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			source, err := os.ReadFile(m.file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), m.old); n != 1 {
				t.Fatalf("%s holds the text of this mutation %d times; name the place anew", m.file, n)
			}
			text := strings.Replace(string(source), m.old, m.new, 1)
			if strings.Contains(m.new, "last(") {
				text += tail
			}
			out, err := playMutant(t, m.file, text)
			switch {
			case err == nil:
				t.Error("no law noticed in 1,000 nights")
			case !strings.Contains(out, "--- FAIL: TestRandomNightsKeepTheLaws"):
				t.Errorf("the mutant did not get as far as the nights:\n%s", out)
			default:
				t.Log(firstLine(out))
			}
		})
	}
}

func firstLine(out string) string {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "_test.go") {
			return strings.TrimSpace(line)
		}
	}
	return out
}

// playMutant plays a thousand nights with one file replaced.
func playMutant(t *testing.T, file, text string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	mutant := filepath.Join(dir, filepath.Base(file))
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
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-overlay", list, "-run", "^TestRandomNightsKeepTheLaws$", ".", "-args", "-nights", "1000")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
