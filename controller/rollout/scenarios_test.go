package rollout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
)

func healthy(steps string) setup {
	return setup{Plan: planText("disable", steps), Requests: 3000, FaultAt: -1, DriftAt: -1, BackupAt: -1, GapFrom: 1 << 20, GapTo: 1 << 20, Slow: 1}
}

func withSchedule(s setup, yaml string) setup {
	s.Plan = strings.Replace(s.Plan, "change: {tls13: on}", "schedule:\n"+yaml+"\nchange: {tls13: on}", 1)
	return s
}

// until plays until stop says so, returns the night.
func until(t *testing.T, n *night, stop func(*night, []rollout.Command) bool) bool {
	t.Helper()
	for len(n.records) < horizon && n.run.End == nil {
		at, e, ok := n.world.next()
		if !ok {
			return false
		}
		rec := rollout.Record{Seq: uint64(len(n.records) + 1), At: at, Event: e}
		n.records = append(n.records, rec)
		var due []rollout.Command
		n.run, due = rollout.Next(n.run, rec)
		if stop(n, due) {
			for _, c := range due {
				n.world.perform(c)
			}
			return true
		}
		for _, c := range due {
			n.world.perform(c)
		}
	}
	return false
}

func begin(s setup) *night {
	n := &night{world: newWorld(s)}
	n.origin = n.world.weights()
	n.world.push(n.world.now, start(s), nil)
	return n
}

func feed(n *night, e rollout.Event) []rollout.Command {
	rec := rollout.Record{Seq: uint64(len(n.records) + 1), At: n.world.now, Event: e}
	n.records = append(n.records, rec)
	var due []rollout.Command
	n.run, due = rollout.Next(n.run, rec)
	return due
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
	s := healthy("  - shift: {primary: 0%}\n  - tls: change\n  - shift: {primary: 10%, bake: 12m}\n  - approve: {by: boss, ttl: 60m, on_timeout: hold}\n  - shift: {primary: 60%, bake: 12m}\n")
	n := begin(s)
	if !until(t, n, func(n *night, _ []rollout.Command) bool { return n.run.Stage == rollout.StageApproving }) {
		t.Fatalf("no approval: %+v %+v", n.run.End, n.run.Held)
	}
	feed(n, rollout.PauseOrdered{Actor: "ann", Reason: "customers complain"})
	due := feed(n, rollout.Approved{Actor: "bob"})
	for _, c := range due {
		n.world.perform(c)
	}
	if n.run.Held == nil {
		t.Errorf("ann's pause is gone after bob's approval; stage %d", n.run.Stage)
	}
	until(t, n, func(n *night, due []rollout.Command) bool {
		for _, c := range due {
			if a, ok := c.Action.(rollout.SetShare); ok && n.run.Way == rollout.Forward {
				t.Errorf("share rises to %s while ann's pause was never resumed", a.Want)
				return true
			}
		}
		return false
	})
}

func TestNoStepUpAfterAdvanceUntil(t *testing.T) {
	s := withSchedule(healthy("  - shift: {primary: 0%}\n  - tls: change\n  - shift: {primary: 10%, bake: 12m}\n  - shift: {primary: 60%, bake: 12m}\n"), "  timezone: UTC\n  advance_until: \"19:30\"")
	n := begin(s)
	limit := time.Date(2026, 3, 2, 19, 30, 0, 0, time.UTC)
	var id rollout.CommandID
	// find the SetShare 60; fail it with Throttled from then on until the limit has passed
	for len(n.records) < horizon && n.run.End == nil {
		at, e, ok := n.world.next()
		if !ok {
			break
		}
		rec := rollout.Record{Seq: uint64(len(n.records) + 1), At: at, Event: e}
		n.records = append(n.records, rec)
		var due []rollout.Command
		n.run, due = rollout.Next(n.run, rec)
		for _, c := range due {
			a, ok := c.Action.(rollout.SetShare)
			if ok && a.Want.Primary == 60 && n.run.Way == rollout.Forward {
				if id == 0 {
					t.Logf("first asked at %s", at)
				}
				id = c.ID
				if at.After(limit) {
					t.Fatalf("share is raised to %s at %s, after advance_until %s", a.Want, at, n.run.AdvanceUntil)
				}
				n.world.push(at.Add(time.Second), rollout.CommandFailed{ID: c.ID, Kind: rollout.Throttled, Text: "later"}, nil)
				continue
			}
			n.world.perform(c)
		}
	}
}

