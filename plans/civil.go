package plans

import "time"

// MinutesBack returns how many minutes before at the clock of the plan's zone showed the same time, some days earlier. ok is false when
// the clock is changed within from..until, in the night itself or on that day: the two have no common clock then, and the day is left
// out. days is at least 1.
func (p *Plan) MinutesBack(at time.Time, days int, from, until time.Time) (minutes int, ok bool) {
	loc := p.Location()
	local := at.In(loc)
	y, m, d := local.Date()
	civil := time.Date(y, m, d-days, local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), time.UTC)
	found := instants(civil, loc)
	if len(found) != 1 {
		return 0, false
	}
	back := at.Sub(found[0])
	if !steady(from, until, loc) || !steady(from.Add(-back), until.Add(-back), loc) {
		return 0, false
	}
	return int(back / time.Minute), true
}

// steady reports that the clock is not changed between two instants.
func steady(from, until time.Time, loc *time.Location) bool {
	_, a := from.In(loc).Zone()
	for t := from; t.Before(until); t = t.Add(time.Hour) {
		if _, b := t.In(loc).Zone(); b != a {
			return false
		}
	}
	_, b := until.In(loc).Zone()
	return a == b
}

// What a run may need beyond what its steps say, when nothing goes wrong for long.
const (
	proofTime  = 15 * time.Minute // to verify a share, or prove TLS settings
	backTime   = 2 * time.Hour    // a hold, and the way back
	maxHorizon = 24 * time.Hour
)

// Horizon returns by when a run that starts at an instant has usually ended, its way back included: at most a day later.
func (p *Plan) Horizon(start time.Time) time.Time {
	at := start
	for _, s := range p.Steps {
		switch s := s.(type) {
		case Shift:
			at = at.Add(proofTime + s.Bake)
		case TLS, Together:
			at = at.Add(proofTime)
		case Bake:
			at = at.Add(s.For)
		case Observe:
			at = s.EndAfter(at, p.Location())
		case Approve:
			at = at.Add(s.TTL)
		case Call, Verify:
		}
	}
	if limit := start.Add(maxHorizon); at.Add(backTime).After(limit) {
		return limit
	}
	return at.Add(backTime)
}
