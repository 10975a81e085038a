package plans

import (
	"math"
	"strconv"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// lint reports what a sound plan rarely does. It runs on a plan without errors.
func (d *decoder) lint(p *Plan) {
	d.lintBakes(p)
	d.lintTTL(p)
	d.lintRounding(p)
	d.lintDrain(p)
	d.lintModes(p)
	d.lintNight(p)
	d.lintWayBack(p)
}

// forever stands for a wait that ends late enough for any window.
const forever = time.Duration(math.MaxInt64)

// waitAfter returns how long a run waits from step i on before it does something else: its own bake and the waits that follow it.
func waitAfter(steps []Step, i int) time.Duration {
	wait := time.Duration(0)
	if s, ok := steps[i].(Shift); ok {
		wait = s.Bake
	}
	for _, next := range steps[i+1:] {
		switch v := next.(type) {
		case Bake:
			wait += v.For
		case Observe:
			if v.Until != "" {
				return forever
			}
			wait += v.For
		case Shift, TLS, Approve, Call, Together, Verify:
			return wait
		}
	}
	return wait
}

// lintBakes compares the wait after each exposing step with the longest window of a rule.
func (d *decoder) lintBakes(p *Plan) {
	need, by := longestWindow(p)
	drained, changed := false, false
	for i, s := range p.Steps {
		path := "steps[" + strconv.Itoa(i) + "]"
		exposes := false
		switch v := s.(type) {
		case Shift:
			drained = v.Primary == 0
			exposes = !drained && changed
			path += ".shift"
			if v.Bake > 0 {
				path += ".bake"
			}
		case TLS:
			changed, exposes = true, !drained
		case Together:
			changed, drained = true, true
		case Bake, Observe, Approve, Call, Verify:
		}
		if wait := waitAfter(p.Steps, i); exposes && wait < need {
			d.warnAt(path, "the plan waits "+durationText(wait)+" here, and the rule "+by+" needs "+durationText(need)+" to see a breach",
				"wait at least "+durationText(need)+": its window and the time its source takes to settle")
		}
	}
}

// longestWindow returns the longest time from a breach's first minute until a rule that acts can see all of its window.
func longestWindow(p *Plan) (need time.Duration, by string) {
	for _, r := range p.Guardrails {
		s, _ := p.source(r.Source)
		if t := r.Within + s.Settle; r.Mode == guardrails.Act && t > need {
			need, by = t, r.Name
		}
	}
	return need, by
}

func (d *decoder) lintTTL(p *Plan) {
	shortest := forever
	for _, s := range p.Steps {
		switch v := s.(type) {
		case Shift:
			if v.Bake > 0 {
				shortest = min(shortest, v.Bake)
			}
		case Bake:
			shortest = min(shortest, v.For)
		case TLS, Observe, Approve, Call, Together, Verify:
		}
	}
	if p.DNS.TTL > shortest {
		d.warnAt("dns.ttl", "the TTL of "+durationText(p.DNS.TTL)+" is longer than the shortest step, "+durationText(shortest),
			"resolvers would still answer with the old share when the step ends: lower the TTL or lengthen the step")
	}
}

func (d *decoder) lintRounding(p *Plan) {
	for _, s := range append(flat("steps", p.Steps), flat("rollback", p.Rollback)...) {
		shift, ok := s.step.(Shift)
		path := s.path + ".shift.primary"
		if !ok || !d.given(path) {
			continue
		}
		if got := Percent(math.Round(float64(shift.Primary))); got != shift.Primary {
			d.warnAt(path, "DNS weights cannot express "+percentText(shift.Primary)+"; it becomes "+percentText(got), "write whole percents")
		}
	}
}

// lintDrain notes a primary that is drained and comes back before the change is made.
func (d *decoder) lintDrain(p *Plan) {
	drained := false
	for i, s := range p.Steps {
		switch v := s.(type) {
		case Shift:
			if drained && v.Primary > 0 {
				d.warnAt("steps["+strconv.Itoa(i)+"].shift.primary", "the primary comes back before the change is made, which then meets live traffic",
					"make the change while the primary is drained")
				return
			}
			drained = v.Primary == 0
		case TLS, Together:
			return
		case Bake, Observe, Approve, Call, Verify:
		}
	}
}

func (d *decoder) lintModes(p *Plan) {
	acts := false
	used := map[string]bool{}
	for _, r := range p.Guardrails {
		acts = acts || r.Mode == guardrails.Act
		used[r.Source] = true
	}
	if !acts {
		d.warnAt("guardrails", "every guardrail is a shadow", "nothing would ever roll back by itself")
	}
	for _, s := range p.Sources {
		for _, e := range p.Expect {
			used[s.Name] = used[s.Name] || len(s.lacks(e.Signal)) == 0
		}
		if !used[s.Name] {
			d.warnAt("sources."+s.Name, "nothing uses the source "+s.Name, "add a guardrail or remove it")
		}
	}
	if p.Change.Off.Has(TLS12) {
		d.warnAt("change.tls12", "clients that cannot speak TLS 1.3 lose the domain", "the silence guardrail is the only one that sees them go")
	}
}
