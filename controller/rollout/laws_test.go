package rollout_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

const (
	canarySteps = `  - shift: {primary: 0%}
  - tls: change
  - shift: {primary: 10%, bake: 12m}
  - shift: {primary: 30%, bake: 15m}
  - shift: {primary: 60%, bake: 12m}
  - observe: {for: 15m}
`
	inPlaceSteps = `  - bake: {for: 10m}
  - tls: change
  - bake: {for: 15m}
`
	bareSteps = `  - shift: {primary: 0%}
  - tls: change
  - shift: {primary: 20%}
  - shift: {primary: 60%}
`
	horizon = 30000 // records: far more than any of these plans needs
)

func genSetup() *rapid.Generator[setup] {
	return rapid.Custom(func(t *rapid.T) setup {
		zero := rapid.SampledFrom([]string{"disable", "weight", "floor"}).Draw(t, "zero")
		drift := rapid.SampledFrom([]string{"hold", "hold", "rollback"}).Draw(t, "on drift")
		steps := rapid.SampledFrom([]string{canarySteps, canarySteps, inPlaceSteps, bareSteps}).Draw(t, "steps")
		s := setup{
			Plan: strings.Replace(planText(zero, steps), "\nsteps:", "\non_drift: "+drift+"\nsteps:", 1), Requests: rapid.SampledFrom([]float64{3000, 3000, 800, 150}).Draw(t, "requests"),
			FaultAt: -1, DriftAt: -1, BackupAt: -1, ErrorRate: 0.005, Slow: 1, GapFrom: 1 << 20, GapTo: 1 << 20,
			Seed: rapid.Uint64Range(0, 1<<40).Draw(t, "seed"),
		}
		if rapid.Bool().Draw(t, "fault") {
			s.FaultAt = rapid.IntRange(0, 120).Draw(t, "fault at")
			s.ErrorRate = rapid.SampledFrom([]float64{0.005, 0.1, 0.4}).Draw(t, "error rate")
			s.Slow = rapid.SampledFrom([]float64{1, 1.5, 0.5}).Draw(t, "slow")
		}
		if rapid.IntRange(0, 3).Draw(t, "gap") == 0 {
			s.GapFrom = rapid.IntRange(0, 120).Draw(t, "gap from")
			s.GapTo = s.GapFrom + rapid.IntRange(1, 90).Draw(t, "gap length")
		}
		if rapid.IntRange(0, 5).Draw(t, "backup breaks") == 0 {
			s.BackupAt = rapid.IntRange(0, 120).Draw(t, "backup at")
		}
		s.Failures = rapid.SampledFrom([]int{0, 0, 5, 30}).Draw(t, "failures")
		s.SlowWrites = rapid.SampledFrom([]int{0, 0, 900}).Draw(t, "slow writes")
		s.SlowReads = rapid.SampledFrom([]int{0, 0, 200}).Draw(t, "slow reads")
		s.LostWrites = rapid.Bool().Draw(t, "lost writes")
		for range rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "orders") {
			s.Orders = append(s.Orders, order{At: rapid.IntRange(0, 150).Draw(t, "order at"), Kind: rapid.IntRange(0, 3).Draw(t, "order")})
		}
		if rapid.IntRange(0, 5).Draw(t, "drift") == 0 {
			s.DriftAt = rapid.IntRange(0, 120).Draw(t, "drift at")
		}
		s.DNSStuck = rapid.SampledFrom([]int{0, 0, 0, 25, 300}).Draw(t, "dns stuck")
		s.EdgesStuck = rapid.IntRange(0, 5).Draw(t, "edges stuck") == 0
		s.WrongEdge = rapid.IntRange(0, 7).Draw(t, "wrong edge") == 0
		s.Absent = rapid.IntRange(0, 3).Draw(t, "no TLS function") == 0
		s.Until = rapid.SampledFrom([]string{"", "", "18:40", "19:10", "19:40"}).Draw(t, "advance until")
		return s
	})
}

// night is a run and the world it ran in.
type night struct {
	world   *world
	run     rollout.Run
	records []rollout.Record
	origin  plans.Weights
	broken  []string // laws that did not hold
	wrote   bool     // a write was issued
}

func (n *night) law(ok bool, name, format string, args ...any) {
	if !ok {
		n.broken = append(n.broken, name+": "+fmt.Sprintf(format, args...))
	}
}

