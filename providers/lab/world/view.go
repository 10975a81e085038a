package world

import (
	"math"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// View is one way of looking at the traffic.
type View int

// The views. RUM is what clients measured, by platform and leg; the edge views are what one CDN's own monitoring counts.
const (
	RUM View = iota + 1
	EdgePrimary
	EdgeBackup
)

// Edge returns the view of a leg's own monitoring.
func Edge(leg guardrails.Leg) View {
	if leg == guardrails.Backup {
		return EdgeBackup
	}
	return EdgePrimary
}

// String returns "rum", "edge of primary" or "edge of backup".
func (v View) String() string {
	switch v {
	case RUM:
		return "rum"
	case EdgePrimary, EdgeBackup:
		return "edge of " + v.leg().String()
	}
	return "no view"
}

func (v View) leg() guardrails.Leg {
	if v == EdgeBackup {
		return guardrails.Backup
	}
	return guardrails.Primary
}

// When figures appear. Client measurements are complete a minute after the minute, CDN monitoring after seven.
const (
	rumSettled  = time.Minute
	edgeDelay   = 5 * time.Minute
	edgeSettled = 7 * time.Minute
	// One minute in a hundred grows by up to 1 % this long after it ended.
	lateGrowth = 3 * time.Minute
)

// Minutes returns the minutes from..to, both included, that a view shows at now. RUM has a row for each platform and leg, edge views one
// row with Platform "". Minutes that are not visible yet are absent, and so are edge minutes without traffic. Minutes older than
// [History] before the start are computed when they are asked for, at the first share: a week of them takes about a tenth of a
// second.
//
// Rows are as an adapter delivers them: a row with a NaN in its sums is NotANumber and has no counts.
func (w *World) Minutes(now time.Time, view View, from, to guardrails.Minute) []guardrails.Row {
	if view == RUM {
		rows := w.Measured(now, from, to)
		if w.effect.measured == poison {
			for i := range rows {
				if r := &rows[i]; math.IsNaN(r.Counts.TotalMS) {
					r.Unknown, r.Counts = guardrails.NotANumber, guardrails.Counts{}
				}
			}
		}
		return rows
	}
	var rows []guardrails.Row
	for _, c := range w.Codes(now, view.leg(), from, to) {
		rows = append(rows, guardrails.Row{Leg: view.leg(), Minute: c.Minute, Counts: statusCounts(c.Codes)})
	}
	return rows
}

// Measured returns what the metric system holds of the client measurements: the rows of the view [RUM], with NaN where it holds NaN. They are
// sorted by platform, leg and minute.
func (w *World) Measured(now time.Time, from, to guardrails.Minute) []guardrails.Row {
	series := make([][]guardrails.Row, 2*len(w.cfg.Platforms))
	room := max(0, min(int(to-from)+1, historyRows))
	all := make([]guardrails.Row, room*len(series))
	for at, i := range w.byName {
		for leg := range 2 {
			from := (2*at + leg) * room
			series[2*i+leg] = all[from : from : from+room]
		}
	}
	w.eachMinute(now, from, to, RUM, func(m guardrails.Minute, counts []guardrails.Counts, _ *legStatuses) {
		w.rumRows(series, m, counts, w.rumPart(m, now))
	})
	rows := all[:0] // each series moves towards the front
	if int(to-from) >= room {
		rows = nil // one may have outgrown its room, and would move over the next
	}
	for _, i := range w.byName {
		rows = append(append(rows, series[2*i]...), series[2*i+1]...)
	}
	return rows
}

// historyRows bounds how many minutes' rows are made room for at once.
const historyRows = 400

// Codes is the edge view of a leg with exact status codes.
func (w *World) Codes(now time.Time, leg guardrails.Leg, from, to guardrails.Minute) []CodeMinute {
	return w.codes(now, leg, from, to, w.edgePart)
}

// Final returns a leg's edge minutes as they will be once complete, for minutes that have ended by now. No API shows them this early.
func (w *World) Final(now time.Time, leg guardrails.Leg, from, to guardrails.Minute) []CodeMinute {
	return w.codes(now, leg, from, to, func(guardrails.Minute, time.Time) float64 { return 1 })
}

func (w *World) codes(
	now time.Time, leg guardrails.Leg, from, to guardrails.Minute, part func(guardrails.Minute, time.Time) float64,
) []CodeMinute {
	var list []CodeMinute
	w.eachMinute(now, from, to, Edge(leg), func(m guardrails.Minute, counts []guardrails.Counts, statuses *legStatuses) {
		visible := part(m, now)
		c := CodeMinute{Minute: m, Codes: codesOf(statuses[leg-1], visible)}
		if len(c.Codes) == 0 {
			return
		}
		for i := int(leg) - 1; i < len(counts); i += 2 {
			c.Bytes += cut(counts[i].Bytes, visible)
		}
		list = append(list, c)
	})
	return list
}

// eachMinute calls f for every minute of from..to that has ended by now, computing those before the world's history as they are asked.
func (w *World) eachMinute(
	now time.Time, from, to guardrails.Minute, view View, f func(guardrails.Minute, []guardrails.Counts, *legStatuses),
) {
	w.Advance(now)
	n := 2 * len(w.cfg.Platforms)
	for m := max(from, 0); m <= to && m < w.next && !m.End().After(now); m++ {
		if m >= w.first {
			i := int(m - w.first)
			f(m, w.counts[i*n:(i+1)*n], &w.statuses[i])
			continue
		}
		p := w.pastMinute(now, m, view)
		f(m, p.counts, &p.statuses)
	}
}

// rolled is a minute before the world's history.
type rolled struct {
	counts   []guardrails.Counts
	statuses legStatuses
	answered bool // statuses are there
}

// pastKept is how many blocks of them are remembered: a week of all hours, and a little more. A source asks for the same ones once a field.
const (
	pastBlock = 60
	pastKept  = 8 * 24
)

func (w *World) pastMinute(now time.Time, m guardrails.Minute, view View) *rolled {
	p := w.pastOf(m)
	if p.counts != nil && (p.answered || view == RUM) {
		return p
	}
	x := mix{share: w.answered[0].share + 0.04*(w.unit(m, forPast)-0.5)}
	if w.cfg.Quiet {
		x.share = w.answered[0].share
	}
	x.share = min(max(x.share, 0), 1)
	x.legs[0].add(w.tlsStart, w.tlsStart, guardrails.Primary, 1)
	x.legs[1].add(w.EdgeTLS(now, guardrails.Backup, 0), w.tlsStart, guardrails.Backup, 1)
	if p.counts == nil {
		p.counts = make([]guardrails.Counts, 2*len(w.cfg.Platforms))
	}
	if view != RUM {
		p.answered = true
		w.roll(m, x, p.counts, &p.statuses)
	} else {
		w.rollCounts(m, x, p.counts)
	}
	return p
}

// pastOf is where a minute before the world's history is kept.
func (w *World) pastOf(m guardrails.Minute) *rolled {
	b := w.past[m/pastBlock]
	if b == nil {
		if w.past == nil || len(w.past) >= pastKept {
			w.past = map[guardrails.Minute]*[pastBlock]rolled{}
		}
		b = new([pastBlock]rolled)
		w.past[m/pastBlock] = b
	}
	return &b[m%pastBlock]
}

// rumRows adds a row of the minute to each series.
func (w *World) rumRows(series [][]guardrails.Row, m guardrails.Minute, counts []guardrails.Counts, part float64) {
	if part == 0 {
		return
	}
	harm := w.damage(m)
	for i := range counts {
		leg := guardrails.Leg(i%2 + 1)
		r := guardrails.Row{Platform: w.cfg.Platforms[i/2].Name, Leg: leg, Minute: m, Counts: cutCounts(counts[i], part)}
		if leg == guardrails.Primary {
			switch harm {
			case vanish, skip:
				continue
			case poison:
				r.Counts.TotalMS, r.Counts.TLSMS, r.Counts.Bytes = math.NaN(), math.NaN(), math.NaN()
			}
		}
		series[i] = append(series[i], r)
	}
}

// gapEvery is how many minutes there are to one that is skipped.
const gapEvery = 6

// damage is what happens to the primary's measurements of a minute.
func (w *World) damage(m guardrails.Minute) damage {
	harm := w.effect.measured
	if harm == 0 || m.Start().Before(w.cfg.Onset) || harm == skip && m%gapEvery != 0 || w.exposed(m, guardrails.Primary).changed == 0 {
		return 0
	}
	return harm
}

// rumPart is how complete a minute of client measurements is at now, 0 while it cannot be seen.
func (w *World) rumPart(m guardrails.Minute, now time.Time) float64 {
	if w.cfg.Quiet {
		return 1
	}
	age := now.Sub(m.End())
	first := 20*time.Second + time.Duration(w.unit(m, forFirstSight)*float64(30*time.Second))
	switch {
	case age < first:
		return 0
	case age < rumSettled:
		return 0.60 + 0.35*w.unit(m, forCompleteness)
	case age < lateGrowth && w.unit(m, forRevision) < 0.01:
		return 0.99
	}
	return 1
}

// edgePart is the same for CDN monitoring.
func (w *World) edgePart(m guardrails.Minute, now time.Time) float64 {
	if w.cfg.Quiet {
		return 1
	}
	switch age := now.Sub(m.End()); {
	case age < edgeDelay:
		return 0
	case age < edgeSettled:
		return 0.97 + 0.029*w.unit(m, forCompleteness)
	}
	return 1
}

func cut(n, part float64) float64 {
	if part == 1 {
		return n
	}
	return math.Floor(n * part)
}

func cutCounts(c guardrails.Counts, part float64) guardrails.Counts {
	if part == 1 {
		return c
	}
	for _, n := range []*float64{&c.Requests, &c.Errors, &c.TotalMS, &c.TLSMS, &c.TLS, &c.Bytes, &c.TLS13} {
		*n = cut(*n, part)
	}
	return c
}
