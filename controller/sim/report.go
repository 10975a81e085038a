package sim

import (
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// Report counts the outcomes of many nights.
type Report struct {
	Nights   int
	Records  int
	Ends     []EndCount   // of every terminal phase, in its order
	Faults   []FaultCount // in the order of [world.Faults]
	Verdicts map[Verdict]int
	Crashes  int // of processes, in all nights
	Takeover int
	Suspends int
	Jumps    int
	Twins    int // nights that were compared with their twin without crashes

	Slowest    Slow // detection of a harmful fault in a night without people, drift and blindness
	Write      Slow // from the record that turned a run round to its first write
	QuietBack  []Outcome
	Broken     []Broken
	BrokenLaws []LawCount
}

// EndCount is how many nights ended in a phase.
type EndCount struct {
	Phase  rollout.Phase
	Nights int
}

// FaultCount is how the nights with a fault ended.
type FaultCount struct {
	Fault                            world.Fault
	Nights, Succeeded, Back, Stopped int
	Met, Seen                        int // nights of a harmful fault that users met, and those of them that did not succeed
}

// LawCount is how many nights broke a law.
type LawCount struct {
	Law    string
	Nights int
}

// Slow is the slowest of something.
type Slow struct {
	Took  time.Duration
	Night int
	Fault world.Fault
}

func (s *Slow) take(d time.Duration, o *Outcome) {
	if d > s.Took {
		*s = Slow{Took: d, Night: o.Index, Fault: o.Fault}
	}
}

// Summarise counts outcomes.
func Summarise(outcomes []Outcome) Report {
	r := Report{Nights: len(outcomes), Verdicts: make(map[Verdict]int)}
	for p := rollout.Succeeded; p <= rollout.Missed; p++ {
		r.Ends = append(r.Ends, EndCount{Phase: p})
	}
	for _, f := range world.Faults() {
		r.Faults = append(r.Faults, FaultCount{Fault: f.Fault})
	}
	for i := range outcomes {
		r.take(&outcomes[i])
	}
	return r
}

func (r *Report) take(o *Outcome) {
	r.Records += o.Records
	r.Crashes += o.Crashes
	r.Takeover += o.Takeovers
	r.Suspends += o.Suspends
	r.Jumps += o.Jumps
	r.Verdicts[o.Verdict]++
	if o.Twin {
		r.Twins++
	}
	if o.End != 0 {
		r.Ends[o.End-rollout.Succeeded].Nights++
	}
	r.fault(o)
	if o.Verdict == HarmSeen && o.Undisturbed {
		r.Slowest.take(o.Detection, o)
	}
	if o.Undisturbed {
		r.Write.take(o.BackToWrite, o)
	}
	if o.Verdict == QuietBack {
		r.QuietBack = append(r.QuietBack, *o)
	}
	r.laws(o)
}

func (r *Report) fault(o *Outcome) {
	for i := range r.Faults {
		f := &r.Faults[i]
		if f.Fault != max(o.Fault, world.None) {
			continue
		}
		f.Nights++
		f.ended(o.End)
		if o.Verdict == HarmSeen || o.Verdict == HarmMissed {
			f.Met++
		}
		if o.Verdict == HarmSeen {
			f.Seen++
		}
	}
}

func (f *FaultCount) ended(as rollout.Phase) {
	if as == rollout.Succeeded {
		f.Succeeded++
		return
	}
	if as == rollout.RolledBack || as == rollout.RolledBackUnverified {
		f.Back++
		return
	}
	f.Stopped++
}

func (r *Report) laws(o *Outcome) {
	told := map[string]bool{}
	for _, b := range o.Broken {
		if told[b.Law] {
			continue // one night breaks a law once
		}
		told[b.Law] = true
		r.Broken = append(r.Broken, b)
		found := false
		for i := range r.BrokenLaws {
			if r.BrokenLaws[i].Law == b.Law {
				r.BrokenLaws[i].Nights++
				found = true
			}
		}
		if !found {
			r.BrokenLaws = append(r.BrokenLaws, LawCount{Law: b.Law, Nights: 1})
		}
	}
}
