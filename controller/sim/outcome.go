package sim

import (
	"slices"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// Outcome is how a random night ended, and how it was judged.
type Outcome struct {
	Index       int
	Fault       world.Fault
	End         rollout.Phase // 0: it did not end
	Why         string
	Records     int
	Verdict     Verdict
	Detection   time.Duration // from the first minute in which users met a harmful fault to the way back; 0: there was none
	BackToWrite time.Duration // from the record that turned the run round to its first write
	Crashes     int
	Takeovers   int
	Suspends    int
	Jumps       int
	Undisturbed bool // no people, no other hand, no lost measurements, no jump of a clock, no crash, no API trouble
	Twin        bool // it was compared with its twin without crashes
	Broken      []Broken
}

// Verdict says whether the end was the right one, where that can be said.
type Verdict int

// The verdicts.
const (
	Open       Verdict = iota + 1 // people, drift, blindness or a fault near a limit decided: either end is right
	HarmSeen                      // a harmful fault met users, and the run did not succeed
	HarmMissed                    // it succeeded all the same
	QuietDone                     // nothing was wrong with the change, and the run was not turned round
	QuietBack                     // it was
)

// String returns a few words for the verdict.
func (v Verdict) String() string {
	names := [...]string{Open: "either end is right", HarmSeen: "harm seen", HarmMissed: "harm missed", QuietDone: "quiet, done", QuietBack: "quiet, rolled back"}
	if v < Open || int(v) >= len(names) {
		return "no verdict"
	}
	return names[v]
}

// atEnd judges the end.
func (n *night) atEnd() {
	n.outcome.Records = len(n.log)
	if n.run.End == nil {
		if len(n.broken) == 0 {
			n.law("L1", "no end after %d records", len(n.log))
		}
	} else {
		n.outcome.End, n.outcome.Why = n.run.End.Phase, n.run.End.Why
		n.finished()
	}
	n.outcome.Verdict = n.verdict()
	n.outcome.Undisturbed = !n.script.hands() && len(n.script.spells) == 0 && n.away == 0 && !n.jumped
	if n.outcome.Verdict == HarmMissed {
		n.law("harm", "%s met users since %s, and the run succeeded", n.script.world.Fault, n.hurt.UTC().Format("15:04:05"))
	}
	n.outcome.Broken = n.broken
}

// finished holds the laws of the end.
func (n *night) finished() {
	phase := n.run.End.Phase
	if phase == rollout.RolledBack {
		n.restored()
	}
	if phase == rollout.Succeeded && n.restoredTLS() && n.drifted.IsZero() {
		n.law("S4", "Succeeded with the settings of the start")
	}
	weights := n.w.model.Weights()
	if phase == rollout.Halted && !n.touched && (!weights.Equal(n.origin) && n.drifted.IsZero() || !n.restoredTLS()) {
		n.law("S4", "nothing was written, and %s is stored", weights)
	}
	if phase == rollout.Succeeded || phase == rollout.RolledBack {
		n.atRest(weights)
	}
	late := rollout.Record{Seq: n.run.Seq + 1, At: n.run.At, Event: rollout.AbortOrdered{Actor: "late"}}
	if after, due := rollout.Next(n.run, late); len(due) > 0 || after.End == nil || after.End.Phase != phase {
		n.law("S10", "a run that has ended was changed")
	}
}

// restored is law S4 for a run that says it has rolled back.
func (n *night) restored() {
	at, weights := n.w.now, n.w.model.Weights()
	if !n.drifted.IsZero() && at.Sub(n.drifted) < foreign {
		return
	}
	origin := n.run.Origin // another hand may have been there before the run looked
	if n.drifted.IsZero() {
		origin = n.origin
	}
	if !weights.Equal(origin) || !n.restoredTLS() {
		n.law("S4", "RolledBack with %s instead of %s, and settings %s", weights, origin, n.w.model.Settings().Enabled)
	}
	if !n.w.model.AsAtStart(at) {
		n.law("S4", "RolledBack, and an edge does not speak what it spoke at the start")
	}
}

// atRest holds that weights sum to 100, or to 101 where a floor stands for zero.
func (n *night) atRest(w plans.Weights) {
	sum := 0
	if w.PrimaryOn {
		sum += w.Primary
	}
	if w.BackupOn {
		sum += w.Backup
	}
	if n.drifted.IsZero() && n.late.IsZero() && sum != 100 && sum != 101 {
		n.law("S9", "at rest the weights are %s", w)
	}
}

// verdict says whether the end was right.
func (n *night) verdict() Verdict {
	switch harmOf(n.script.world.Fault) {
	case harmful:
		return n.harmVerdict()
	case harmless:
		return n.quietVerdict()
	case marginal:
	}
	return Open
}

func (n *night) harmVerdict() Verdict {
	switch {
	case n.hurt.IsZero():
		return Open
	case n.outcome.End != rollout.Succeeded:
		return HarmSeen
	case n.w.now.Sub(n.hurt) > patience+n.away && !n.jumped && !n.script.blinding():
		return HarmMissed
	}
	return Open
}

func (n *night) quietVerdict() Verdict {
	end, s := n.outcome.End, &n.script
	if s.hands() || s.blinding() || n.jumped || len(s.spells) > 0 || n.away > time.Minute || s.world.Fault == world.DNSStuck {
		return Open
	}
	if end == rollout.Succeeded || end == rollout.Missed || end == rollout.Halted && !n.touched {
		return QuietDone
	}
	return QuietBack
}

// hands reports whether people or another hand take part.
func (s *script) hands() bool {
	for _, a := range s.acts {
		switch a.do {
		case doPause, doResume, doPromote, doAbort, doDrift, doAhead, doStill:
			return true
		case doCrash, doTakeover, doSuspend:
		}
	}
	return s.approval < 0
}

// dies reports whether a process ends before the run does.
func (s *script) dies() bool {
	return slices.ContainsFunc(s.acts, func(a act) bool { return a.do == doCrash || a.do == doTakeover })
}

// blinding reports whether measurements are tampered with.
func (s *script) blinding() bool {
	for _, p := range s.spells {
		if p.metric != 0 {
			return true
		}
	}
	return false
}
