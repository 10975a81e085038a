package plans

import "slices"

// generatedRollback is the way back of a plan that writes none: pull both levers, prove the TLS versions, then return through the
// shares of the way there, lowest first.
func generatedRollback(steps []Step) []Step {
	var shares []Percent
	for _, s := range steps {
		if shift, ok := s.(Shift); ok && shift.Primary > 0 {
			shares = append(shares, shift.Primary)
		}
	}
	slices.Sort(shares)
	back := []Step{Together{Steps: []Step{Shift{Primary: 0}, TLS{Restore: true}}}, Verify{}}
	for _, share := range slices.Compact(shares) {
		back = append(back, Shift{Primary: share})
	}
	return back
}

// RollbackFor returns the way back of a run that observed this share of the primary at its start: the steps of Rollback without the
// shifts that would reach or pass it. The last return, to exactly the observed weights, is not a step of the plan; the caller adds it.
func (p *Plan) RollbackFor(observed Percent) []Step {
	back := make([]Step, 0, len(p.Rollback))
	for _, s := range p.Rollback {
		if shift, ok := s.(Shift); ok && shift.Primary > 0 && shift.Primary >= observed {
			continue
		}
		back = append(back, s)
	}
	return back
}
