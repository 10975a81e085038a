package guardrails

import "slices"

// series is one platform on one leg, as far as its minutes first..last. It is dense, in blocks that start at a multiple of their length:
// a table that is made from another one shares the blocks that it does not change.
type series struct {
	platform string
	leg      Leg
	first    Minute
	last     Minute
	base     Minute // of the first block
	blocks   []*block
}

// blockLen is a little more than a source is usually asked for at once.
const blockLen = 16

type block [blockLen]cell

type cell struct {
	counts  Counts
	unknown Unknown // 0 when counts can be judged
}

// at returns one minute; a series that does not exist has none. The counts belong to the table and are nil when there is no row.
func (s *series) at(m Minute) (*Counts, Unknown) {
	if s == nil || m < s.first || m > s.last || len(s.blocks) == 0 {
		return nil, Missing
	}
	c := &s.blocks[(m-s.base)/blockLen][(m-s.base)%blockLen]
	return &c.counts, c.unknown
}

// editor changes a series whose blocks others share: it copies a block before the first change.
type editor struct {
	*series
	own []*block // the copies
}

// put stores a cell. A known cell is not replaced by an unknown one.
func (e *editor) put(m Minute, c *cell) {
	if len(e.blocks) == 0 {
		e.base, e.first, e.last = m-m%blockLen, m, m
	}
	for m < e.base {
		e.base -= blockLen
		e.blocks = slices.Insert(e.blocks, 0, e.empty())
	}
	for m >= e.base+Minute(len(e.blocks)*blockLen) {
		e.blocks = append(e.blocks, e.empty())
	}
	for e.first > m { // what was trimmed is not there any more
		e.first--
		*e.cell(e.first) = cell{unknown: Missing}
	}
	e.last = max(e.last, m)
	if at := &e.blocks[(m-e.base)/blockLen][(m-e.base)%blockLen]; *at != *c && (c.unknown == 0 || at.unknown != 0) {
		*e.cell(m) = *c
	}
}

// cell is one that may be changed.
func (e *editor) cell(m Minute) *cell {
	b := &e.blocks[(m-e.base)/blockLen]
	if !slices.Contains(e.own, *b) {
		c := **b
		*b = &c
		e.own = append(e.own, *b)
	}
	return &(*b)[(m-e.base)%blockLen]
}

func (e *editor) empty() *block {
	var b block
	for i := range b {
		b[i].unknown = Missing
	}
	e.own = append(e.own, &b)
	return &b
}

// from is the series without the minutes before m.
func (s series) from(m Minute) series {
	if m > s.last {
		return series{platform: s.platform, leg: s.leg}
	}
	if m > s.first {
		gone := (m - s.base) / blockLen
		s.first, s.base, s.blocks = m, s.base+gone*blockLen, s.blocks[gone:]
	}
	return s
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
