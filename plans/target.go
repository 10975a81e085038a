package plans

import "math"

// TLSTargetFor returns where the change leads from what was observed: the change applied to the versions that the API tells, or,
// when the domain runs on an untold default, to accepted, the versions that handshakes with the primary's edges showed.
func (p *Plan) TLSTargetFor(observed TLSSettings, accepted TLSSet) TLSTarget {
	if observed.Explicit {
		accepted = observed.Enabled
	}
	return TLSTarget{Enabled: p.Change.Apply(accepted)}
}

// RestoreTarget returns where the way back leads: exactly what was observed at the start, which may be no configuration at all.
func RestoreTarget(observed TLSSettings) TLSTarget {
	if !observed.Explicit {
		return TLSTarget{Absent: true}
	}
	return TLSTarget{Enabled: observed.Enabled}
}

// Notes returns what a reviewer should know about running the plan from s, and what does not stand in its way: what the file alone
// cannot tell. s is a state in which CheckState found nothing; otherwise Notes may be silent.
func (p *Plan) Notes(s State) []Finding {
	weights, ok := s.Weights(p.DNS.Line)
	if !ok {
		return nil
	}
	var c checker
	start, last, changed := weights.Share(), weights.Share(), false
	for _, st := range p.Steps {
		switch v := st.(type) {
		case Shift:
			if !changed && v.Primary > last {
				c.add("steps", "the primary's share rises from "+percentText(rounded(last))+" to "+percentText(v.Primary)+" before the change", "the change then meets more traffic than today", "Move the shift behind the tls step unless it is meant")
			}
			last = v.Primary
		case TLS:
			if changed = true; last > 0 {
				c.add("steps", "the change meets "+percentText(rounded(last))+" of the traffic at once", "the flag turns for the whole primary", "Drain the primary first unless it is meant")
			}
		case Together:
			changed, last = true, 0
		case Bake, Observe, Approve, Call, Verify:
		}
	}
	if end := WeightsFor(last, p.DNS.Zero).Share(); math.Abs(float64(end-start)) >= 0.5 && last != start {
		c.add("steps", "the run ends at a share of "+percentText(rounded(last))+", and started at "+percentText(rounded(start)), "success leaves the last share of the plan", "End with a shift to "+percentText(rounded(start))+" unless it is meant")
	}
	return c.found
}

// rounded cuts a share to two decimals, for people.
func rounded(p Percent) Percent { return Percent(math.Round(float64(p)*100) / 100) }
