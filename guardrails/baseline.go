package guardrails

import "time"

// The baseline's figures; reference semantics, section 3.
const (
	BaselineMinutes  = 30   // settled minutes before the first change that make the baseline
	baselineKnown    = 20   // of them must be known
	baselineRequests = 2000 // requests in them
)

// Baseline is what was normal before the first change. It is frozen once and used until the end, also by the way back.
type Baseline struct {
	At     time.Time        // when it was frozen
	Series []SeriesBaseline // platform by platform
	Totals []SeriesBaseline // of sources that tell platforms apart: all of them together, for rules that are not per platform
	Shares []ShareBaseline
	Alike  []Alike // rules and platforms that have a control leg
}

// SeriesBaseline are the means of one platform on one leg. A mean whose field is not in Has is absent.
type SeriesBaseline struct {
	Source, Platform string
	Leg              Leg
	Minutes          int        // known minutes, 20..30
	Requests         float64    // in them; handshakes, if the source counts no requests
	ErrorRate        float64    // 0..1
	TotalMS          float64    // milliseconds per request
	TLSMS            float64    // milliseconds per handshake
	Bytes            float64    // per request
	Share            [3]float64 // 2xx, 4xx, 5xx: 0..1
	TLS13            float64    // 0..1
	Has              Field
	Blocks           []Block // the same minutes in fives, for intervals
	Shape            Shape   // how the means usually go on from there; zero: nothing is known, and breaches of means are weak
}

// Block is the sum of up to five minutes in a row.
type Block struct {
	Minutes int // known ones
	Sum     Counts
}

// Freeze measures the baseline from the minutes of each source that are settled at now, and its shape from the week before. The rules
// are those that will be judged by it. A week that is nil, or that has fewer than four days with data, leaves the shape out.
func Freeze(t Table, week *Week, rules []Rule, now time.Time) Baseline {
	b := Baseline{At: now}
	if week == nil {
		week = &Week{}
	}
	for i := range t.sources {
		s := &t.sources[i]
		before := t.Through(s.name, now) + 1
		platforms := t.Platforms(s.name)
		for k := range s.series {
			e := SeriesBaseline{Source: s.name, Platform: s.series[k].platform, Leg: s.series[k].leg}
			if e.freeze(input{one: &s.series[k]}, before) {
				e.Shape = week.shape(e.Source, e.Platform, e.Leg, before)
				b.Series = append(b.Series, e)
			}
		}
		b.Shares = append(b.Shares, freezeShare(&t, &b, s.name, "", before))
		for _, p := range platforms {
			if p != "" {
				b.Shares = append(b.Shares, freezeShare(&t, &b, s.name, p, before))
			}
		}
		for _, leg := range [...]Leg{Primary, Backup} {
			e := SeriesBaseline{Source: s.name, Leg: leg}
			if in := t.input(s.name, "", leg); in.all != nil && e.freeze(in, before) {
				e.Shape = week.shape(e.Source, "", leg, before)
				b.Totals = append(b.Totals, e)
			}
		}
	}
	b.compareLegs(&t, rules)
	return b
}

// mean is one field's mean, over the minutes that have it.
type mean struct {
	sum, n  float64
	minutes int
}

func (m *mean) add(sum, n float64) {
	if n > 0 {
		m.sum, m.n, m.minutes = m.sum+sum, m.n+n, m.minutes+1
	}
}

// into stores the mean and marks its fields as present, if enough minutes have it.
func (m *mean) into(at *float64, has *Field, fields Field) {
	if m.minutes >= baselineKnown {
		*at, *has = m.sum/m.n, *has|fields
	}
}

// freeze fills in the means of the minutes before one; false when there are too few.
func (b *SeriesBaseline) freeze(in input, before Minute) bool {
	var errors, total, bytes, tls, tls13 mean
	var status [3]mean
	var sum Counts
	for m := before - BaselineMinutes; m < before; m++ {
		c, unknown := in.at(m, &sum)
		if unknown != 0 {
			continue
		}
		b.Minutes++
		b.block(int(m-before+BaselineMinutes)/blockMinutes, c)
		b.Has |= c.Has & HasRequests
		b.Requests += c.volume()
		add := func(m *mean, needs Field, sum, n float64) {
			if c.has(needs) {
				m.add(sum, n)
			}
		}
		add(&errors, HasRequests|HasErrors, c.Errors, c.Requests)
		add(&total, HasRequests|HasTotalMS, c.TotalMS, c.Requests)
		add(&bytes, HasRequests|HasBytes, c.Bytes, c.Requests)
		add(&tls, HasTLS|HasTLSMS, c.TLSMS, c.TLS)
		add(&tls13, HasTLS|HasTLS13, c.TLS13, c.TLS)
		for i, n := range [...]float64{c.Status2xx, c.Status4xx, c.Status5xx} {
			add(&status[i], HasStatus, n, c.answers())
		}
	}
	if b.Minutes < baselineKnown || b.Requests < baselineRequests {
		return false
	}
	errors.into(&b.ErrorRate, &b.Has, HasErrors)
	total.into(&b.TotalMS, &b.Has, HasTotalMS)
	bytes.into(&b.Bytes, &b.Has, HasBytes)
	tls.into(&b.TLSMS, &b.Has, HasTLS|HasTLSMS)
	tls13.into(&b.TLS13, &b.Has, HasTLS|HasTLS13)
	for i := range status {
		status[i].into(&b.Share[i], &b.Has, HasStatus)
	}
	return true
}

// block adds a minute to the i-th block.
func (b *SeriesBaseline) block(i int, c *Counts) {
	if len(b.Blocks) == 0 {
		b.Blocks = make([]Block, effectBlocks)
	}
	k := &b.Blocks[i]
	if k.Minutes == 0 {
		k.Sum = *c
	} else {
		k.Sum = k.Sum.plus(c)
	}
	k.Minutes++
}

// Of returns the baseline of one series; platform "" is the whole source.
func (b *Baseline) Of(name, platform string, leg Leg) (SeriesBaseline, bool) {
	if e := b.of(name, platform, leg); e != nil {
		return *e, true
	}
	return SeriesBaseline{}, false
}

func (b *Baseline) of(name, platform string, leg Leg) *SeriesBaseline {
	for _, list := range [...][]SeriesBaseline{b.Series, b.Totals} {
		for i := range list {
			if s := &list[i]; s.Leg == leg && s.Platform == platform && s.Source == name {
				return s
			}
		}
	}
	return nil
}

// knows reports whether a platform had traffic worth measuring on either leg.
func (b *Baseline) knows(name, platform string) bool {
	return b.of(name, platform, Primary) != nil || b.of(name, platform, Backup) != nil
}
