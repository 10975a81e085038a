package rollout_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
)

const twoRises = "  - shift: {primary: 0%}\n  - tls: change\n  - shift: {primary: 10%, bake: 12m}\n  - shift: {primary: 60%, bake: 12m}\n"

func withSchedule(s setup, yaml string) setup {
	s.Plan = strings.Replace(s.Plan, "change: {tls13: on}", "schedule:\n"+yaml+"\nchange: {tls13: on}", 1)
	return s
}

// order hands the run what a person says, and does what is due.
func (n *night) order(e rollout.Event) {
	for _, c := range n.feed(e) {
		n.world.perform(c)
	}
}

// play goes on until stop holds after a record, and reports whether it did; without stop, to the end. A command for which take returns
// true is taken out of the world's hands.
func (n *night) play(stop func() bool, take func(rollout.Command) bool) bool {
	for len(n.records) < horizon && n.run.End == nil {
		at, e, ok := n.world.next()
		if !ok {
			return false
		}
		n.world.now = at
		for _, c := range n.feed(e) {
			if take == nil || !take(c) {
				n.world.perform(c)
			}
		}
		if stop != nil && stop() {
			return true
		}
	}
	return false
}

// answer lets a command fail in a second.
func (n *night) answer(c rollout.Command, kind rollout.FailureKind) {
	n.world.push(n.world.now.Add(time.Second), rollout.CommandFailed{ID: c.ID, Kind: kind, Text: "as the scenario says"}, nil)
}

// bakingAt plays a healthy canary until 30 % of the traffic is on the primary.
func bakingAt30(t *testing.T) *night {
	t.Helper()
	n := begin(healthy(canarySteps))
	if !n.play(func() bool { return n.run.InForce == 30 && n.run.Stage == rollout.StageBaking }, nil) {
		t.Fatalf("30 %% never baked: %+v %+v", n.run.End, n.run.Held)
	}
	return n
}

// rise returns the weights of a command that puts a share on the primary on the way forward.
func (n *night) rise(c rollout.Command, share plans.Percent) (plans.Weights, bool) {
	a, ok := c.Action.(rollout.SetShare)
	return a.Want, ok && a.Want.Share() == share && n.run.Way == rollout.Forward
}

func TestScheduledStartIsNeverLate(t *testing.T) {
	s := withSchedule(healthy(canarySteps), "  at: 2026-03-02T19:00:00\n  timezone: UTC\n  start_deadline: 15m\n  advance_until: \"21:00\"")
	at := time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC)
	st := start(s)
	st.Begin = time.Date(2026, 3, 2, 19, 0, 0, 0, time.UTC)

	r, due := rollout.Next(rollout.Run{}, rollout.Record{Seq: 1, At: at, Event: st})
	// the process was down until 09:00 the next day
	r, _ = rollout.Next(r, rollout.Record{Seq: 2, At: at.Add(15 * time.Hour), Event: rollout.TimerFired{ID: due[0].ID}})
	if r.Phase() != rollout.Missed {
		t.Errorf("14 h late: phase %s, advance until %s", r.Phase(), r.AdvanceUntil)
	}
}

func TestApprovalDoesNotEndAPause(t *testing.T) {
	n := begin(healthy("  - shift: {primary: 0%}\n  - tls: change\n  - shift: {primary: 10%, bake: 12m}\n  - approve: {by: boss, ttl: 60m, on_timeout: hold}\n  - shift: {primary: 60%, bake: 12m}\n"))
	if !n.play(func() bool { return n.run.Stage == rollout.StageApproving }, nil) {
		t.Fatalf("no approval: %+v %+v", n.run.End, n.run.Held)
	}
	n.feed(rollout.PauseOrdered{Actor: "ann", Reason: "customers complain"})
	n.order(rollout.Approved{Actor: "bob"})
	if n.run.Held == nil {
		t.Errorf("ann's pause is gone after bob's approval; stage %d", n.run.Stage)
	}
	n.play(nil, func(c rollout.Command) bool {
		if w, ok := n.rise(c, 60); ok {
			t.Errorf("share rises to %s while ann's pause was never resumed", w)
		}
		return false
	})
}

