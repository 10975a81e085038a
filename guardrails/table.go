package guardrails

import (
	"slices"
	"time"
)

// idleGrace is how much longer than its settle time a source may be silent before its minutes count as missing
// (reference semantics: "newest minute has not advanced for W + 3 min").
const idleGrace = blindMinutes * time.Minute

// Table holds the minutes of every source. The zero Table is empty. It is a value: Merge and Trim return a new one that shares the
// series they did not touch, so tables may be read by many goroutines at once.
type Table struct{ sources []source }

type source struct {
	name    string
	settle  time.Duration
	through Minute   // newest settled minute that was asked for and answered
	series  []series // sorted by platform and leg
}

// Trim returns the table without the minutes before m.
func (t Table) Trim(m Minute) Table {
	out := Table{sources: slices.Clone(t.sources)}
	for i := range out.sources {
		s := &out.sources[i]
		s.series = slices.Clone(s.series)
		for k := range s.series {
			s.series[k] = s.series[k].from(m)
		}
	}
	return out
}

// Platforms lists the platforms a source has shown so far, sorted. The caller owns the slice.
func (t Table) Platforms(name string) []string {
	var names []string
	if s := t.source(name); s != nil {
		for i := range s.series {
			if p := s.series[i].platform; len(names) == 0 || names[len(names)-1] != p {
				names = append(names, p)
			}
		}
	}
	return names
}

// Legs counts the legs that a source has shown: 0, 1 or 2.
func (t Table) Legs(name string) int {
	var seen [Backup + 1]int
	if s := t.source(name); s != nil {
		for i := range s.series {
			seen[s.series[i].leg] = 1
		}
	}
	return seen[Primary] + seen[Backup]
}

// Through is the newest minute of a source that counts as settled at now: settled by the clock and asked for. A source that has
// been silent for its settle time and three minutes more is judged by the clock alone, so its minutes become Missing. So is one that
// never answered.
func (t Table) Through(name string, now time.Time) Minute {
	s := t.source(name)
	if s == nil {
		return MinuteOf(now) - 1
	}
	settled := s.settledAt(now)
	if settled > s.through && now.Sub(s.through.End()) < s.settle+idleGrace {
		return s.through
	}
	return settled
}

// settledAt is the newest minute whose end lies the settle time in the past.
func (s *source) settledAt(now time.Time) Minute { return MinuteOf(now.Add(-s.settle)) - 1 }

// Counts returns one minute of one platform; unknown is 0 when it can be judged.
func (t Table) Counts(name, platform string, leg Leg, m Minute) (c Counts, unknown Unknown) {
	at, unknown := t.find(name, platform, leg).at(m)
	if at == nil {
		return Counts{}, unknown
	}
	return *at, unknown
}

func (t *Table) source(name string) *source {
	for i := range t.sources {
		if t.sources[i].name == name {
			return &t.sources[i]
		}
	}
	return nil
}

func (t *Table) find(name, platform string, leg Leg) *series {
	if s := t.source(name); s != nil {
		return s.find(platform, leg)
	}
	return nil
}

func (s *source) find(platform string, leg Leg) *series {
	for i := range s.series {
		if e := &s.series[i]; e.leg == leg && e.platform == platform {
			return e
		}
	}
	return nil
}