func start(s setup) rollout.Started {
	if s.Until != "" {
		s = withSchedule(s, "  timezone: UTC\n  advance_until: \""+s.Until+"\"")
	}
	return rollout.Started{Run: "r", Plan: s.Plan, Digest: "d", Actor: "test", Tool: "test"}
}

// healthy is a world in which nothing goes wrong.
func healthy(steps string) setup {
	return setup{Plan: planText("disable", steps), Requests: 3000, FaultAt: -1, DriftAt: -1, BackupAt: -1, GapFrom: 1 << 20, GapTo: 1 << 20, Slow: 1}
}

func begin(s setup) *night {
	n := &night{world: newWorld(s)}
	n.origin = n.world.weights()
	n.world.push(n.world.now, start(s), nil)
	return n
}

// feed hands the run one event, and returns what is due without doing it.
func (n *night) feed(e rollout.Event) []rollout.Command {
	rec := rollout.Record{Seq: uint64(len(n.records) + 1), At: n.world.now, Event: e}
	n.records = append(n.records, rec)
	var due []rollout.Command
	n.run, due = rollout.Next(n.run, rec)
	return due
}

// play runs a night to its end. With crashAt > 0 everything but journal and world is lost after that record, once.
func play(s setup, crashAt int) *night {
	n := begin(s)
	for len(n.records) < horizon && n.run.End == nil {
		at, e, ok := n.world.next()
		if !ok {
			break
		}
		n.turn(at, e)
		if len(n.records) == crashAt {
			n.run = rollout.Replay(n.records)
			n.world.dropAnswers()
			n.turn(n.world.now, rollout.Resumed{})
			for _, c := range n.run.Outstanding() {
				n.world.perform(c)
			}
		}
	}
	n.atEnd()
	return n
}

// dropAnswers loses what was on its way to the process. Writes that were under way still land: nobody can call them back.
func (w *world) dropAnswers() {
	for i := range w.queue {
		switch w.queue[i].event.(type) {
		case nil, rollout.PauseOrdered, rollout.ResumeOrdered, rollout.PromoteOrdered, rollout.AbortOrdered:
		default:
			w.queue[i].event = nil
		}
	}
	w.lives++
}

func (n *night) turn(at time.Time, e rollout.Event) {
	before := n.run
	n.world.now = at
	due := n.feed(e)
	rec := n.records[len(n.records)-1]
	if rec.Seq%16 == 5 || len(due) > 2 { // comparing whole runs is dear; every kind of record comes round
		again, dueAgain := rollout.Next(before, rec)
		n.law(reflect.DeepEqual(n.run, again) && reflect.DeepEqual(due, dueAgain), "S6", "record %d gives two results", rec.Seq)
	}
	for _, c := range due {
		n.checkCommand(c)
		n.world.perform(c)
	}
	n.checkRun(before)
}

// checkRun looks at the laws that hold after every record.
func (n *night) checkRun(before rollout.Run) {
	shares, tls := 0, 0
	for _, c := range n.run.Outstanding() {
		switch c.Action.(type) {
		case rollout.SetShare:
			shares++
		case rollout.SetTLS:
			tls++
		default:
		}
	}
	n.law(shares <= 1 && tls <= 1, "S5", "%d writes of the share and %d of the settings are outstanding", shares, tls)
	n.law(n.world.setup.DriftAt >= 0 || n.run.Held == nil || n.run.Held.Why != rollout.HoldDrift, "drift", "nobody touched anything, and the run holds for %+v", n.run.Held)
	n.law(before.Way != rollout.Back || n.run.Way == rollout.Back, "S10", "the run turned forward again")
	n.law(n.world.weights().Answering(), "S9", "nothing answers: %s", n.world.weights())
	if before.Way == rollout.Forward && n.run.Way == rollout.Back {
		n.checkTurn(before)
	}
}

// checkTurn looks at why the run turned round.
func (n *night) checkTurn(before rollout.Run) {
	for _, v := range n.run.Verdicts {
		if !v.RollsBack() || v.State < guardrails.Fire || v.Leg != guardrails.Primary || before.Stage <= rollout.StageChecking {
			continue
		}
		requests := 0.0
		for m := v.From; m <= v.Through; m++ {
			c, _ := n.run.Table.Counts("rum", v.Platform, v.Leg, m)
			requests += c.Requests
		}
		n.law(requests >= 50, "S7", "%s fires on %.0f requests", v.Rule, requests)
	}
}

