package guardrails

import (
	"cmp"
	"slices"
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

// merge puts resolved rows into the series, whose slice the caller owns; their cells are copied before the first change.
func (s *source) merge(rows []Row) {
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && sameSeries(&rows[n], &rows[0]) {
			n++
		}
		e := s.own(rows[0].Platform, rows[0].Leg)
		for i := range rows[:n] {
			e.put(rows[i].Minute, cell{counts: rows[i].Counts, unknown: rows[i].Unknown})
		}
		rows = rows[n:]
	}
}

// own returns the series, in its sorted place, with cells that nobody shares.
func (s *source) own(platform string, leg Leg) *series {
	i, found := slices.BinarySearchFunc(s.series, series{platform: platform, leg: leg}, func(a, b series) int {
		return cmp.Or(cmp.Compare(a.platform, b.platform), cmp.Compare(a.leg, b.leg))
	})
	if found {
		s.series[i].cells = slices.Clone(s.series[i].cells)
	} else {
		s.series = slices.Insert(s.series, i, series{platform: platform, leg: leg})
	}
	return &s.series[i]
}

// Resolved returns the batch as Merge will use it: rows sorted, without those that Merge leaves out, numbers checked and duplicates
// settled. Resolved twice is resolved once. Rows of the result can be encoded as JSON.
func (b Batch) Resolved(now time.Time) Batch {
	b.Rows = resolve(b, now)
	return b
}

// resolve sorts a batch's rows, checks their numbers and settles duplicates, so that the order of delivery cannot matter.
func resolve(b Batch, now time.Time) []Row {
	rows := make([]Row, 0, len(b.Rows))
	last := MinuteOf(now) - 1
	for _, r := range b.Rows {
		asked := r.Minute >= b.From && r.Minute <= b.To
		if asked && r.Minute <= last && r.Minute > last-historyMinutes && (r.Leg == Primary || r.Leg == Backup) {
			rows = append(rows, r.checked())
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Platform, b.Platform), cmp.Compare(a.Leg, b.Leg), cmp.Compare(a.Minute, b.Minute))
	})
	out := rows[:0]
	for i := range rows {
		r := rows[i]
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

func sameSeries(a, b *Row) bool { return a.Platform == b.Platform && a.Leg == b.Leg }
