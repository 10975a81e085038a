package rollout

import (
	"fmt"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// Outcome is how an expectation compares with what came.
type Outcome int

// The outcomes.
const (
	Met     Outcome = iota + 1 // the whole 95 % interval is at or beyond what was expected
	NotMet                     // the whole interval falls short
	Unclear                    // what was expected lies inside the interval
	Unseen                     // it cannot be said
)

// String returns "met", "not met", "unclear" or "unseen".
func (o Outcome) String() string {
	switch o {
	case Met:
		return "met"
	case NotMet:
		return "not met"
	case Unclear:
		return "unclear"
	case Unseen:
		return "unseen"
	}
	return fmt.Sprintf("outcome %d", int(o))
}

// Expected is one expectation of the plan against what came, on one platform. It is for the report and never decides.
type Expected struct {
	Expectation plans.Expectation
	Effect      guardrails.Effect // Source "" when no source of the plan measures it
	Outcome     Outcome
}

// Expected judges the plan's expectations by the newest settled minutes at the present share. It is empty unless the change is live, and
// proved, on a primary that carries traffic.
func (r Run) Expected() []Expected {
	if r.Plan == nil || r.Way != Forward || !r.Exposed || r.InForce <= 0 || r.ShareOK.IsZero() {
		return nil
	}
	var out []Expected
	sit := guardrails.Situation{Now: r.At, TTL: r.Plan.DNS.TTL, Share: r.InForce}
	for _, e := range r.Plan.Expect {
		source := r.sourceOf(e.Signal)
		seen := false
		for _, s := range r.Baseline.Series {
			if s.Source != source || s.Leg != guardrails.Primary {
				continue
			}
			seen = true
			x := Expected{Expectation: e, Outcome: Unseen}
			var ok bool
			if x.Effect, ok = guardrails.Measure(&r.Table, &r.Baseline, r.Plan.Guardrails, e.Signal, source, s.Platform, r.Since, sit); ok {
				x.Outcome = outcome(e, x.Effect)
			}
			out = append(out, x)
		}
		if !seen {
			out = append(out, Expected{Expectation: e, Effect: guardrails.Effect{Signal: e.Signal}, Outcome: Unseen})
		}
	}
	return out
}

// sourceOf is the source of the first rule on a signal, or else the first source that tells both legs apart.
func (r Run) sourceOf(s guardrails.Signal) string {
	for _, g := range r.Plan.Guardrails {
		if g.Signal == s {
			return g.Source
		}
	}
	return r.shareSource()
}

func outcome(e plans.Expectation, got guardrails.Effect) Outcome {
	low, high, want := got.Low, got.High, float64(e.Change)
	if e.Above > 0 {
		low, high, want = got.AfterLow, got.AfterTop, float64(e.Above)
	} else if want < 0 { // a fall of at least so much
		low, high, want = -high, -low, -want
	}
	switch {
	case low >= want && (e.Above == 0 || low > want):
		return Met
	case high < want:
		return NotMet
	}
	return Unclear
}
