package sim_test

import (
	"strings"
	"testing"

	"github.com/tlsroll/tlsroll/controller/rollout/mutant"
)

// mutations break a law on purpose, in rollout or in engine. A thousand random nights must notice every one of them.
var mutations = []mutant.Mutation{
	{Name: "a step asks for more than its share", File: "../rollout/forward.go", Old: "plans.WeightsFor(s.Primary, ", New: "plans.WeightsFor(s.Primary*3/2, "},
	{Name: "exposure rises without a verified share", File: "../rollout/forward.go", Old: "r.ShareOK.IsZero() && r.Share.Verified && !r.AnswersAt.Before(r.ShareAt) && t.answersTrouble(r.Weights.Share()) == \"\"", New: "r.ShareOK.IsZero()"},
	{Name: "the way back forgets a lever", File: "../rollout/forward.go", Old: "for _, sub := range s.Steps {\n\t\t\tt.enter(sub)", New: "for _, sub := range s.Steps[:1] {\n\t\t\tt.enter(sub)"},
	{Name: "a new write does not replace the old one", File: "../rollout/back.go", Old: "\tt.drop(&r.share)\n\tt.drop(&r.tls)\n", New: ""},
	{Name: "the way back rises without a proof", File: "../rollout/back.go", Old: "case r.proved() && t.spread():", New: "case true:"},
	{Name: "a read from a server that is behind is drift", File: "../rollout/answers.go", Old: "drifted != \"\" && t.mayBeBehind()", New: "false"},
	{Name: "after a resume a rise is simply made again", File: "../rollout/levers.go", Old: "if l.cmd != 0 && t.raising(l.want) {", New: "if false {"},
	{Name: "the pulse stops", File: "../rollout/next.go", Old: "t.issue(Wake{At: nextMinute(t.at), Do: Tick})\n\tfor _, s", New: "for _, s"},
	{Name: "nothing looks at advance_until", File: "../rollout/hold.go", Old: "if t.r.AdvanceUntil.IsZero() || ", New: "if true || "},
	{Name: "a write without an answer is repeated blindly", File: "../engine/levers.go", Old: "writeErr := dns.Write(ctx, write)\n", New: "writeErr := dns.Write(ctx, write)\n\tif writeErr != nil {\n\t\twriteErr = dns.Write(ctx, write)\n\t}\n"},
	{Name: "a frozen controller writes without a check", File: "../engine/levers.go", Old: "return x.Ports.MayWrite(ctx)", New: "return nil"},
	{Name: "a write is decided on a read that is older than the last one", File: "../engine/levers.go", Old: "x.readSince(ctx, dns, names, left)", New: "x.readSince(ctx, dns, names, nil)"},
	{Name: "the shares of a shift are written in the other order", File: "../engine/levers.go", Old: "plans.WritesBetween(w, a.Want)[0]", New: "last(plans.WritesBetween(w, a.Want))", Tail: "\nfunc last(ws []plans.DNSWrite) plans.DNSWrite { return ws[len(ws)-1] }\n"},
}

func TestRandomNightsNoticeABrokenLaw(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.Name, func(t *testing.T) {
			out := mutant.Noticed(t, m, "--- FAIL: TestRandomNightsKeepTheLaws", "-run", "^TestRandomNightsKeepTheLaws$", ".", "-args", "-nights", "1000")
			t.Log(firstLine(out))
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
