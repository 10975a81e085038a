package world

import (
	"math"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// oldStacks is the share of clients that cannot speak TLS 1.3.
const oldStacks = 0.02

// exposure is what the edges of one leg did in a minute, as shares of edges × time.
type exposure struct {
	tls13   float64 // TLS 1.3 was on
	modern  float64 // nothing older than TLS 1.3 was on: old stacks fail
	closed  float64 // no version was on: everybody fails
	changed float64 // the settings were not those of the start
	before  float64 // TLS 1.3 would have been on without the change
}

// mix is what a minute's counts follow from.
type mix struct {
	share float64 // the primary's share of the requests
	legs  [2]exposure
}

func (w *World) mixOf(m guardrails.Minute, share float64) mix {
	x := mix{share: share}
	x.legs[0] = w.exposed(m, guardrails.Primary)
	x.legs[1] = w.exposed(m, guardrails.Backup)
	if w.effect.flap && int64(m)/flapMinutes%2 == 0 || m.Start().Before(w.cfg.Onset) {
		x.legs[0].changed = 0
	}
	if w.effect.everyLeg {
		x.legs[1].changed = x.legs[0].changed
	}
	return x
}

func (w *World) exposed(m guardrails.Minute, leg guardrails.Leg) exposure {
	var x exposure
	last := w.tls[len(w.tls)-1].at.Add(w.cfg.PropagationTLS)
	if leg == guardrails.Backup || !last.After(m.Start()) {
		x.add(w.EdgeTLS(m.Start(), leg, 0), w.tlsStart, leg, 1)
		return x
	}
	edges := w.Edges(leg)
	for i := range parts {
		at := instant(m, i)
		for e := range edges {
			x.add(w.EdgeTLS(at, leg, e), w.tlsStart, leg, 1/float64(parts*edges))
		}
	}
	return x
}

func (x *exposure) add(set, start plans.TLSSet, leg guardrails.Leg, part float64) {
	if set.Has(plans.TLS13) {
		x.tls13 += part
	}
	switch old := set.Without(plans.TLS13); {
	case set == 0:
		x.closed += part
	case old == 0:
		x.modern += part
	}
	if leg == guardrails.Backup {
		start = set // nobody changes it
	}
	if set != start {
		x.changed += part
	}
	if start.Has(plans.TLS13) {
		x.before += part
	}
}

// roll fills the counts of one minute, platform by platform, primary before backup, and the statuses that the edges saw.
func (w *World) roll(m guardrails.Minute, x mix, counts []guardrails.Counts, statuses *legStatuses) {
	served := w.rollCounts(m, x, counts)
	for leg := range served {
		statuses[leg] = w.statusMinute(served[leg], x.legs[leg])
	}
}

// rollCounts fills the counts alone, and returns how many requests each leg served.
func (w *World) rollCounts(m guardrails.Minute, x mix, counts []guardrails.Counts) (served [2]float64) {
	demand, times := w.weather(m)
	w.seed(int64(m), forCounts)
	demand *= w.wobble(0.02)
	for i, p := range w.cfg.Platforms {
		shares := [2]float64{x.share, 1 - x.share}
		for leg := range shares {
			c := w.platformMinute(p, p.Peak*demand*shares[leg], times, x.legs[leg])
			counts[2*i+leg] = c
			served[leg] += c.Requests - c.Errors
		}
	}
	return served
}

func (w *World) platformMinute(p Platform, demand, times float64, x exposure) guardrails.Counts {
	e, met := w.effect, x.changed
	c := guardrails.Counts{
		Has: guardrails.HasRequests | guardrails.HasErrors | guardrails.HasTotalMS | guardrails.HasTLSMS | guardrails.HasTLS |
			guardrails.HasBytes | guardrails.HasTLS13,
	}
	c.Requests = w.count(demand * (1 - met*e.lost))
	failing := p.Errors + met*max(0, e.failing-p.Errors) + x.modern*oldStacks + x.closed
	c.Errors = min(w.count(c.Requests*min(1, failing)), c.Requests)
	served := c.Requests * (1 - x.closed)
	c.TLS = min(w.count(served*p.Handshakes), c.Requests)
	new13 := x.tls13 * (1 - oldStacks)
	c.TLS13 = min(w.count(c.TLS*new13), c.TLS)
	if x.tls13 == 1 && x.modern == 0 {
		c.TLS13 = c.TLS - min(w.count(c.TLS*oldStacks), c.TLS)
	}
	old13 := x.before * (1 - oldStacks)
	total := times * slower(blend(p.Total12, p.Total13, new13), blend(p.Total12, p.Total13, old13), e.total, met)
	tls := times * slower(blend(p.TLS12, p.TLS13, new13), blend(p.TLS12, p.TLS13, old13), e.tls, met)
	size := p.Bytes * (1 + met*e.size)
	// Spreads of single requests around their means, as shares of the mean.
	c.TotalMS = math.Round(c.Requests * w.mean(total, 0.8, c.Requests))
	c.TLSMS = math.Round(c.TLS * w.mean(tls, 0.7, c.TLS))
	c.Bytes = math.Round(c.Requests * w.mean(size, 1.2, c.Requests))
	return c
}

func blend(a, b, share float64) float64 { return a + (b-a)*share }

// slower moves the part that meets a fault from now to a time worse than before the change.
func slower(now, before, worse, met float64) float64 {
	if worse == 0 {
		return now
	}
	return blend(now, before*(1+worse), met)
}

// flapMinutes is how long each half of a flapping fault lasts.
const flapMinutes = 6

// count is a Poisson number around mean; the mean itself, rounded, in a quiet world.
func (w *World) count(mean float64) float64 {
	switch {
	case mean <= 0:
		return 0
	case w.cfg.Quiet:
		return math.Round(mean)
	case mean > 30:
		return max(0, math.Round(mean+math.Sqrt(mean)*w.rnd.NormFloat64()))
	}
	limit, product, n := math.Exp(-mean), w.rnd.Float64(), 0.0
	for product > limit {
		product *= w.rnd.Float64()
		n++
	}
	return n
}

// mean is the mean of n values around mu with the given spread, plus 2 % that all requests of the minute share.
func (w *World) mean(mu, spread, n float64) float64 {
	if n <= 0 {
		return 0
	}
	return mu * w.wobble(math.Sqrt(0.02*0.02+spread*spread/n))
}

func (w *World) wobble(sd float64) float64 {
	if w.cfg.Quiet {
		return 1
	}
	return max(0.1, 1+sd*w.rnd.NormFloat64())
}
