package guardrails

import (
	"math"
	"strconv"
)

// Control is what the leg that was not changed says about a breach on the changed one; reference semantics, section 8, control(r).
type Control int

// What the control leg may say. The zero Control was not asked, because nothing breaches.
const (
	ControlNone     Control = iota + 1 // there is no leg to compare with, or none that moved alike before the change
	ControlConfirms                    // the changed leg is worse than the control leg
	ControlNeutral                     // the difference is too small to confirm, and too large to deny
	ControlDenies                      // the control leg shows it too: a common cause
)

// String returns "none", "confirms", "neutral" or "denies", and "" for the zero Control.
func (c Control) String() string {
	switch c {
	case 0:
		return ""
	case ControlNone:
		return "none"
	case ControlConfirms:
		return "confirms"
	case ControlNeutral:
		return "neutral"
	case ControlDenies:
		return "denies"
	}
	return "control " + strconv.Itoa(int(c))
}

// The figures of the comparison; reference semantics, sections 3 and 8.
const (
	controlRequests = 200 // a minute, on the control leg
	controlZ        = 1.645
	controlConfirm  = 1.0 / 2 // of the band
	controlDeny     = 1.0 / 4 // of the band
	controlShares   = 4.0 / 5 // part of the minutes of for that breach on the control leg too: 8 of 10
	trendMinutes    = 60      // before the change, in which the legs must have moved alike
	trendWindow     = 12      // minutes, of which one may breach
	leastRatio      = 0.01    // of what is expected: a mean of nothing has a logarithm then
	pairsKnown      = 5       // minutes that both legs must have for a spread to be known
)

// attribute asks the control leg about a side that breaches, or may.
func (j *judge) attribute(t *Table, b *Baseline, w *window, sd *side, v *Verdict) {
	if j.rule.Signal == Requests {
		v.Control = ControlConfirms // its odds are odds against the control leg
		return
	}
	v.Control = ControlNone
	leg := j.leg.Other()
	if j.situation.idle(leg) || !b.alike(j.rule, v.Platform) {
		return
	}
	other := j.opposite(t, b, v.Platform)
	obs := make([]observation, len(w.obs))
	other.observe(obs, v.From)
	reach, need := w.within, int(math.Ceil(controlShares*float64(minutesOf(j.rule.For))))
	switch v.State {
	case FireFast:
		reach, need = fastMinutes, int(math.Ceil(controlShares*fastMinutes))
	case Suspect:
		reach, need = suspectWindow, suspectBreach
	case Clear, IdleLeg, Pending, Blind, Fire:
	}
	c := comparison{sd: sd, j: j, other: &other, own: newest(w.obs, reach), control: newest(obs, reach)}
	v.Control, v.Versus = c.say(need)
}

// opposite is the same evaluation on the other leg.
func (j *judge) opposite(t *Table, b *Baseline, platform string) judge {
	o := judge{
		rule: j.rule, leg: j.leg.Other(), situation: j.situation, own: t.input(j.rule.Source, platform, j.leg.Other()),
		needs: j.needs, minimum: j.minimum,
	}
	o.expect(b.of(j.rule.Source, platform, o.leg))
	return o
}

func newest(obs []observation, n int) []observation { return obs[max(0, len(obs)-n):] }

// comparison holds the same minutes of both legs.
type comparison struct {
	sd           *side
	j, other     *judge
	own, control []observation
}

// say compares; need is how many breaching minutes on the control leg are a breach of its own.
func (c *comparison) say(need int) (answer Control, versus float64) {
	breaching, known, requests := 0, 0, 0.0
	theirs := c.theirs()
	for i := range c.control {
		if o := &c.control[i]; o.unknown == 0 {
			known++
			requests += o.n
			if theirs.mark(o) == breach {
				breaching++
			}
		}
	}
	if 2*known < len(c.control) || requests < controlRequests*float64(known) {
		return ControlNone, 0
	}
	difference, noise, ok := c.spread()
	if c.j.rule.Signal == ErrorRate {
		difference, noise, ok = c.pooled()
	}
	switch {
	case !ok:
		return ControlNone, 0
	case beyond(difference, c.band(controlConfirm)) && difference > controlZ*noise && c.meansLow(difference, noise):
		return ControlConfirms, c.shown(difference)
	case breaching >= need || beyond(c.band(controlDeny), difference):
		return ControlDenies, c.shown(difference)
	}
	return ControlNeutral, c.shown(difference)
}

// theirs is the same side around what is expected of the control leg.
func (c *comparison) theirs() *side {
	s := *c.sd
	if c.j.rule.Signal != ErrorRate && c.j.expected[s.slot] != 0 {
		switch c.j.rule.Signal {
		case TotalTime, TLSTime, ResponseSize:
			s.limit *= c.other.expected[s.slot] / c.j.expected[s.slot]
		case StatusShare, TLS13Share:
			s.limit += c.other.expected[s.slot] - c.j.expected[s.slot]
		case ErrorRate, Requests:
		}
	}
	return &s
}

// meansLow asks for a lower bound beyond half the band where the spread is one of minutes; pooled counts have their own test.
func (c *comparison) meansLow(difference, noise float64) bool {
	return c.j.rule.Signal == ErrorRate || difference-controlZ*noise > c.band(controlConfirm)
}

