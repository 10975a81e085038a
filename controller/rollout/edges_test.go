package rollout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

func holdsForACommonCause(t *testing.T) *night {
	n := bakingAt30(t)
	n.bothBreach()
	if !n.play(func() bool { return n.run.Held != nil && n.run.Held.Why == rollout.HoldCommonCause }, nil) {
		t.Fatalf("no hold for a common cause: %+v", n.run.End)
	}
	return n
}

// Four lost minutes restart the clock of a common cause.
func TestGapResetsCommonClock(t *testing.T) {
	n := holdsForACommonCause(t)
	from := n.world.now
	n.world.setup.GapLeg, n.world.setup.GapFrom, n.world.setup.GapTo = 0, n.sinceStart()+10, n.sinceStart()+14
	n.play(func() bool { return n.run.Way == rollout.Back }, nil)
	if took := n.world.now.Sub(from); took > 24*time.Minute {
		t.Errorf("way %s after %s: %s", n.run.Way, took, n.run.BackWhy)
	}
}

// Gaps of four minutes in every twenty.
func TestGapsResetCommonClockUntilTheHoldLimit(t *testing.T) {
	n := holdsForACommonCause(t)
	from := n.world.now
	n.world.setup.GapTo = 0
	n.play(func() bool {
		if n.sinceStart() >= n.world.setup.GapTo+2 {
			n.world.setup.GapLeg, n.world.setup.GapFrom, n.world.setup.GapTo = 0, n.sinceStart()+12, n.sinceStart()+16
		}
		return n.run.Way == rollout.Back
	}, nil)
	if took := n.world.now.Sub(from); took > 24*time.Minute {
		t.Errorf("way %s after %s: %s", n.run.Way, took, n.run.BackWhy)
	}
}

// A crash of six minutes restarts it.
func TestCrashResetsCommonClock(t *testing.T) {
	n := holdsForACommonCause(t)
	from := n.world.now
	n.play(func() bool { return n.world.now.Sub(from) > 15*time.Minute }, nil)
	n.world.now = n.world.now.Add(6 * time.Minute)
	n.world.dropAnswers()
	n.order(rollout.Resumed{Actor: "ann"})
	for _, c := range n.run.Outstanding() {
		n.world.perform(c)
	}
	n.play(func() bool { return n.run.Way == rollout.Back }, nil)
	if took := n.world.now.Sub(from); took > 24*time.Minute {
		t.Errorf("way %s after %s: %s", n.run.Way, took, n.run.BackWhy)
	}
}

// The DNS takes a quarter of an hour to show the first rise from zero.
func TestUnmovedTrafficIsNotBlindness(t *testing.T) {
	n := begin(healthy(canarySteps))
	if !n.play(func() bool { return n.run.InForce == 0 && n.run.Exposed && n.run.Stage == rollout.StageProveTLS }, nil) {
		t.Fatal("never drained")
	}
	n.world.stuck = n.world.now.Add(18 * time.Minute)
	n.play(nil, nil)
	if n.run.End == nil || n.run.End.Phase != rollout.Succeeded {
		t.Errorf("traffic that came late: %+v", n.run.End)
	}
}

// A page about the backup that is not so.
func TestFalsePageAboutTheBackup(t *testing.T) {
	n := bakingAt30(t)
	n.world.setup.GapLeg, n.world.setup.GapFrom, n.world.setup.GapTo = guardrails.Primary, n.sinceStart(), n.sinceStart()+24
	n.world.now = n.world.now.Add(14 * time.Minute)
	n.world.dropAnswers()
	var paged []string
	n.order(rollout.Resumed{Actor: "ann"})
	for _, c := range n.run.Outstanding() {
		n.world.perform(c)
	}
	n.play(func() bool { return n.run.Way == rollout.Back }, n.pages(&paged))
	for _, p := range paged {
		if strings.Contains(p, "The backup, which carries the traffic, breaches") {
			t.Errorf("%s", p)
		}
	}
}