// checkCommand looks at a command before it is carried out.
func (n *night) checkCommand(c rollout.Command) {
	if d := n.world.now.Sub(n.world.minute(n.world.setup.DriftAt)); n.world.setup.DriftAt >= 0 && d >= 0 && d < 2*time.Minute {
		return // another hand moved weights a moment ago: nobody can know yet
	}
	switch a := c.Action.(type) {
	case rollout.SetShare:
		n.wrote = true
		n.checkShare(a)
	case rollout.SetTLS:
		n.wrote = true
		if n.run.Way == rollout.Forward && a.Want == n.run.Change {
			n.checkWindow("the flag turns")
			n.checkFlag()
		}
		n.law(n.run.Way == rollout.Forward || a.Want == n.run.Restore, "S3", "the way back asks for %v", a.Want)
	default:
	}
}

// checkWindow holds that nothing rises after advance_until.
func (n *night) checkWindow(what string) {
	u := n.run.AdvanceUntil
	n.law(u.IsZero() || n.world.now.Before(u), "advance_until", "%s at %s, after %s", what, n.world.now, u)
}

// checkFlag looks at who is on the primary when the flag turns: nobody, or traffic that was judged.
func (n *night) checkFlag() {
	if n.world.weights().Share() > 1 {
		n.checkRise(guardrails.Primary)
		return
	}
	truth := 100 * n.world.shareAt(n.world.now.Add(-4*time.Minute))
	n.law(truth < 9, "S2", "the flag turns with %.1f %% of the traffic on a primary that should carry none", truth)
}

func (n *night) checkShare(a rollout.SetShare) {
	have := n.world.weights()
	n.law(a.Want.Answering(), "S9", "asked for %s", a.Want)
	sum := 0
	if a.Want.PrimaryOn {
		sum += a.Want.Primary
	}
	if a.Want.BackupOn {
		sum += a.Want.Backup
	}
	n.law(sum == 100 || a.Want.Share() < 1 && sum == 101, "S9", "weights %s sum to %d", a.Want, sum)
	rises := a.Want.Share() > have.Share()
	step, _ := n.run.Current()
	if shift, ok := step.(plans.Shift); ok && n.run.Way == rollout.Forward && n.run.Exposed {
		n.law(float64(a.Want.Share()) <= float64(shift.Primary)+0.5, "S1", "asked for %s in step %v", a.Want, shift)
	}
	if n.run.Way == rollout.Back {
		proved := n.world.edgesNow() == plans.TLSSetOf(plans.TLS12) && n.world.restored()
		n.law(!rises || proved, "S3", "the share rises to %s while the change is live", a.Want)
		return
	}
	if rises {
		n.checkWindow("the share rises")
	}
	if rises && n.run.Exposed {
		leg := guardrails.Primary
		if have.Share() < 1 { // drained, or at the floor of 1 against 100
			leg = guardrails.Backup
		}
		n.checkRise(leg)
	}
}

// checkRise compares a rise of exposure with the truth of the world: S2 and S8.
func (n *night) checkRise(leg guardrails.Leg) {
	w := n.world
	through := n.run.Table.Through("rum", w.now) // what has settled and was asked for; the gate wants it fresh
	n.law(w.now.Sub(through.End()) < 6*time.Minute, "S8", "exposure rises on data that ends at %s", through.End())
	bad, missing := 0, 0
	for m := through - 9; m <= through; m++ {
		c, unknown := n.run.Table.Counts("rum", "ios", leg, m)
		switch {
		case w.gap(m) || unknown != 0:
			missing++
		case c.Errors/c.Requests > 0.05 || c.TotalMS/c.Requests > 360 || c.TotalMS/c.Requests < 210:
			bad++
		}
	}
	n.law(missing <= 2, "S8", "exposure rises with %d of 10 minutes missing on the %s", missing, leg)
	n.law(bad <= 1, "S2", "exposure rises with %d of 10 minutes breaching on the %s", bad, leg)
	asked := float64(n.lastShare())
	truth := 100 * w.shareAt(w.now.Add(-4*time.Minute))
	n.law(truth-asked < 9 && asked-truth < 9, "S2", "exposure rises while the traffic is at %.1f %% instead of %.1f %%", truth, asked)
}

