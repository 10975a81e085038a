package sim

import (
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// The claim's times are those of package engine.
const leaseTTL = engine.LeaseTTL

func callTimeout() time.Duration { return engine.CallTimeout(leaseTTL) }

// spell is a time in which calls go wrong. from and to count from the start, or from the beginning of the way back.
type spell struct {
	from, to time.Duration
	back     bool
	api      string  // prefix of the calls' names, or the name of a source; "" is every one
	part     float64 // of the calls
	writes   bool    // only these
	trouble  world.Trouble
	behind   time.Duration // reads show an older state
	slow     time.Duration // calls take longer, up to
	metric   metricTrouble
	leg      guardrails.Leg // metric: 0 is both
}

// metricTrouble is what becomes of measurements.
type metricTrouble int

const (
	metricLate    metricTrouble = iota + 1 // three minutes behind
	metricMissing                          // none
	metricPartial                          // marked as incomplete
	metricCut                              // a third too few, until the spell is over: then they are revised
	metricFails                            // the source does not answer
)

// storm is the conditions of a random night, and its watcher.
type storm struct {
	*night
	calls map[string]uint64 // by API
}

var _ conditions = (*storm)(nil)

// chance is a number in [0, 1) that depends on the night, the API, how often it was called, and the purpose.
func (s *storm) chance(api string, n, purpose uint64) float64 {
	x := s.script.seed ^ uint64(max(0, s.script.index))*0x9e3779b97f4a7c15 ^ n*0xd1b54a32d192ed03 ^ purpose*0x94d049bb133111eb
	for _, c := range []byte(api) {
		x = (x ^ uint64(c)) * 0x100000001b3
	}
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) / (1 << 53)
}

// in reports whether a spell is on.
func (s *storm) in(p *spell, name string, now time.Time) bool {
	begin := s.script.start
	if p.back {
		if s.turned.IsZero() {
			return false
		}
		begin = s.turned
	}
	return !now.Before(begin.Add(p.from)) && now.Before(begin.Add(p.to)) && strings.HasPrefix(name, p.api)
}

// Purposes of chances.
const (
	forPart uint64 = iota + 1
	forDelay
	forBefore
	forBehind
	forLoss
)

// call implements conditions.
func (s *storm) call(api string, kind world.Call, now time.Time) reply {
	s.calls[api]++
	n := s.calls[api]
	took := time.Duration(float64(s.script.delay) * (0.3 + 1.4*s.chance(api, n, forDelay)))
	r := reply{}
	for i := range s.script.spells {
		p := &s.script.spells[i]
		if p.metric != 0 || p.writes && kind != world.Writing || !s.in(p, api, now) || s.chance(api, n, forPart<<8+uint64(i)) >= p.part {
			continue
		}
		switch {
		case p.behind > 0:
			r.behind = time.Duration(float64(p.behind) * s.chance(api, n, forBehind))
		case p.slow > 0:
			took += time.Duration(float64(p.slow) * s.chance(api, n, forBehind))
		default:
			r.err = p.trouble.Err(api, kind)
			r.lost = !p.trouble.CarriedOut() || s.chance(api, n, forLoss) < 0.4
			if p.trouble == world.Timeout {
				took = callTimeout()
			}
		}
	}
	took = min(took, callTimeout())
	r.before = time.Duration(float64(took) * s.chance(api, n, forBefore))
	r.after = took - r.before
	return r
}

// rows implements conditions.
func (s *storm) rows(source string, now time.Time, to guardrails.Minute, rows []guardrails.Row) ([]guardrails.Row, error) {
	for i := range s.script.spells {
		p := &s.script.spells[i]
		if p.metric == 0 || !s.in(p, source, now) {
			continue
		}
		if p.metric == metricFails {
			return nil, world.ServerError.Err(source, world.Reading)
		}
		rows = p.spoil(rows, to, guardrails.MinuteOf(s.script.start.Add(p.from)))
	}
	return rows, nil
}

// spoil is what a spell leaves of the minutes since it began.
func (p *spell) spoil(rows []guardrails.Row, to, begun guardrails.Minute) []guardrails.Row {
	out := rows[:0]
	for _, r := range rows {
		if p.leg != 0 && r.Leg != p.leg || r.Minute < begun {
			out = append(out, r)
			continue
		}
		switch p.metric {
		case metricMissing:
			continue
		case metricLate:
			if r.Minute > to-3 {
				continue
			}
		case metricPartial:
			r.Unknown, r.Counts = guardrails.Partial, guardrails.Counts{}
		case metricCut:
			for _, n := range []*float64{&r.Counts.Requests, &r.Counts.Errors, &r.Counts.TotalMS, &r.Counts.TLSMS, &r.Counts.TLS, &r.Counts.Bytes, &r.Counts.TLS13} {
				*n = float64(int64(*n * 2 / 3))
			}
		case metricFails:
		}
		out = append(out, r)
	}
	return out
}

// mayWrite implements conditions: the claim of a process that was taken over is no good, and the one that took it over waits for the
// last call of the one before.
func (s *storm) mayWrite(life int, now time.Time) (time.Duration, error) {
	if life != s.w.life.number {
		return 0, world.Unlicensed()
	}
	return max(0, s.w.life.quiet.Sub(now)), nil
}

// began implements conditions.
func (s *storm) began(t *task, w sent, now time.Time) { s.writeBegan(t, w, now) }

// landed implements conditions.
func (s *storm) landed(t *task, w sent, now time.Time) { s.writeLanded(t, w, now) }

// saw implements conditions.
func (s *storm) saw(t *task, state plans.State, lever int) { s.readDone(t, state, lever) }

// refused implements conditions.
func (s *storm) refused(w sent) { s.last[w.lever()] = remembered{} }
