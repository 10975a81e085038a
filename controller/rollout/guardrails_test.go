package rollout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// pages collects what a person is paged for.
func (n *night) pages(texts *[]string) func(rollout.Command) bool {
	return func(c rollout.Command) bool {
		if a, ok := c.Action.(rollout.Notify); ok && a.Urgency == rollout.Page {
			*texts = append(*texts, a.Text)
		}
		return false
	}
}

// sinceStart is an instant in the setup's minutes.
func (n *night) sinceStart() int { return int(n.world.now.Sub(n.world.start) / time.Minute) }

// bothBreach lets half of the requests fail on both CDNs from now on.
func (n *night) bothBreach() {
	n.world.setup.FaultAt, n.world.setup.ErrorRate, n.world.setup.BackupAt = n.sinceStart(), 0.5, n.sinceStart()
}

func TestACommonCauseHoldsAndPages(t *testing.T) {
	n := bakingAt30(t)
	n.bothBreach()
	var paged []string
	if !n.play(func() bool { return n.run.Held != nil && n.run.Held.Why == rollout.HoldCommonCause }, n.pages(&paged)) {
		t.Fatalf("no hold for a common cause: %+v", n.run.End)
	}
	if len(paged) != 1 || !strings.Contains(paged[0], "Both CDNs breach") || n.run.Way != rollout.Forward {
		t.Errorf("way %s, paged %q", n.run.Way, paged)
	}
	n.world.setup.FaultAt, n.world.setup.BackupAt = -1, -1
	n.play(nil, nil)
	if n.run.End == nil || n.run.End.Phase != rollout.Succeeded {
		t.Errorf("the cause is gone, and the run ended as %+v", n.run.End)
	}
}

func TestACommonCauseThatLastsRollsBack(t *testing.T) {
	n := bakingAt30(t)
	n.bothBreach()
	var held time.Time
	n.play(func() bool {
		if held.IsZero() && n.run.Held != nil && n.run.Held.Why == rollout.HoldCommonCause {
			held = n.world.now
		}
		return n.run.Way == rollout.Back
	}, nil)
	took := n.world.now.Sub(held)
	if n.run.Way != rollout.Back || held.IsZero() || took < 20*time.Minute || took > 22*time.Minute {
		t.Errorf("way %s after %s; the limit is 20 minutes: %s", n.run.Way, took, n.run.BackWhy)
	}
}

// A pause by hand does not stop the clock of a common cause.
func TestACommonCauseUnderAPauseRollsBack(t *testing.T) {
	n := bakingAt30(t)
	n.order(rollout.PauseOrdered{Actor: "ann", Reason: "looking"})
	n.bothBreach()
	from := n.world.now
	if !n.play(func() bool { return n.run.Way == rollout.Back }, nil) || n.world.now.Sub(from) > 40*time.Minute {
		t.Errorf("way %s after %s of 50 %% errors: %+v", n.run.Way, n.world.now.Sub(from), n.run.End)
	}
}

func TestACommonCauseThatBecomesThePrimarysRollsBackAtOnce(t *testing.T) {
	n := bakingAt30(t)
	n.bothBreach()
	if !n.play(func() bool { return n.run.Held != nil && n.run.Held.Why == rollout.HoldCommonCause }, nil) {
		t.Fatalf("no hold for a common cause: %+v", n.run.End)
	}
	n.world.setup.BackupAt = -1
	from := n.world.now
	if !n.play(func() bool { return n.run.Way == rollout.Back }, nil) || n.world.now.Sub(from) > 14*time.Minute {
		t.Errorf("way %s after %s", n.run.Way, n.world.now.Sub(from))
	}
}

// loses plays on from baking at 30 % with minutes missing for good, of one leg or of both, until the run turns round.
func loses(t *testing.T, leg guardrails.Leg, change func(*setup)) (n *night, took time.Duration) {
	t.Helper()
	s := healthy(canarySteps)
	if change != nil {
		change(&s)
	}
	n = begin(s)
	if !n.play(func() bool { return n.run.InForce == 30 && n.run.Stage == rollout.StageBaking }, nil) {
		t.Fatalf("30 %% never baked: %+v", n.run.End)
	}
	n.world.setup.GapLeg, n.world.setup.GapFrom = leg, n.sinceStart()
	from := n.world.now
	n.play(func() bool { return n.run.Way == rollout.Back }, nil)
	return n, n.world.now.Sub(from)
}

