package backtest

import (
	"cmp"
	"slices"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// recorded is one source, sorted once: series by series, each by minute, so that a night is cut out of it by looking up its ends.
type recorded struct {
	name   string
	settle time.Duration
	series [][]guardrails.Row
}

type key struct {
	platform string
	leg      guardrails.Leg
}

// index sorts what was recorded. Rows mostly come in the order of time, so sorting finds most of its work done.
func index(sources []Source) []recorded {
	out := make([]recorded, 0, len(sources))
	for _, s := range sources {
		r := recorded{name: s.Name, settle: max(s.Settle, 0)}
		places, sizes := map[key]int{}, []int{}
		of := make([]int, len(s.Rows)) // the series of each row
		for i := range s.Rows {
			k := key{s.Rows[i].Platform, s.Rows[i].Leg}
			at, ok := places[k]
			if !ok {
				at = len(sizes)
				places[k], sizes = at, append(sizes, 0)
			}
			sizes[at]++
			of[i] = at
		}
		for _, n := range sizes {
			r.series = append(r.series, make([]guardrails.Row, 0, n))
		}
		for i, at := range of {
			r.series[at] = append(r.series[at], s.Rows[i])
		}
		for _, rows := range r.series {
			slices.SortStableFunc(rows, byMinute)
		}
		slices.SortFunc(r.series, func(a, b []guardrails.Row) int {
			return cmp.Or(cmp.Compare(a[0].Platform, b[0].Platform), cmp.Compare(a[0].Leg, b[0].Leg))
		})
		out = append(out, r)
	}
	return out
}

func byMinute(a, b guardrails.Row) int { return cmp.Compare(a.Minute, b.Minute) }

// settled is the newest minute of the source that is settled at an instant.
func (r *recorded) settled(at time.Time) guardrails.Minute {
	return guardrails.MinuteOf(at.Add(-r.settle)) - 1
}

// cut returns the rows of one series from one minute to another.
func cut(rows []guardrails.Row, from, to guardrails.Minute) []guardrails.Row {
	find := func(m guardrails.Minute) int {
		i, _ := slices.BinarySearchFunc(rows, m, func(r guardrails.Row, m guardrails.Minute) int { return cmp.Compare(r.Minute, m) })
		return i
	}
	return rows[find(from):find(to+1)]
}

// arrival is a series whose first minute settles after the start of the night.
type arrival struct {
	source *recorded
	rows   []guardrails.Row
}

// open makes the night's table: one batch a source, of every series that a run would have seen at the start. The judge does not look at
// minutes that have not settled, so the whole night may be in it.
func (w *watch) open() {
	for i := range w.record {
		r := &w.record[i]
		start := r.settled(w.night.Start)
		var seen []guardrails.Row
		for _, rows := range r.series {
			rows = cut(rows, start-historyMinutes+1, r.settled(w.night.End))
			switch {
			case len(rows) == 0:
			case rows[0].Minute <= start:
				seen = append(seen, rows...)
			default:
				w.coming = append(w.coming, arrival{source: r, rows: rows})
			}
		}
		w.merge(r, seen)
	}
	slices.SortStableFunc(w.coming, func(a, b arrival) int { return a.at().Compare(b.at()) })
}

// hours is a stretch of one earlier day.
type hours struct{ from, to guardrails.Minute }

// week cuts the same hours out of the record on the night's earlier days.
func (w *watch) week() *guardrails.Week {
	week := guardrails.Week{Until: guardrails.MinuteOf(w.night.End)}
	from := guardrails.MinuteOf(w.night.Start) - historyMinutes
	for _, back := range w.night.Back {
		week.Days = append(week.Days, guardrails.Day{Back: back, Table: w.day(hours{from - back, week.Until + shapeMargin - back})})
	}
	return &week
}

// day is what was recorded of some hours, cut out once.
func (w *watch) day(h hours) guardrails.Table {
	if t, ok := w.days[h]; ok {
		return t
	}
	var t guardrails.Table
	for i := range w.record {
		r := &w.record[i]
		b := guardrails.Batch{Source: r.name, Settle: r.settle, From: h.from, To: h.to}
		for _, rows := range r.series {
			b.Rows = append(b.Rows, cut(rows, b.From, b.To)...)
		}
		if len(b.Rows) > 0 {
			t = t.Merge(b, h.to.End())
		}
	}
	w.days[h] = t
	return t
}

// see adds the series whose first minute has settled.
func (w *watch) see(at time.Time) {
	for len(w.coming) > 0 && !w.coming[0].at().After(at) {
		w.merge(w.coming[0].source, w.coming[0].rows)
		w.coming = w.coming[1:]
	}
}

// at is when the first minute of a series has settled.
func (a *arrival) at() time.Time { return a.rows[0].Minute.End().Add(a.source.settle) }

// merge is an answer of the source for the whole night.
func (w *watch) merge(r *recorded, rows []guardrails.Row) {
	start, end := r.settled(w.night.Start), r.settled(w.night.End)
	b := guardrails.Batch{Source: r.name, Settle: r.settle, From: start - historyMinutes + 1, To: end, Rows: rows}
	w.table = w.table.Merge(b, w.night.End)
}