func TestDriftOnTheWayBackStopsTheRise(t *testing.T) {
	n := begin(healthy(canarySteps))
	until(t, n, func(n *night, _ []rollout.Command) bool {
		return n.run.InForce == 30 && n.run.Stage == rollout.StageBaking
	})
	for _, c := range feed(n, rollout.AbortOrdered{Actor: "ann"}) {
		n.world.perform(c)
	}
	if !until(t, n, func(n *night, _ []rollout.Command) bool { return n.run.Restored && n.run.InForce == 10 }) {
		t.Fatal("never restored")
	}
	// a late forward write, or another hand, turns the change on again
	n.world.setTLS(n.run.Change)
	read := false
	until(t, n, func(n *night, due []rollout.Command) bool {
		if r, ok := n.records[len(n.records)-1].Event.(rollout.CommandSucceeded); ok {
			if s, ok := r.Result.(rollout.StateRead); ok && s.State.Primary.TLS.Enabled.Has(plans.TLS13) {
				read = true
			}
		}
		for _, c := range due {
			if a, ok := c.Action.(rollout.SetShare); ok && a.Want.Primary >= 30 {
				t.Errorf("share rises to %s at %s while TLS 1.3 is on again (the run had read it: %v)", a.Want, n.run.At, read)
			}
			if _, ok := c.Action.(rollout.SetTLS); ok {
				t.Log("restored again")
			}
		}
		return false
	})
}

func TestWeightDriftWhileDrainedOnTheWayBack(t *testing.T) {
	s := healthy(canarySteps)
	s.EdgesStuck = false
	n := begin(s)
	until(t, n, func(n *night, _ []rollout.Command) bool {
		return n.run.InForce == 30 && n.run.Stage == rollout.StageBaking
	})
	for _, c := range feed(n, rollout.AbortOrdered{Actor: "ann"}) {
		n.world.perform(c)
	}
	if !until(t, n, func(n *night, _ []rollout.Command) bool { return n.run.Stage == rollout.StageProveTLS }) {
		t.Fatal("no")
	}
	n.world.setWeights(plans.Weights{Primary: 30, Backup: 70, PrimaryOn: true, BackupOn: true}) // late forward write
	n.world.edgesAt = n.world.now.Add(30 * time.Minute)                                         // edges are slow to restore
	n.world.edgesTo = plans.TLSSetOf(plans.TLS12)
	n.world.edges = plans.TLSSetOf(plans.TLS12, plans.TLS13)
	from := n.world.now
	until(t, n, func(n *night, due []rollout.Command) bool {
		for _, c := range due {
			if a, ok := c.Action.(rollout.SetShare); ok {
				t.Logf("first share write %s after %s", a.Want, n.run.At.Sub(from))
				return true
			}
		}
		return false
	})
}

func TestPauseDoesNotHideDrift(t *testing.T) {
	n := begin(healthy(canarySteps))
	until(t, n, func(n *night, _ []rollout.Command) bool {
		return n.run.InForce == 30 && n.run.Stage == rollout.StageBaking
	})
	for _, c := range feed(n, rollout.PauseOrdered{Actor: "ann", Reason: "lunch"}) {
		n.world.perform(c)
	}
	n.world.setWeights(plans.Weights{Primary: 0, Backup: 100, PrimaryOn: false, BackupOn: true})
	until(t, n, func(_ *night, due []rollout.Command) bool {
		for _, c := range due {
			if a, ok := c.Action.(rollout.SetShare); ok {
				t.Errorf("wrote %s over what a colleague did by hand", a.Want)
			}
		}
		return false
	})
	if n.run.End.Phase != rollout.Halted {
		t.Errorf("drift under a pause ended as %s", n.run.End.Phase)
	}
}