// The rise to 60 % is asked for in time, and throttled from then on until the limit has passed.
func TestNoStepUpAfterAdvanceUntil(t *testing.T) {
	n := begin(withSchedule(healthy(twoRises), "  timezone: UTC\n  advance_until: \"19:30\""))
	limit := time.Date(2026, 3, 2, 19, 30, 0, 0, time.UTC)
	asked := 0
	n.play(nil, func(c rollout.Command) bool {
		w, ok := n.rise(c, 60)
		if !ok {
			return false
		}
		asked++
		if n.world.now.After(limit) {
			t.Errorf("share is raised to %s at %s, after advance_until %s", w, n.world.now, n.run.AdvanceUntil)
		}
		n.answer(c, rollout.Throttled)
		return true
	})
	if asked < 2 {
		t.Errorf("the rise to 60 %% was asked for %d times: it was never repeated, so nothing was tried after the limit", asked)
	}
}

// A late write of the way forward, or another hand, turns the change on again when the way back is already rising.
func TestDriftOnTheWayBackStopsTheRise(t *testing.T) {
	n := bakingAt30(t)
	n.order(rollout.AbortOrdered{Actor: "ann"})
	if !n.play(func() bool { return n.run.Restored && n.run.InForce == 10 }, nil) {
		t.Fatal("never restored")
	}
	n.world.setTLS(n.run.Change)
	n.play(nil, func(c rollout.Command) bool {
		if a, ok := c.Action.(rollout.SetShare); ok && a.Want.Primary >= 30 {
			t.Errorf("share rises to %s at %s while TLS 1.3 is on again", a.Want, n.run.At)
		}
		return false
	})
	if n.run.End == nil || n.run.End.Phase != rollout.RolledBackUnverified {
		t.Errorf("ended as %+v, want a page for a person", n.run.End)
	}
}

// A late write of the way forward brings traffic back to a drained primary whose edges are slow to restore.
func TestWeightDriftWhileDrainedOnTheWayBackIsDrainedAgain(t *testing.T) {
	n := bakingAt30(t)
	n.order(rollout.AbortOrdered{Actor: "ann"})
	if !n.play(func() bool { return n.run.Stage == rollout.StageProveTLS }, nil) {
		t.Fatalf("never drained: %+v", n.run.End)
	}
	n.world.setWeights(plans.Weights{Primary: 30, Backup: 70, PrimaryOn: true, BackupOn: true})
	n.world.edgesAt, n.world.edgesTo = n.world.now.Add(30*time.Minute), plans.TLSSetOf(plans.TLS12)
	n.world.edges = plans.TLSSetOf(plans.TLS12, plans.TLS13)
	from := n.world.now
	var first plans.Weights
	if !n.play(func() bool { return n.world.weights().Share() == 0 }, func(c rollout.Command) bool {
		if a, ok := c.Action.(rollout.SetShare); ok && first == (plans.Weights{}) {
			first = a.Want
		}
		return false
	}) {
		t.Fatalf("never drained again: %+v", n.run.End)
	}
	if first.Share() != 0 {
		t.Errorf("the first write after it asks for %s, not for a drained primary", first)
	}
	if took := n.world.now.Sub(from); took > 2*time.Minute {
		t.Errorf("users met the change for %s; the state is read every minute", took)
	}
}

func TestPauseDoesNotHideDrift(t *testing.T) {
	n := bakingAt30(t)
	n.order(rollout.PauseOrdered{Actor: "ann", Reason: "lunch"})
	n.world.setWeights(plans.Weights{Primary: 0, Backup: 100, PrimaryOn: false, BackupOn: true})
	n.play(nil, func(c rollout.Command) bool {
		if a, ok := c.Action.(rollout.SetShare); ok {
			t.Errorf("wrote %s over what a colleague did by hand", a.Want)
		}
		return false
	})
	if n.run.End == nil || n.run.End.Phase != rollout.Halted {
		t.Errorf("drift under a pause ended as %+v", n.run.End)
	}
}

