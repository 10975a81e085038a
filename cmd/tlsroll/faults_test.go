package main

import (
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// Each fault through the real SDKs, over loopback, to its end.
func TestFaultsOfTheLab(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault    world.Fault
		code     int
		restored bool
		maxShare plans.Percent // the highest share that may be asked for after the change was tried
	}{
		{world.None, exitOK, false, 60},
		{world.Errors10, exitRolledBack, true, 60},
		{world.Latency25, exitRolledBack, true, 60},
		{world.Throttle, exitOK, false, 60},
		{world.DNSStuck, exitOK, false, 60},
		{world.TLSStuck, exitRolledBack, true, 0},
		{world.EdgeWrongCert, exitRolledBack, true, 0},
	}
	for _, test := range tests {
		t.Run(test.fault.String(), func(t *testing.T) {
			t.Parallel()
			b := makeBed(t, "tls13-canary.yaml", test.fault)
			before := b.state()
			r := b.run(t, promoter(false))
			if code := exitCode(ended(r)); code != test.code {
				t.Fatalf("exit %d, want %d: %+v\n%s", code, test.code, *r.End, b.out)
			}
			if after := b.state(); (after == before) != test.restored {
				t.Errorf("restored should be %v:\nbefore %s\nafter  %s", test.restored, before, after)
			}
			checkSteps(t, r, test.maxShare)
		})
	}
}

func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	e, ok := err.(*exitError) //nolint:errorlint // ended returns exactly this
	if !ok {
		return exitUnexpected
	}
	return e.code
}

// checkSteps looks at the evidence that a run keeps of each step.
func checkSteps(t *testing.T, r rollout.Run, maxShare plans.Percent) {
	t.Helper()
	tried := false
	for _, p := range r.Steps {
		if p.Way == rollout.Forward && tried && p.Asked > maxShare {
			t.Errorf("step %s: exposure was raised to %s", p.Name, p.Asked)
		}
		tried = tried || p.Name == "change TLS"
		if p.Verified.IsZero() && p.Way == rollout.Back && p.Index > 0 {
			t.Errorf("%s step %s was not proved", p.Way, p.Name)
		}
		if !p.Verified.IsZero() && !p.Applied.IsZero() && len(p.Name) > 5 && p.Name[:5] == "shift" {
			checkWeights(t, p)
		}
	}
	if r.Way == rollout.Back && r.Steps[len(r.Steps)-1].Way != rollout.Back {
		t.Error("the run went back without a step back")
	}
}

// checkWeights wants the four weights of a verified step to agree.
func checkWeights(t *testing.T, p rollout.Progress) {
	t.Helper()
	if p.AnsweredN == 0 || !p.Carried.Known {
		t.Errorf("step %s: four weights are not known: %+v", p.Name, p)
		return
	}
	diff := float64(p.Carried.Carried - p.Asked)
	if diff < 0 {
		diff = -diff
	}
	// A bake is long: what is kept is the last look at the share, which may have wandered up to twice its tolerance.
	if p.Stored.Share() != p.Asked || diff > 2*float64(p.Carried.Tolerance) {
		t.Errorf("step %s: asked %s, stored %s, carried %s ±%s", p.Name, p.Asked, p.Stored.Share(), p.Carried.Carried, p.Carried.Tolerance)
	}
	if p.Verified.Sub(p.Applied) < time.Minute {
		t.Errorf("step %s was verified %s after its write: before the TTL had passed", p.Name, p.Verified.Sub(p.Applied))
	}
}