// The first rise lands, but its answer is lost and the DNS API stays away.
func TestExposureAfterALostAnswerIsJudged(t *testing.T) {
	s := healthy(canarySteps)
	s.FaultAt, s.ErrorRate = 0, 0.4
	n := begin(s)
	var landed time.Time
	for len(n.records) < horizon && n.run.End == nil && n.run.Way != rollout.Back {
		at, e, ok := n.world.next()
		if !ok {
			break
		}
		rec := rollout.Record{Seq: uint64(len(n.records) + 1), At: at, Event: e}
		n.records = append(n.records, rec)
		var due []rollout.Command
		n.run, due = rollout.Next(n.run, rec)
		for _, c := range due {
			if a, ok := c.Action.(rollout.SetShare); ok && a.Want.Primary == 10 && n.run.Way == rollout.Forward {
				if landed.IsZero() {
					landed = at
				}
				n.world.setWeights(a.Want)
				n.world.push(at.Add(time.Second), rollout.CommandFailed{ID: c.ID, Kind: rollout.Unknown, Text: "timeout"}, nil)
				continue
			}
			n.world.perform(c)
		}
	}
	took := n.run.At.Sub(landed)
	if took > 16*time.Minute {
		t.Errorf("10 %% of users met 40 %% errors for %s before the way back began", took)
	}
}

// Killed right after the record that raises to 60 %, and started again hours later, past advance_until.
func TestResumeDoesNotRaiseOnOldEvidence(t *testing.T) {
	s := withSchedule(healthy("  - shift: {primary: 0%}\n  - tls: change\n  - shift: {primary: 10%, bake: 12m}\n  - shift: {primary: 60%, bake: 12m}\n"), "  timezone: UTC\n  advance_until: \"19:30\"")
	n := begin(s)
	for n.run.End == nil {
		at, e, ok := n.world.next()
		if !ok {
			break
		}
		var due []rollout.Command
		rec := rollout.Record{Seq: uint64(len(n.records) + 1), At: at, Event: e}
		n.records = append(n.records, rec)
		n.run, due = rollout.Next(n.run, rec)
		hit := false
		for _, c := range due {
			if a, ok := c.Action.(rollout.SetShare); ok && a.Want.Primary == 60 {
				hit = true
			}
		}
		if hit {
			break
		}
		for _, c := range due {
			n.world.perform(c)
		}
	}
	// down for five hours
	n.world.now = n.world.now.Add(5 * time.Hour)
	feed(n, rollout.Resumed{})
	r := n.run
	for _, c := range r.Outstanding() {
		if a, ok := c.Action.(rollout.SetShare); ok {
			t.Errorf("what Drive starts first after 5 h of downtime: raise %s to %s; advance_until was %s, evidence ends %s", a.Before, a.Want, r.AdvanceUntil, r.At)
		}
	}
}