// Rules with a long window never start.
func TestLongRuleStarts(t *testing.T) {
	for _, with := range [][2]string{{"above: 5%, for: 10m, within: 12m", "above: 5%, for: 90m, within: 100m"}, {"ttl: 60s", "ttl: 4200s"}} {
		s := healthy(canarySteps)
		s.Plan = strings.Replace(s.Plan, with[0], with[1], 1)
		n := begin(s)
		n.play(func() bool { return n.run.Touched }, nil)
		if !n.run.Touched {
			t.Errorf("%s: %+v", with[1], n.run.End)
		}
	}
}

// A past that is never answered.
func TestSilentPastDoesNotStopTheNight(t *testing.T) {
	n := begin(healthy(canarySteps))
	n.play(nil, func(c rollout.Command) bool { a, ok := c.Action.(rollout.FetchMinutes); return ok && a.DaysAgo > 0 })
	if n.run.End == nil || n.run.End.Phase != rollout.Succeeded {
		t.Errorf("%+v", n.run.End)
	}
}

// One throttled answer for each day.
func TestOneTransientFailureKeepsTheShape(t *testing.T) {
	n := begin(healthy(canarySteps))
	seen := map[int]bool{}
	n.play(func() bool { return n.run.Touched }, func(c rollout.Command) bool {
		a, ok := c.Action.(rollout.FetchMinutes)
		if !ok || a.DaysAgo == 0 || seen[a.DaysAgo] {
			return false
		}
		seen[a.DaysAgo] = true
		n.world.push(n.world.now.Add(time.Second), rollout.SourceFailed{ID: c.ID, Source: a.Source, Kind: rollout.Throttled, Text: "429"}, nil)
		return true
	})
	b, _ := n.run.Baseline.Of("rum", "ios", guardrails.Primary)
	if len(b.Shape.Days) == 0 {
		t.Errorf("one 429 for each day leaves the whole night without a shape")
	}
}

// The week after a breach before the second write, and at the end.
func TestWeekIsDropped(t *testing.T) {
	n := begin(healthy(canarySteps))
	n.play(func() bool { return n.run.Touched }, nil)
	if len(n.run.Week.Days) != 0 {
		t.Errorf("touched, and %d days are kept", len(n.run.Week.Days))
	}
	n.order(rollout.AbortOrdered{Actor: "ann"})
	n.play(nil, nil)
	if len(n.run.Week.Days) != 0 {
		t.Errorf("%s, and %d days are kept", n.run.End.Phase, len(n.run.Week.Days))
	}
}

// A common cause under a pause pages nobody.
func TestCommonCauseUnderAPausePages(t *testing.T) {
	n := bakingAt30(t)
	n.order(rollout.PauseOrdered{Actor: "ann", Reason: "looking"})
	n.bothBreach()
	var paged []string
	n.play(func() bool { return n.run.Way == rollout.Back }, n.pages(&paged))
	if len(paged) == 0 || !strings.Contains(paged[0], "Both CDNs breach") {
		t.Errorf("paged %q before %s", paged, n.run.BackWhy)
	}
}