// lastShare is the share that was asked before the present step.
func (n *night) lastShare() plans.Percent {
	steps := n.run.Steps
	if _, ok := mustStep(n.run).(plans.Shift); ok && n.run.Stage == rollout.StageApplying {
		return n.run.AskedFrom
	}
	if len(steps) == 0 {
		return n.origin.Share()
	}
	return n.run.Asked
}

func mustStep(r rollout.Run) plans.Step {
	s, _ := r.Current()
	return s
}

// atEnd looks at the end of the night.
func (n *night) atEnd() {
	n.law(n.run.End != nil, "L1", "no end after %d records, stage %d way %s held %+v", len(n.records), n.run.Stage, n.run.Way, n.run.Held)
	if n.run.End == nil {
		return
	}
	w := n.world
	if n.run.Touched {
		n.origin = n.run.Origin // another hand may have been there before the run looked
	}
	restored := w.weights().Equal(n.origin) && w.restored()
	// What another hand does while the last read's answer is on its way, nobody can know.
	unseen := w.setup.DriftAt >= 0 && w.now.Sub(w.minute(w.setup.DriftAt)) <= time.Duration(w.setup.SlowReads+2)*time.Second
	if n.run.End.Phase == rollout.RolledBack && !unseen {
		n.law(restored, "S4", "RolledBack with %s and %s", w.weights(), w.state.Primary.TLS.Enabled)
	}
	if n.run.End.Phase == rollout.Succeeded {
		n.law(w.state.Primary.TLS.Enabled.Has(plans.TLS13), "S4", "Succeeded with %s", w.state.Primary.TLS.Enabled)
	}
	if !n.wrote && w.setup.DriftAt < 0 {
		n.law(restored, "S4", "nothing was asked for, and %s is live", w.weights())
	}
	next, due := rollout.Next(n.run, rollout.Record{Seq: n.run.Seq + 1, At: w.now, Event: rollout.AbortOrdered{Actor: "late"}})
	n.law(len(due) == 0 && reflect.DeepEqual(next, n.run), "S10", "a run that has ended was changed")
}

func TestLawsSafetyAndEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSetup().Draw(t, "world")
		if n := play(s, 0); len(n.broken) > 0 {
			t.Fatalf("%d laws broken, first: %s\nend: %+v", len(n.broken), n.broken[0], n.run.End)
		}
	})
}

func TestLawR1CrashAndResumeEndTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSetup().Draw(t, "world")
		// A crash moves what follows by seconds, so the end is the same only where seconds do not decide: dice, people and drift do not
		// take part, and a fault comes early enough to be seen whatever happens.
		s.Failures, s.Orders, s.DriftAt, s.BackupAt, s.FaultAt = 0, nil, -1, -1, min(s.FaultAt, 5)
		s.SlowWrites, s.SlowReads, s.Until = 0, 0, ""
		s.GapFrom, s.GapTo = 1<<20, 1<<20
		whole := play(s, 0)
		crashed := play(s, rapid.IntRange(1, len(whole.records)).Draw(t, "crash after record"))
		if len(crashed.broken) > 0 {
			t.Fatalf("laws broken after the crash: %s", crashed.broken[0])
		}
		if whole.run.End.Phase != crashed.run.End.Phase {
			t.Fatalf("end: want %+v, got %+v after the crash", *whole.run.End, *crashed.run.End)
		}
	})
}

func TestLawR2ReplayOfTheJournalIsTheLiveRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := play(genSetup().Draw(t, "world"), 0)
		var journal []rollout.Record
		for _, rec := range n.records {
			data, err := rollout.Encode(rec)
			if err != nil {
				t.Fatal(err)
			}
			back, err := rollout.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if m, ok := back.Event.(rollout.MinutesArrived); ok {
				m.Batch.Rows = rec.Event.(rollout.MinutesArrived).Batch.Rows
				back.Event = m
			}
			journal = append(journal, back)
		}
		if got := rollout.Replay(journal); !reflect.DeepEqual(got, n.run) {
			t.Fatalf("replay differs: live ended %+v with %d steps, replay %+v with %d steps", n.run.End, len(n.run.Steps), got.End, len(got.Steps))
		}
	})
}