// The restored settings count as proved while the write that restores them is still failing.
func TestNoProofWhileTheTLSLeverIsBusy(t *testing.T) {
	n := begin(healthy(canarySteps))
	until(t, n, func(n *night, _ []rollout.Command) bool {
		return n.run.InForce == 30 && n.run.Stage == rollout.StageBaking
	})
	for _, c := range feed(n, rollout.AbortOrdered{Actor: "ann"}) {
		n.world.perform(c)
	}
	until(t, n, func(n *night, _ []rollout.Command) bool { return n.run.Stage == rollout.StageProveTLS })
	n.world.setTLS(n.run.Change) // lands late
	n.world.edgesAt = n.world.now.Add(10 * time.Minute)
	n.world.edges, n.world.edgesTo = plans.TLSSetOf(plans.TLS12), plans.TLSSetOf(plans.TLS12, plans.TLS13)
	for n.run.End == nil && !n.run.Restored {
		at, e, ok := n.world.next()
		if !ok {
			break
		}
		rec := rollout.Record{Seq: uint64(len(n.records) + 1), At: at, Event: e}
		n.records = append(n.records, rec)
		var due []rollout.Command
		n.run, due = rollout.Next(n.run, rec)
		for _, c := range due {
			if _, ok := c.Action.(rollout.SetTLS); ok { // the API throttles now
				n.world.push(at.Add(time.Second), rollout.CommandFailed{ID: c.ID, Kind: rollout.Throttled, Text: "later"}, nil)
				continue
			}
			n.world.perform(c)
		}
	}
	if n.run.Restored && n.world.state.Primary.TLS.Enabled.Has(plans.TLS13) {
		t.Errorf("Restored, although the primary's settings are %s and the write is outstanding: %+v", n.world.state.Primary.TLS.Enabled, n.run.Outstanding())
	}
}

// A conflict after "enable" (another hand had raised the weight of the disabled record): 37.5 % of users, drift hold, 40 % errors.
func TestDriftHoldWithExposedUsersIsJudged(t *testing.T) {
	s := healthy(canarySteps)
	s.FaultAt, s.ErrorRate = 0, 0.4
	n := begin(s)
	for len(n.records) < horizon && n.run.End == nil && n.run.Way != rollout.Back {
		at, e, ok := n.world.next()
		if !ok {
			break
		}
		rec := rollout.Record{Seq: uint64(len(n.records) + 1), At: at, Event: e}
		n.records = append(n.records, rec)
		var due []rollout.Command
		n.run, due = rollout.Next(n.run, rec)
		for _, c := range due {
			if a, ok := c.Action.(rollout.SetShare); ok && a.Want.Primary == 10 && n.run.Way == rollout.Forward {
				n.world.setWeights(plans.Weights{Primary: 60, Backup: 100, PrimaryOn: true, BackupOn: true})
				n.world.push(at.Add(1e9), rollout.CommandFailed{ID: c.ID, Kind: rollout.Conflict, Text: "the weights are 60:100"}, nil)
				continue
			}
			n.world.perform(c)
		}
	}
	if n.run.Way != rollout.Back {
		t.Errorf("37.5 %% of users met 40 %% errors for an hour, and nothing was written")
	}
}

// A read that began while a write was under way, and is answered after it, shows the time before the write. It is no drift.
func TestLawAReadThatBeganBeforeAWriteLandedIsNoDrift(t *testing.T) {
	n := begin(healthy(canarySteps))
	var write, read rollout.CommandID
	var old plans.State
	for len(n.records) < horizon && n.run.End == nil && read == 0 {
		at, e, ok := n.world.next()
		if !ok {
			break
		}
		n.world.now = at
		for _, c := range feed(n, e) {
			share, isShare := c.Action.(rollout.SetShare)
			_, isRead := c.Action.(rollout.ReadState)
			switch {
			case isShare && share.Want.Primary == 30:
				write = c.ID // it takes its time
			case isRead && write != 0:
				read, old = c.ID, n.world.state
			default:
				n.world.perform(c)
			}
		}
	}
	if write == 0 || read == 0 {
		t.Fatalf("no read began while the write was under way: %+v", n.run.End)
	}
	n.world.setWeights(plans.Weights{Primary: 30, Backup: 70, PrimaryOn: true, BackupOn: true})
	feed(n, rollout.CommandSucceeded{ID: write, Result: rollout.ShareSet{DNS: n.world.state.DNS}})
	feed(n, rollout.CommandSucceeded{ID: read, Result: rollout.StateRead{State: old}})
	if n.run.Held != nil || n.run.Drifted != "" {
		t.Errorf("held %+v, drifted %q", n.run.Held, n.run.Drifted)
	}
}
