package guardrails

// series is one platform on one leg. It is dense: cells[i] is minute first+i.
type series struct {
	platform string
	leg      Leg
	first    Minute
	cells    []cell
}

type cell struct {
	counts  Counts
	unknown Unknown // 0 when counts can be judged
}

// at returns one minute; a series that does not exist has none. The counts belong to the table and are nil when there is no row.
func (s *series) at(m Minute) (*Counts, Unknown) {
	if s == nil || m < s.first || m >= s.first+Minute(len(s.cells)) {
		return nil, Missing
	}
	c := &s.cells[m-s.first]
	return &c.counts, c.unknown
}

// put stores a cell. A known cell is not replaced by an unknown one.
func (s *series) put(m Minute, c cell) {
	if len(s.cells) == 0 {
		s.first = m
	}
	if m < s.first {
		s.cells = append(missingCells(int(s.first-m)), s.cells...)
		s.first = m
	}
	for len(s.cells) <= int(m-s.first) {
		s.cells = append(s.cells, cell{unknown: Missing})
	}
	at := &s.cells[m-s.first]
	if c.unknown == 0 || at.unknown != 0 {
		*at = c
	}
}

func missingCells(n int) []cell {
	cells := make([]cell, n)
	for i := range cells {
		cells[i].unknown = Missing
	}
	return cells
}

// lost reports whether the source lost a missing minute: real traffic in the three minutes before does not stop from one minute to
// the next. Elsewhere a missing minute is one without traffic, because sources leave those out.
func (s *series) lost(m Minute) bool {
	for i := Minute(1); i <= blindMinutes; i++ {
		if c, unknown := s.at(m - i); unknown == 0 {
			return c.volume() >= minErrorRequests
		}
	}
	return false
}

// input is what a rule reads of one leg: one series, or the sum of a source's platforms.
type input struct {
	one *series
	all []series // when not nil: those of leg, summed
	leg Leg
}

// input finds what is to be read; platform "" is the sum when the source tells platforms apart.
func (t *Table) input(name, platform string, leg Leg) input {
	s := t.source(name)
	if s == nil {
		return input{}
	}
	if platform == "" && len(s.series) > 0 && s.series[len(s.series)-1].platform != "" {
		return input{all: s.series, leg: leg}
	}
	return input{one: s.find(platform, leg)}
}

// at returns one minute, which belongs to the table or is summed into sum. A sum that lost a platform is missing, because the rest is
// another mix of users.
func (in *input) at(m Minute, sum *Counts) (*Counts, Unknown) {
	if in.all == nil {
		return in.one.at(m)
	}
	known := false
	for i := range in.all {
		s := &in.all[i]
		if s.leg != in.leg {
			continue
		}
		c, unknown := s.at(m)
		switch {
		case unknown == Missing && !s.lost(m):
		case unknown != 0:
			return nil, unknown
		case known:
			*sum = sum.plus(c)
		default:
			*sum, known = *c, true
		}
	}
	if !known {
		return nil, Missing
	}
	return sum, 0
}

// late is how many of the newest minutes up to m are missing and may yet come. Three of them are not late but lost
// (reference semantics: a source is idle when its newest minute is older than the settle time and three minutes).
func (in *input) late(m Minute) Minute {
	var sum Counts
	for n := range Minute(blindMinutes) {
		if _, unknown := in.at(m-n, &sum); unknown != Missing {
			return n
		}
	}
	return 0
}
