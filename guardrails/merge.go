package guardrails

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// historyMinutes bounds a table: rows older than 35 days are left out. It covers every use (the longest is a recorded month) and
// keeps one absurd minute from asking for all memory.
const historyMinutes = 35 * 24 * 60

// Batch is one answer of a source: the minutes From..To were asked for, and Rows came back.
type Batch struct {
	Source string
	Settle time.Duration // the source's settle time, ≥ 0
	From   Minute
	To     Minute
	Rows   []Row
}

// Merge returns the table with a batch in it. Rows outside From..To, of minutes that have not ended at now, or older than 35 days are
// left out. Counts that are negative, not finite, above 10^15, or whose parts are more than their whole become NotANumber (a part up
// to a tenth above is the whole); two different rows for one minute in the same batch become Partial. Minutes that had not settled
// at now may be in the table, but do not count as asked for: [Table.Through] waits until they were asked for again.
func (t Table) Merge(b Batch, now time.Time) Table {
	out := Table{sources: slices.Clone(t.sources)}
	i := slices.IndexFunc(out.sources, func(s source) bool { return s.name == b.Source })
	if i < 0 {
		out.sources = append(out.sources, source{name: b.Source, through: MinuteOf(now) - historyMinutes})
		i = len(out.sources) - 1
	}
	s := &out.sources[i]
	s.settle = max(b.Settle, 0)
	s.through = max(s.through, min(b.To, s.settledAt(now)))
	s.series = slices.Clone(s.series)
	s.merge(resolve(b, now))
	return out
}

// merge puts resolved rows into the series, whose slice the caller owns.
func (s *source) merge(rows []Row) {
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && sameSeries(&rows[n], &rows[0]) {
			n++
		}
		e := s.edit(rows[0].Platform, rows[0].Leg)
		for i := range rows[:n] {
			e.put(rows[i].Minute, &cell{counts: rows[i].Counts, unknown: rows[i].Unknown})
		}
		rows = rows[n:]
	}
}

// edit returns the series, in its sorted place, to be changed.
func (s *source) edit(platform string, leg Leg) editor {
	i, found := slices.BinarySearchFunc(s.series, series{platform: platform, leg: leg}, func(a, b series) int {
		return cmp.Or(strings.Compare(a.platform, b.platform), cmp.Compare(a.leg, b.leg))
	})
	if !found {
		s.series = slices.Insert(s.series, i, series{platform: platform, leg: leg})
	}
	e := editor{series: &s.series[i]}
	e.blocks = slices.Clone(e.blocks)
	return e
}

// Resolved returns the batch as Merge will use it: rows sorted, without those that Merge leaves out, numbers checked and duplicates
// settled. Resolved twice is resolved once. Rows of the result can be encoded as JSON.
func (b Batch) Resolved(now time.Time) Batch {
	b.Rows = resolve(b, now)
	return b
}

// resolve sorts a batch's rows, checks their numbers and settles duplicates, so that the order of delivery cannot matter.
func resolve(b Batch, now time.Time) []Row {
	if b.isResolved(now) {
		return b.Rows
	}
	order := b.counting(now)
	slices.SortFunc(order, func(i, j int32) int { return cmp.Or(bySeries(&b.Rows[i], &b.Rows[j]), cmp.Compare(i, j)) })
	out := make([]Row, 0, len(order))
	for _, i := range order {
		r := b.Rows[i].checked()
		if n := len(out); n > 0 && sameSeries(&out[n-1], &r) && out[n-1].Minute == r.Minute {
			if out[n-1] != r {
				out[n-1].Unknown, out[n-1].Counts = Partial, Counts{}
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

// counting are the indices of the rows that were asked for and may be in a table at now. Indices are sorted instead of rows, which are ten
// times as long and hold a pointer.
func (b Batch) counting(now time.Time) []int32 {
	order := make([]int32, 0, len(b.Rows))
	last := MinuteOf(now) - 1
	for i := range b.Rows {
		if b.counts(&b.Rows[i], last) {
			order = append(order, int32(i))
		}
	}
	return order
}

// counts reports whether a row was asked for and may be in a table whose last minute is given.
func (b Batch) counts(r *Row, last Minute) bool {
	asked := r.Minute >= b.From && r.Minute <= b.To
	return asked && r.Minute <= last && r.Minute > last-historyMinutes && (r.Leg == Primary || r.Leg == Backup)
}

// isResolved reports whether resolving the batch would change nothing.
func (b Batch) isResolved(now time.Time) bool {
	last := MinuteOf(now) - 1
	for i := range b.Rows {
		r := &b.Rows[i]
		if !b.counts(r, last) || i > 0 && bySeries(&b.Rows[i-1], r) >= 0 || !r.isChecked() {
			return false
		}
	}
	return true
}

func bySeries(a, b *Row) int {
	if c := strings.Compare(a.Platform, b.Platform); c != 0 {
		return c
	}
	if a.Leg != b.Leg {
		return int(a.Leg - b.Leg)
	}
	return int(a.Minute - b.Minute)
}

func sameSeries(a, b *Row) bool { return a.Platform == b.Platform && a.Leg == b.Leg }