func TestBlindnessOnThePrimaryAloneRollsBackAfterTenMinutes(t *testing.T) {
	n, took := loses(t, guardrails.Primary, nil)
	if n.run.Way != rollout.Back || took < 10*time.Minute || took > 17*time.Minute || !strings.Contains(n.run.BackWhy, "BLIND") {
		t.Errorf("way %s after %s: %s", n.run.Way, took, n.run.BackWhy)
	}
}

func TestBlindnessOnBothRollsBackAfterFifteen(t *testing.T) {
	n, took := loses(t, 0, nil)
	if n.run.Way != rollout.Back || took < 15*time.Minute || took > 22*time.Minute || !strings.Contains(n.run.BackWhy, "no data about either CDN") {
		t.Errorf("way %s after %s: %s", n.run.Way, took, n.run.BackWhy)
	}
}

func TestAPlanMayHoldWhenItIsBlindOnBoth(t *testing.T) {
	n, took := loses(t, 0, func(s *setup) {
		s.Plan = strings.Replace(s.Plan, "hold_limit: 60m", "hold_limit: 60m\non_blind: hold", 1)
	})
	if n.run.Way != rollout.Back || took < 60*time.Minute || !strings.Contains(n.run.BackWhy, "held for 1h0m0s") {
		t.Errorf("way %s after %s: %s", n.run.Way, took, n.run.BackWhy)
	}
}

// After a long stop nobody asked for the minutes that are missing: they are no sign.
func TestBlindnessIsNotCountedWhereNobodyAsked(t *testing.T) {
	n := bakingAt30(t)
	n.world.now = n.world.now.Add(40 * time.Minute)
	n.world.dropAnswers()
	n.order(rollout.Resumed{Actor: "ann"})
	for _, c := range n.run.Outstanding() {
		n.world.perform(c)
	}
	n.play(nil, nil)
	if n.run.End == nil || n.run.End.Phase != rollout.Succeeded {
		t.Errorf("a stop of 40 minutes ended as %+v", n.run.End)
	}
}

func TestTheBaselineHasTheShapeOfTheWeekThatTheSourceKeeps(t *testing.T) {
	for _, test := range []struct {
		name   string
		noPast bool
		days   int
	}{{"a week", false, 7}, {"nothing", true, 0}} {
		s := healthy(canarySteps)
		s.NoPast = test.noPast
		n := begin(s)
		if !n.play(func() bool { return n.run.Touched }, nil) {
			t.Fatalf("%s: nothing was written: %+v", test.name, n.run.End)
		}
		b, _ := n.run.Baseline.Of("rum", "ios", guardrails.Primary)
		if got := b.Shape.Days; len(got) != test.days {
			t.Errorf("%s of the past: a shape of %d days", test.name, len(got))
		}
		if !n.play(func() bool { return n.run.InForce == 10 }, nil) || len(n.run.Week.Days) != 0 {
			t.Errorf("%s: the week is kept after the baseline was frozen: %d days", test.name, len(n.run.Week.Days))
		}
	}
}

// A run of a day does not ask for a day at once; the shape stays ahead of it, and a piece that fails is asked for again.
func TestTheShapeStaysAheadOfALongRun(t *testing.T) {
	n := begin(healthy("  - shift: {primary: 0%}\n  - tls: change\n  - shift: {primary: 60%, bake: 12m}\n  - observe: {for: 7h}\n"))
	failed, longest := 0, guardrails.Minute(0)
	n.play(func() bool {
		known, ok := n.run.Baseline.ShapeThrough()
		if n.run.Touched && (!ok || known.Start().Before(n.world.now)) {
			t.Fatalf("at %s the shape is known until %s", n.world.now, known.Start())
		}
		return false
	}, func(c rollout.Command) bool {
		a, ok := c.Action.(rollout.FetchMinutes)
		if !ok || a.DaysAgo == 0 {
			return false
		}
		longest = max(longest, a.To-a.From)
		failed++
		if failed < 8 || failed > 14 { // the second piece
			return false
		}
		n.world.push(n.world.now.Add(time.Second), rollout.SourceFailed{ID: c.ID, Source: a.Source, Kind: rollout.Transient, Text: "no answer"}, nil)
		return true
	})
	if n.run.End == nil || n.run.End.Phase != rollout.Succeeded || longest > 5*60 {
		t.Errorf("ended as %+v; the longest question was for %d minutes", n.run.End, longest)
	}
}

