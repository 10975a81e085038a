package plans

import (
	"strconv"
	"time"
)

// verifyTime is the least time that a shift takes to be verified by the carried share: the TTL, five minutes of data, their
// settling, and two more ticks.
func verifyTime(p *Plan) time.Duration {
	return p.DNS.TTL + 5*time.Minute + carriedSettle(p) + 2*time.Minute
}

// carriedSettle is the settle time of the source that tells the carried share: the fastest that tells the CDNs apart, or the slowest of all.
func carriedSettle(p *Plan) time.Duration {
	fastest, slowest := forever, time.Duration(0)
	for _, s := range p.Sources {
		slowest = max(slowest, s.Settle)
		if s.tells("cdn") {
			fastest = min(fastest, s.Settle)
		}
	}
	return min(fastest, slowest)
}

// lintNight compares the steps with the time between the start and advance_until. A last step up that cannot be reached is an
// error: the plan would always stop short of it.
func (d *decoder) lintNight(p *Plan) {
	start, ok, err := p.StartAt()
	if err != nil || !ok {
		return
	}
	until, ok := p.AdvanceUntilAfter(start)
	if !ok {
		return
	}
	waits, verified, path := start, start, ""
	for i, s := range p.Steps {
		if shift, ok := s.(Shift); ok && shift.Primary > 0 {
			path = "steps[" + strconv.Itoa(i) + "].shift"
			if !waits.Before(until) {
				d.errorAt(path, "this step comes after advance_until: the waits before it take until "+clockText(waits, start), "shorten the waits or move advance_until")
				return
			}
			if !verified.Before(until) {
				d.warnAt(path, "this step can hardly start before advance_until: with the shares before it verified it is "+clockText(verified, start), "shorten the waits or move advance_until")
				return
			}
		}
		waits = pass(s, waits, 0)
		verified = pass(s, verified, verifyTime(p))
	}
}

// pass returns when a step that began at t ends at the earliest.
func pass(s Step, t time.Time, verify time.Duration) time.Time {
	switch v := s.(type) {
	case Shift:
		return t.Add(verify + v.Bake)
	case Together:
		return t.Add(verify)
	case Bake:
		return t.Add(v.For)
	case Observe:
		return v.EndAfter(t, t.Location())
	case TLS, Approve, Call, Verify, nil:
	}
	return t
}

// clockText prints t as a clock time, with the date when that is not the day of start.
func clockText(t, start time.Time) string {
	if t.Format(time.DateOnly) == start.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// lintWayBack compares the least time of the way back with hold_limit, the time in which a night without people is to end.
func (d *decoder) lintWayBack(p *Plan) {
	least := time.Duration(0)
	for _, s := range p.Rollback {
		switch v := s.(type) {
		case Shift:
			least += verifyTime(p) + v.Bake
		case Together:
			least += verifyTime(p)
		case Bake:
			least += v.For
		case TLS, Observe, Approve, Call, Verify:
		}
	}
	where := "steps"
	for _, path := range []string{"hold_limit", "rollback"} {
		if d.given(path) {
			where = path
		}
	}
	if least > p.HoldLimit {
		d.warnAt(where, "the way back takes "+durationText(least)+" at least, longer than hold_limit ("+durationText(p.HoldLimit)+")",
			"use fewer shifts on the way back, a shorter TTL, or a longer hold_limit")
	}
}
