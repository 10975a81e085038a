package sim

import (
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// minShown is the fewest requests that a window of a verdict may rest on: law S7. It is the smallest default of package guardrails.
const minShown = 50

// reasons is law S7: what turned the run round rests on enough requests.
func (n *night) reasons(before, after rollout.Run) {
	for _, v := range after.Verdicts {
		if !v.RollsBack() || v.State < guardrails.Fire || v.Leg != guardrails.Primary || before.Stage <= rollout.StageChecking ||
			v.Signal != guardrails.ErrorRate || n.jumped {
			continue
		}
		requests := 0.0
		for m := v.From; m <= v.Through; m++ {
			c, _ := n.delivered(seriesKey{v.Platform, v.Leg}, m)
			requests += c.Requests
		}
		if requests < minShown {
			n.law("S7", "%s on %s fires on %.0f requests", v.Rule, v.Platform, requests)
		}
	}
}

// breaches is law L2: requests of the primary that fail in every minute of a window, while those of the backup do not, turn the run round
// with the record that shows the last of these minutes, or with the next tick.
func (n *night) breaches(run rollout.Run) {
	if run.Way != rollout.Forward || run.End != nil || run.InForce == 0 || run.ShareOK.IsZero() || n.jumped || run.Stage <= rollout.StageChecking ||
		run.Held != nil && run.Held.Why == rollout.HoldDrift || n.blameless(n.w.now) {
		n.breaching = time.Time{}
		return
	}
	limit := n.errorLimit()
	if limit == 0 {
		return
	}
	through := guardrails.MinuteOf(run.At.Add(-n.settle())) - 1
	for _, platform := range n.w.model.Platforms() {
		if n.allFail(platform, through, run.Since, limit) {
			switch {
			case n.breaching.IsZero():
				n.breaching = run.At
			case run.At.Sub(n.breaching) > time.Minute+5*time.Second:
				n.law("L2", "on %s more than %.1f %% of the requests fail in every minute since %s, and the run goes on", platform, limit, run.Since.Start().UTC().Format("15:04"))
				n.breaching = run.At.Add(24 * time.Hour)
			}
			return
		}
	}
	n.breaching = time.Time{}
}

// allFail reports whether every minute of the longest window breaches by much.
func (n *night) allFail(platform string, through, since guardrails.Minute, limit float64) bool {
	const window = 12
	if through-window < since {
		return false
	}
	for m := through; m > through-window; m-- {
		p, known := n.delivered(seriesKey{platform, guardrails.Primary}, m)
		b, compared := n.delivered(seriesKey{platform, guardrails.Backup}, m)
		if !known || !compared || p.Requests < 100 || 100*p.Errors/p.Requests < 1.1*limit || b.Requests < 300 || 100*b.Errors/b.Requests > limit/2 {
			return false
		}
	}
	return true
}

// What a fault does to users, seen by a person.
type harm int

const (
	harmless harm = iota + 1 // nothing, or nothing that a guardrail must see
	harmful                  // it must turn the run round
	marginal                 // it is so near a limit, or so short, that either end is right
)

func harmOf(f world.Fault) harm {
	switch f {
	case world.None, 0, world.Throttle, world.DNSStuck:
		return harmless
	case world.Errors10, world.TLSSlow, world.SizeDrop, world.Status5xx, world.Silence, world.TooGood, world.TLSStuck, world.EdgeWrongCert,
		world.RollbackDNSDown, world.Blind, world.NaN:
		return harmful
	case world.Errors6, world.Latency25, world.CommonCause, world.Flap, world.Drift, world.Gaps:
		return marginal
	}
	return marginal
}

// hurting follows what the fault does: since when users have met it in the world.
func (n *night) hurting() {
	cfg := &n.script.world
	if !n.hurt.IsZero() || harmOf(cfg.Fault) != harmful || cfg.Fault == world.TLSStuck || n.w.now.Before(cfg.Onset) || n.w.model.AsAtStart(n.w.now) {
		return
	}
	if share := n.carried(n.w.now.Add(4 * time.Minute)); share >= 5 {
		n.hurt = n.w.now
	}
}

// patience is how long a harmful fault may last before somebody has to have noticed: the longest window, the slowest source, a tick, and
// the minutes that a new share is not judged by.
const patience = 30 * time.Minute