// The first rise lands, but its answer is lost and the DNS API stays away.
func TestExposureAfterALostAnswerIsJudged(t *testing.T) {
	s := healthy(canarySteps)
	s.FaultAt, s.ErrorRate = 0, 0.4
	n := begin(s)
	var landed time.Time
	turned := n.play(func() bool { return n.run.Way == rollout.Back }, func(c rollout.Command) bool {
		w, ok := n.rise(c, 10)
		if !ok {
			return false
		}
		if landed.IsZero() {
			landed = n.world.now
		}
		n.world.setWeights(w)
		n.answer(c, rollout.Unknown)
		return true
	})
	if took := n.run.At.Sub(landed); !turned || landed.IsZero() || took > 16*time.Minute {
		t.Errorf("10 %% of users met 40 %% errors for %s; turned round: %v", took, turned)
	}
}

// Killed right after the record that raises to 60 %, and started again hours later, past advance_until.
func TestResumeDoesNotRaiseOnOldEvidence(t *testing.T) {
	n := begin(withSchedule(healthy(twoRises), "  timezone: UTC\n  advance_until: \"19:30\""))
	asked := false
	n.play(func() bool { return asked }, func(c rollout.Command) bool {
		_, ok := n.rise(c, 60)
		asked = asked || ok
		return ok
	})
	if !asked {
		t.Fatalf("60 %% was never asked for: %+v", n.run.End)
	}
	n.world.now = n.world.now.Add(5 * time.Hour)
	n.feed(rollout.Resumed{})
	for _, c := range n.run.Outstanding() {
		if a, ok := c.Action.(rollout.SetShare); ok {
			t.Errorf("started first after 5 h of downtime: raise %s to %s; advance_until was %s", a.Before, a.Want, n.run.AdvanceUntil)
		}
	}
}

// The change lands late on the way back, and the write that restores once more is throttled for as long as it is tried.
func TestNoProofWhileTheTLSLeverIsBusy(t *testing.T) {
	n := bakingAt30(t)
	n.order(rollout.AbortOrdered{Actor: "ann"})
	n.play(func() bool { return n.run.Stage == rollout.StageProveTLS }, nil)
	n.world.setTLS(n.run.Change)
	n.world.edgesAt = n.world.now.Add(10 * time.Minute)
	n.world.edges, n.world.edgesTo = plans.TLSSetOf(plans.TLS12), plans.TLSSetOf(plans.TLS12, plans.TLS13)
	restores := 0
	n.play(func() bool { return n.run.Restored }, func(c rollout.Command) bool {
		_, ok := c.Action.(rollout.SetTLS)
		if ok {
			restores++
			n.answer(c, rollout.Throttled)
		}
		return ok
	})
	if n.run.Restored || restores == 0 {
		t.Errorf("restored: %v after %d writes that never landed; the primary has %s, outstanding %+v", n.run.Restored, restores, n.world.state.Primary.TLS.Enabled, n.run.Outstanding())
	}
}

// Another hand had raised the weight of the disabled record, so "enable" exposes 37.5 % of users; the run holds, and 40 % of them fail.
func TestDriftHoldWithExposedUsersIsJudged(t *testing.T) {
	s := healthy(canarySteps)
	s.FaultAt, s.ErrorRate = 0, 0.4
	n := begin(s)
	if !n.play(func() bool { return n.run.Way == rollout.Back }, func(c rollout.Command) bool {
		_, ok := n.rise(c, 10)
		if ok {
			n.world.setWeights(plans.Weights{Primary: 60, Backup: 100, PrimaryOn: true, BackupOn: true})
			n.answer(c, rollout.Conflict)
		}
		return ok
	}) {
		t.Errorf("37.5 %% of users met 40 %% errors until the end: %+v", n.run.End)
	}
}

