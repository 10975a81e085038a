package guardrails

// mark is what one minute is on one side of a rule.
type mark int

const (
	unknown mark = iota
	fine
	breach
)

// side is one limit of a rule. The sides of a swing are judged apart: a window that mixes up and down is not sustained.
type side struct {
	name    string
	slot    int  // which value of the observation
	up      bool // breach above the limit, else below
	limit   float64
	extreme float64 // the limit of FAST, when fast
	fast    bool
}

// maxSides is how many limits a rule can have: status_share watches three classes both ways.
const maxSides = 6

// sides lists the limits of the rule in buf. Means and shares have them around what the baseline says.
func (j *judge) sides(buf *[maxSides]side) []side {
	r, out := j.rule, buf[:0]
	switch r.Signal {
	case ErrorRate:
		if r.Above > 0 {
			out = append(out, side{name: "above", up: true, limit: float64(r.Above), fast: true, extreme: fastFactor * float64(r.Above)})
		}
	case TotalTime, TLSTime, ResponseSize:
		e := j.expected[0]
		if r.Rise > 0 {
			out = append(out, side{
				name: "rise", up: true, limit: e * (1 + float64(r.Rise)/100),
				fast: r.Signal != ResponseSize, extreme: e * (1 + fastFactor*float64(r.Rise)/100),
			})
		}
		if r.Drop > 0 {
			out = append(out, side{name: "drop", limit: e * (1 - float64(r.Drop)/100)})
		}
	case StatusShare:
		for _, c := range r.Classes {
			if i := int(c) - 1; i >= 0 && i < len(j.expected) && len(out)+2 <= maxSides {
				out = j.swing(out, i, c.side(true), c.side(false))
			}
		}
	case TLS13Share:
		out = j.swing(out, 0, "up", "down")
	case Requests:
		if r.FallsBelow > 0 {
			out = append(out, side{name: "falls below", limit: float64(r.FallsBelow)})
		}
	}
	return out
}

// swing appends both sides of a share that must not move.
func (j *judge) swing(out []side, slot int, up, down string) []side {
	moves := float64(j.rule.Moves)
	if moves <= 0 {
		return out
	}
	return append(out,
		side{name: up, slot: slot, up: true, limit: j.expected[slot] + moves},
		side{name: down, slot: slot, limit: j.expected[slot] - moves})
}

// mark judges one minute. Limits are strict.
func (sd *side) mark(o *observation) mark {
	switch value := o.value[sd.slot]; {
	case o.unknown != 0:
		return unknown
	case o.quiet:
		return fine
	case sd.up && beyond(value, sd.limit), !sd.up && beyond(sd.limit, value):
		return breach
	}
	return fine
}

// isExtreme reports a breach that counts for FAST.
func (sd *side) isExtreme(o *observation) bool {
	return sd.fast && o.unknown == 0 && !o.quiet && beyond(o.value[sd.slot], sd.extreme)
}

// beyond reports a > b, and calls equal what differs only by the rounding of the arithmetic: 21 of 420 is exactly 5 %.
func beyond(a, b float64) bool {
	return a-b > 1e-9*max(1, a, b)
}