// pooled is the difference of the error rates of all minutes together, in points, and its standard error.
func (c *comparison) pooled() (difference, noise float64, ok bool) {
	var n, bad [2]float64
	for i := range c.own {
		if a, b := &c.own[i], &c.control[i]; a.unknown == 0 && b.unknown == 0 {
			n[0], bad[0] = n[0]+a.n, bad[0]+a.bad
			n[1], bad[1] = n[1]+b.n, bad[1]+b.bad
		}
	}
	if n[0] == 0 || n[1] == 0 {
		return 0, 0, false
	}
	p, q := bad[0]/n[0], bad[1]/n[1]
	return 100 * (p - q), 100 * math.Sqrt(p*(1-p)/n[0]+q*(1-q)/n[1]), true
}

// spread is the mean of the minutes' excess over the control leg, and its standard error.
func (c *comparison) spread() (difference, noise float64, ok bool) {
	var s sample
	for i := range c.own {
		if x, known := c.excess(i); known {
			s.add(x)
		}
	}
	if s.n < pairsKnown {
		return 0, 0, false
	}
	return s.mean, math.Sqrt(s.squares / (s.n - 1) / s.n), true
}

// excess is how much further than the control leg the changed one is from what was expected, in the direction of the side: points for
// rates and shares, the logarithm of the ratio for means.
func (c *comparison) excess(i int) (x float64, known bool) {
	a, b, slot := &c.own[i], &c.control[i], c.sd.slot
	if a.unknown != 0 || b.unknown != 0 {
		return 0, false
	}
	switch c.j.rule.Signal {
	case ErrorRate, Requests:
		return a.value[slot] - b.value[slot], true
	case TotalTime, TLSTime, ResponseSize:
		ours, theirs := a.value[slot]/c.j.expected[slot], b.value[slot]/c.other.expected[slot]
		x = math.Log(max(ours, leastRatio) / max(theirs, leastRatio))
	case StatusShare, TLS13Share:
		x = a.value[slot] - c.j.expected[slot] - (b.value[slot] - c.other.expected[slot])
	}
	if !c.sd.up {
		x = -x
	}
	return x, true
}

// band is a part of the distance between what is expected and the limit, in the unit of excess.
func (c *comparison) band(part float64) float64 {
	e := c.j.expected[c.sd.slot]
	switch c.j.rule.Signal {
	case ErrorRate, Requests:
		return part * c.sd.limit
	case TotalTime, TLSTime, ResponseSize:
		return math.Abs(math.Log(1 + part*(c.sd.limit/e-1)))
	case StatusShare, TLS13Share:
	}
	return part * math.Abs(c.sd.limit-e)
}

// shown is an excess in points or percent.
func (c *comparison) shown(difference float64) float64 {
	switch c.j.rule.Signal {
	case TotalTime, TLSTime, ResponseSize:
		if !c.sd.up {
			difference = -difference
		}
		return 100 * (math.Exp(difference) - 1)
	case ErrorRate, Requests, StatusShare, TLS13Share:
	}
	if !c.sd.up {
		return -difference
	}
	return difference
}

// Alike names a rule and platform for which both legs moved alike in the hour before the change, so that the one can be the control
// of the other.
type Alike struct{ Rule, Platform string }

// alike reports whether the control leg may be asked.
func (b *Baseline) alike(r *Rule, platform string) bool {
	for i := range b.Alike {
		if a := &b.Alike[i]; a.Platform == platform && a.Rule == r.Name {
			return true
		}
	}
	return false
}

// compareLegs finds the rules and platforms with parallel trends: the rule, run on one leg against the other over the hour before,
// has at most one breaching minute in any twelve.
func (b *Baseline) compareLegs(t *Table, rules []Rule) {
	for i := range rules {
		r := &rules[i]
		if r.Signal == Requests {
			continue
		}
		for _, p := range platformsOf(t, b, r) {
			if b.parallel(t, r, p) {
				b.Alike = append(b.Alike, Alike{Rule: r.Name, Platform: p})
			}
		}
	}
}

func (b *Baseline) parallel(t *Table, r *Rule, platform string) bool {
	before := t.Through(r.Source, b.At) + 1
	s := Situation{Since: before - 2*trendMinutes, Share: 50}
	j := judge{rule: r, leg: Primary, situation: &s, own: t.input(r.Source, platform, Primary), needs: r.Signal.Needs(), minimum: r.minimum()}
	j.expect(b.of(r.Source, platform, Primary))
	other := j.opposite(t, b, platform)
	if j.compares && (!j.known || !other.known) {
		return false
	}
	obs := make([]observation, 2*trendMinutes)
	own, control := obs[:trendMinutes], obs[trendMinutes:]
	j.observe(own, before-trendMinutes)
	other.observe(control, before-trendMinutes)
	var buf [maxSides]side
	sides := j.sides(&buf)
	for i := range sides {
		c := comparison{sd: &sides[i], j: &j, other: &other, own: own, control: control}
		if !c.quiet() {
			return false
		}
	}
	return len(sides) > 0
}

// quiet reports that the excess stayed within the whole band, but for one minute in any twelve, on enough minutes to say so.
func (c *comparison) quiet() bool {
	known, last := 0, -trendWindow // of the newest breaching minute
	for i := range c.own {
		x, ok := c.excess(i)
		if ok {
			known++
		}
		if ok && beyond(x, c.band(1)) {
			if i-last < trendWindow {
				return false
			}
			last = i
		}
	}
	return known >= baselineKnown
}