// A read that began while a write was under way, and is answered after it, shows the time before the write. It is no drift.
func TestLawAReadThatBeganBeforeAWriteLandedIsNoDrift(t *testing.T) {
	n := begin(healthy(canarySteps))
	var write, read rollout.CommandID
	var old plans.State
	n.play(func() bool { return read != 0 }, func(c rollout.Command) bool {
		if _, ok := n.rise(c, 30); ok {
			write = c.ID // it takes its time
			return true
		}
		if _, ok := c.Action.(rollout.ReadState); ok && write != 0 && read == 0 {
			read, old = c.ID, n.world.state
			old.DNS.Records = slices.Clone(old.DNS.Records)
			return true
		}
		return false
	})
	if write == 0 || read == 0 {
		t.Fatalf("no read began while the write was under way: %+v", n.run.End)
	}
	n.world.setWeights(plans.Weights{Primary: 30, Backup: 70, PrimaryOn: true, BackupOn: true})
	n.feed(rollout.CommandSucceeded{ID: write, Result: rollout.ShareSet{DNS: n.world.state.DNS}})
	n.feed(rollout.CommandSucceeded{ID: read, Result: rollout.StateRead{State: old}})
	if n.run.Held != nil || n.run.Drifted != "" {
		t.Errorf("held %+v, drifted %q", n.run.Held, n.run.Drifted)
	}
}

// A server that is behind shows the time before a write that another one has shown already. That is no drift either; if it is still so
// half a minute later, it is.
func TestAReadFromAServerThatIsBehindIsNoDrift(t *testing.T) {
	for _, test := range []struct {
		later time.Duration
		drift bool
	}{{time.Second, false}, {time.Minute, true}} {
		n := begin(healthy(canarySteps))
		old := n.world.state
		old.DNS.Records = slices.Clone(old.DNS.Records)
		var read rollout.CommandID
		n.play(func() bool { return read != 0 }, func(c rollout.Command) bool {
			if _, ok := c.Action.(rollout.ReadState); ok && n.run.Asked == 0 && !n.run.ShareAt.IsZero() {
				read = c.ID
				return true
			}
			return false
		})
		n.world.now = maxTime(n.world.now, n.run.ShareAt.Add(test.later))
		if test.later < time.Minute {
			n.run.ShareAt = n.world.now.Add(-test.later)
		}
		n.feed(rollout.CommandSucceeded{ID: read, Result: rollout.StateRead{State: old}})
		if held := n.run.Held != nil && n.run.Held.Why == rollout.HoldDrift; held != test.drift {
			t.Errorf("%s after the write: held for drift is %v, want %v", test.later, held, test.drift)
		}
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Where the CDN tells no status, edges that the change has not reached yet look like edges that were restored: the proof waits until both
// have had time to arrive.
func TestAnUntoldRestoreIsProvedOnceTheChangeCannotArriveAnyMore(t *testing.T) {
	s := healthy(canarySteps)
	s.Absent = true
	n := begin(s)
	aborted := false
	n.play(func() bool { return n.run.Restored || n.run.End != nil }, func(c rollout.Command) bool {
		if _, ok := c.Action.(rollout.SetTLS); ok && !aborted {
			aborted = true
			n.world.push(n.world.now.Add(5*time.Second), rollout.AbortOrdered{Actor: "ann"}, nil)
		}
		return false
	})
	if took := n.run.At.Sub(n.run.TLSAt); !n.run.Restored || took < 5*time.Minute {
		t.Errorf("restored %v, %s after the settings were written back", n.run.Restored, took)
	}
}

// A process that comes back within seconds has watched nothing yet: what it has in its journal is no reason to raise anything.
func TestARiseAfterAResumeWaitsForEachSource(t *testing.T) {
	n := begin(healthy(canarySteps))
	var rise rollout.CommandID
	n.play(func() bool { return rise != 0 }, func(c rollout.Command) bool {
		if _, ok := n.rise(c, 30); ok {
			rise = c.ID
			return true
		}
		return false
	})
	n.order(rollout.Resumed{})
	resumed := n.world.now
	answered := false
	n.play(func() bool {
		_, ok := n.records[len(n.records)-1].Event.(rollout.MinutesArrived)
		answered = answered || ok
		return answered
	}, func(c rollout.Command) bool {
		if _, ok := n.rise(c, 30); ok && !answered {
			t.Errorf("the share rises again %s after the resume, and no source has answered", n.world.now.Sub(resumed))
		}
		return false
	})
}