// A weak breach that is FIRE ten minutes of fourteen, for hours, and never CLEAR.
func TestAWeakBreachThatFlickersReachesTheHoldLimit(t *testing.T) {
	s := healthy("  - shift: {primary: 0%}\n  - tls: change\n  - shift: {primary: 30%, bake: 12m}\n  - observe: {for: 300m}\n")
	s.Requests, s.NoPast = 250, true
	n := begin(s)
	var from time.Time
	var first guardrails.Minute
	fired := 0
	n.play(func() bool {
		if from.IsZero() && n.run.InForce == 30 && n.run.Stage == rollout.StageBaking {
			from = n.world.now
			first = guardrails.MinuteOf(from)
		}
		for _, v := range n.run.Verdicts {
			if v.State == guardrails.Fire && !from.IsZero() {
				fired++
			}
			if v.State == guardrails.Clear && !from.IsZero() && v.Signal == guardrails.TotalTime && n.world.now.Sub(from) > 20*time.Minute {
				t.Fatal("CLEAR")
			}
		}
		return n.run.Way == rollout.Back
	}, func(c rollout.Command) bool {
		a, ok := c.Action.(rollout.FetchMinutes)
		if !ok || a.DaysAgo > 0 || from.IsZero() {
			return false
		}
		n.world.push(n.world.now.Add(time.Second), nil, func() {
			e := n.world.minutes(c.ID, a).(rollout.MinutesArrived)
			for i := range e.Batch.Rows {
				if r := &e.Batch.Rows[i]; r.Leg == guardrails.Primary && r.Minute >= first && (r.Minute-first)%14 < 10 {
					r.Counts.TotalMS *= 1.35
				}
			}
			n.world.push(n.world.now, e, nil)
		})
		return true
	})
	t.Logf("%s after %s: %s; FIRE in %d records", n.run.Phase(), n.world.now.Sub(from), n.run.BackWhy, fired)
	if took := n.world.now.Sub(from); took > 90*time.Minute {
		t.Errorf("way %s after %s", n.run.Way, took)
	}
}

// The on-call resumes after a stop; nobody asked, and yet the page says there is no data.
func TestFalsePageAboutBlindness(t *testing.T) {
	n := bakingAt30(t)
	n.world.now = n.world.now.Add(40 * time.Minute)
	n.world.dropAnswers()
	var paged []string
	for _, c := range n.feed(rollout.Resumed{Actor: "ann"}) {
		n.pages(&paged)(c)
	}
	if len(paged) > 0 {
		t.Errorf("%q", paged)
	}
}

// A process is killed while it turns the change on under traffic, and comes back when the hour is over: the write waits, and not for ever.
func TestAResumedWriteThatMayNotBeMadeReachesTheHoldLimit(t *testing.T) {
	n := begin(withSchedule(healthy(twoRises), "  timezone: UTC\n  advance_until: \"19:30\""))
	asked := false
	n.play(func() bool { return asked }, func(c rollout.Command) bool {
		_, ok := n.rise(c, 60)
		asked = asked || ok
		return ok
	})
	n.world.now = time.Date(2026, 3, 2, 19, 31, 0, 0, time.UTC)
	n.world.dropAnswers()
	n.order(rollout.Resumed{Actor: "ann"})
	for _, c := range n.run.Outstanding() {
		n.world.perform(c)
	}
	n.play(nil, nil)
	if n.run.End == nil || n.run.End.Phase != rollout.RolledBack || n.run.At.Sub(n.run.Started) > 5*time.Hour {
		t.Errorf("ended as %+v at %s", n.run.End, n.run.At)
	}
}

// No round of handshakes is whole, and together they are.
func TestPreflightPutsRoundsOfHandshakesTogether(t *testing.T) {
	n := begin(healthy(canarySteps))
	lost := []plans.TLSVersion{plans.TLS13, plans.TLS13, plans.TLS12}
	n.play(nil, func(c rollout.Command) bool {
		a, ok := c.Action.(rollout.Handshake)
		if !ok || a.Leg != guardrails.Primary || len(lost) == 0 {
			return false
		}
		all := plans.TLSSetOf(plans.TLS10, plans.TLS11, plans.TLS12, plans.TLS13)
		h := plans.Handshake{
			Edge: "192.0.2.1:443", Leg: a.Leg, Version: plans.TLS12, Accepted: plans.TLSSetOf(plans.TLS12).Without(lost[0]), Probed: all.Without(lost[0]),
			Error: "no answer in 5s",
		}
		lost = lost[1:]
		n.world.push(n.world.now.Add(time.Second), rollout.CommandSucceeded{ID: c.ID, Result: rollout.HandshakesDone{Handshakes: []plans.Handshake{h}}}, nil)
		return true
	})
	if n.run.End == nil || n.run.End.Phase != rollout.Succeeded || n.run.Accepted != plans.TLSSetOf(plans.TLS12) {
		t.Errorf("accepted %s, ended as %+v", n.run.Accepted, n.run.End)
	}
}
