package plans

import "time"

// ObserveCap is the most that [Plan.EndAfter] counts for one observation.
const ObserveCap = 24 * time.Hour

// EndAfter returns the earliest end of a run that starts at an instant, if nothing goes wrong: every share verified and every wait waited
// out, an observation for 24 hours at most. Changes of TLS settings, approvals and calls count as no time.
func (p *Plan) EndAfter(start time.Time) time.Time {
	at := start.In(p.Location())
	for _, s := range p.Steps {
		next := pass(s, at, verifyTime(p))
		if _, observes := s.(Observe); observes && next.Sub(at) > ObserveCap {
			next = at.Add(ObserveCap)
		}
		at = next
	}
	return at
}

// OnClock returns every instant at which the clock in loc shows a civil time, in order: one as a rule, none where the clock is put forward
// over it, two where it is put back. The fields of civil are read in UTC.
func OnClock(civil time.Time, loc *time.Location) []time.Time { return instants(civil, loc) }