// The source keeps the minutes asked for at each tick, so that revisions arrive. Reference semantics, section 2: fifteen.
func TestEachTickAsksForAQuarterOfAnHourAgain(t *testing.T) {
	n := bakingAt30(t)
	asked := 0
	n.play(func() bool { return asked >= 5 }, func(c rollout.Command) bool {
		if a, ok := c.Action.(rollout.FetchMinutes); ok && a.DaysAgo == 0 {
			asked++
			if a.To-a.From+1 < 15 {
				t.Errorf("asked for %d minutes", a.To-a.From+1)
			}
		}
		return false
	})
}

// The source of the week fails: the run does without, and says so; it does not wait for ever.
func TestAFailingPastIsLeftOut(t *testing.T) {
	n := begin(healthy(canarySteps))
	n.play(nil, func(c rollout.Command) bool {
		a, ok := c.Action.(rollout.FetchMinutes)
		if !ok || a.DaysAgo == 0 {
			return false
		}
		n.world.push(n.world.now.Add(time.Second), rollout.SourceFailed{ID: c.ID, Source: a.Source, Kind: rollout.Denied, Text: "retention is 3 days"}, nil)
		return true
	})
	if n.run.End == nil || n.run.End.Phase != rollout.Succeeded {
		t.Errorf("ended as %+v", n.run.End)
	}
}

// The primary is drained on the way back, the settings cannot be restored yet, and the traffic stays.
func TestTrafficThatStaysOnADrainedPrimaryPages(t *testing.T) {
	n := bakingAt30(t)
	n.world.stuck = n.world.now.Add(5 * time.Hour)
	n.world.push(n.world.now, rollout.AbortOrdered{Actor: "ann"}, nil)
	var drained, told time.Time
	n.play(func() bool {
		if drained.IsZero() && n.run.Way == rollout.Back && n.run.InForce == 0 {
			drained = n.world.now
		}
		return !drained.IsZero() && n.world.now.Sub(drained) > 40*time.Minute
	}, func(c rollout.Command) bool {
		switch a := c.Action.(type) {
		case rollout.SetTLS:
			n.answer(c, rollout.Throttled)
			return true
		case rollout.Notify:
			if strings.Contains(a.Text, "still carries 30.0 %") && a.Urgency == rollout.Page {
				told = n.world.now
			}
		default:
		}
		return false
	})
	if took := told.Sub(drained); told.IsZero() || took < 15*time.Minute || took > 17*time.Minute {
		t.Errorf("30 %% of the traffic stayed, and a person was paged after %s", took)
	}
}

// An edge that misses one round of handshakes is asked again; one that misses three is a reason not to begin.
func TestPreflightAsksSilentEdgesAgain(t *testing.T) {
	for missed, want := range map[int]rollout.Phase{1: rollout.Succeeded, 2: rollout.Succeeded, 3: rollout.Halted} {
		n := begin(healthy(canarySteps))
		asked := 0
		n.play(nil, func(c rollout.Command) bool {
			a, ok := c.Action.(rollout.Handshake)
			if !ok || a.Leg != guardrails.Primary {
				return false
			}
			asked++
			if asked > missed {
				return false
			}
			silent := plans.Handshake{Edge: "192.0.2.1:443", Leg: a.Leg, Error: "no answer in 5s"}
			n.world.push(n.world.now.Add(time.Second), rollout.CommandSucceeded{ID: c.ID, Result: rollout.HandshakesDone{Handshakes: []plans.Handshake{silent}}}, nil)
			return true
		})
		if n.run.End == nil || n.run.End.Phase != want {
			t.Errorf("%d rounds missed: want %s, got %+v", missed, want, n.run.End)
		}
		if want == rollout.Halted && !strings.Contains(n.run.End.Why, "192.0.2.1:443: handshake failed: no answer") {
			t.Errorf("%s", n.run.End.Why)
		}
	}
}

func TestPreflightRefusesARuleThatCannotFire(t *testing.T) {
	s := healthy(canarySteps)
	s.Requests = 12 // 7 on the primary: ten minutes joined are 72, and 200 are needed to FIRE
	n := begin(s)
	n.play(nil, nil)
	if n.run.End == nil || n.run.End.Phase != rollout.Halted || n.run.Touched || !strings.Contains(n.run.End.Why, "guardrail error-rate on ios: ") {
		t.Errorf("ended as %+v", n.run.End)
	}
}