// L2: a sustained breach turns the run round within window + settle + one tick of the minute in which the rule can see it.
func TestLawL2BreachStartsTheWayBackInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := healthy(canarySteps)
		s.FaultAt, s.ErrorRate, s.Seed = rapid.IntRange(0, 60).Draw(t, "fault at"), 0.1, rapid.Uint64Range(0, 1<<30).Draw(t, "seed")
		n := play(s, 0)
		if len(n.broken) > 0 {
			t.Fatal(n.broken[0])
		}
		var breached, back time.Time
		r := rollout.Run{}
		for _, rec := range n.records {
			r, _ = rollout.Next(r, rec)
			if m, ok := rec.Event.(rollout.MinutesArrived); ok && breached.IsZero() && r.Since > 0 && r.Asked > 0 {
				breached = firstBreach(m, r.Since)
			}
			if r.Way == rollout.Back && back.IsZero() {
				back = rec.At
			}
		}
		if back.IsZero() {
			t.Fatalf("a fault of 10 %% did not turn the run round: %+v", r.End)
		}
		limit := breached.Add(12*time.Minute + time.Minute + time.Minute + 10*time.Second)
		if back.After(limit) {
			t.Fatalf("breaching since %s, turned round at %s, later than %s", breached, back, limit)
		}
	})
}

func firstBreach(m rollout.MinutesArrived, since guardrails.Minute) time.Time {
	var first time.Time
	for _, row := range m.Batch.Rows {
		if row.Leg == guardrails.Primary && row.Minute >= since && row.Counts.Requests >= 20 && row.Counts.Errors/row.Counts.Requests > 0.05 &&
			(first.IsZero() || row.Minute.Start().Before(first)) {
			first = row.Minute.Start()
		}
	}
	return first
}

// An edge that shows a wrong certificate to traffic does not wait for the proof's deadline.
func TestLawABrokenEdgeWithTrafficTurnsTheRunRound(t *testing.T) {
	s := healthy(inPlaceSteps)
	s.WrongEdge = true
	n := begin(s)
	if !n.play(func() bool { return n.run.Way == rollout.Back }, nil) {
		t.Fatalf("60 %% of users met a wrong certificate: %+v", n.run.End)
	}
	if took := n.run.At.Sub(n.world.edgesAt); took > 2*time.Minute {
		t.Errorf("60 %% of users met a wrong certificate for %s; a round of handshakes is made every minute", took)
	}
}

// A healthy world must succeed: laws alone would be kept by a run that never does anything.
func TestHealthyWorldsSucceed(t *testing.T) {
	for _, steps := range []string{canarySteps, inPlaceSteps, bareSteps} {
		for _, zero := range []string{"disable", "weight", "floor"} {
			s := healthy(steps)
			s.Plan = planText(zero, steps)
			n := play(s, 0)
			if n.run.End == nil || n.run.End.Phase != rollout.Succeeded {
				t.Errorf("zero %s, steps\n%sended as %+v, held %+v", zero, steps, n.run.End, n.run.Held)
			}
			for _, b := range n.broken {
				t.Error(b)
			}
		}
	}
}

// A write of the way forward that lands after the restored settings were written is written over again: the run proves the end.
func TestLawS4AWriteThatLandsLateIsUndone(t *testing.T) {
	n := begin(healthy(canarySteps))
	aborted, late := false, false
	for len(n.records) < horizon && n.run.End == nil {
		at, e, ok := n.world.next()
		if !ok {
			break
		}
		n.turn(at, e)
		if n.run.Exposed && !aborted {
			aborted = true
			n.world.push(at, rollout.AbortOrdered{Actor: "ann"}, nil)
		}
		if n.run.Stage == rollout.StageProveTLS && n.run.Way == rollout.Back && !late {
			late = true
			n.world.push(at.Add(10*time.Second), nil, func() {
				n.world.setTLS(n.run.Change)
				n.world.setWeights(plans.Weights{Primary: 60, Backup: 40, PrimaryOn: true, BackupOn: true})
			})
		}
	}
	n.atEnd()
	if !late || n.run.End == nil || n.run.End.Phase != rollout.RolledBack {
		t.Errorf("late write %v, end %+v", late, n.run.End)
	}
	for _, b := range n.broken {
		t.Error(b)
	}
}
