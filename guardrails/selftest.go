package guardrails

import "fmt"

// Doubt is a reason not to rely on a rule.
type Doubt struct {
	Rule     string
	Platform string
	Text     string // what is wrong, and what to do
	Passing  bool   // it may pass by itself: the source's newest minutes are missing
}

// planted is how far beyond its limit a planted minute lies, as a share of the limit.
const planted = 0.1

// SelfTest says for each acting rule and platform whether its source answers now, whether there is enough traffic to judge, and whether
// the rule would fire on planted bad minutes. It judges the primary as it is; s.Since must lie before the longest window. An empty
// answer means that every rule can be relied on.
func SelfTest(t *Table, b *Baseline, rules []Rule, s Situation) []Doubt {
	var out []Doubt
	for i := range rules {
		r := &rules[i]
		if r.Mode != Act {
			continue
		}
		for _, p := range platformsOf(t, b, r) {
			if text, passing := t.doubt(b, r, p, s); text != "" {
				out = append(out, Doubt{Rule: r.Name, Platform: p, Text: text, Passing: passing})
			}
		}
	}
	return out
}

// SelfTestDrained is the part of SelfTest that concerns the backup: while the primary is drained every rule that its source can judge
// there must be CLEAR on it.
func SelfTestDrained(t *Table, b *Baseline, rules []Rule, s Situation) []Doubt {
	var out []Doubt
	for i := range rules {
		r := &rules[i]
		if r.Mode != Act || r.Signal == Requests {
			continue
		}
		for _, p := range platformsOf(t, b, r) {
			if !t.shows(r.Source, p, Backup) {
				continue
			}
			if text, passing := t.unjudged(b, r, p, Backup, s); text != "" {
				out = append(out, Doubt{Rule: r.Name, Platform: p, Text: "on the backup, which carries everything while the primary is drained: " + text, Passing: passing})
			}
		}
	}
	return out
}

// doubt is the first of the three questions that has no good answer.
func (t *Table) doubt(b *Baseline, r *Rule, platform string, s Situation) (text string, passing bool) {
	if text, passing := t.unjudged(b, r, platform, Primary, s); text != "" {
		return text, passing
	}
	for _, sd := range t.plantable(b, r, platform, s) {
		bad := t.plant(b, r, platform, &sd, s)
		v := Judge(&bad, b, *r, platform, Primary, s)
		if v.State < Fire && (r.Signal != Requests || v.State < Suspect) {
			return fmt.Sprintf("%s planted minutes beyond its limit (%s) are judged %s: %d breaching, %d unknown (%s); give it more traffic or a longer window",
				r.For, sd.name, v.State, v.Breach, v.Unknown, v.Why), false
		}
	}
	return "", false
}

// unjudged says why a leg cannot be judged now; "" when it can.
func (t *Table) unjudged(b *Baseline, r *Rule, platform string, leg Leg, s Situation) (text string, passing bool) {
	now := Judge(t, b, *r, platform, leg, s)
	switch {
	case now.State == Blind:
		return fmt.Sprintf("source %s has no minute to judge at present (%s), %s; mend what it reads, or wait until it answers", r.Source, now.Why, t.newest(r, platform, leg)), true
	case now.OK+now.Breach < clearMinutes-clearUnknown && now.Why == LowN:
		return fmt.Sprintf("too little traffic: %s needs %.0f requests or handshakes a minute; judge all platforms together, or lower min_requests", r.Signal, r.minimum()), false
	case now.OK+now.Breach < clearMinutes-clearUnknown && now.Why == NoBaseline:
		return fmt.Sprintf("too little history: at least %d of the last %d minutes and %d requests are needed; wait, or mend the queries of source %s",
			baselineKnown, BaselineMinutes, baselineRequests, r.Source), false
	}
	return "", false
}

// newest says which minute a source has told last of a leg.
func (t *Table) newest(r *Rule, platform string, leg Leg) string {
	j := judge{rule: r, own: t.input(r.Source, platform, leg), needs: r.Signal.Needs()}
	last := Minute(0)
	if s := t.source(r.Source); s != nil {
		for i := range s.series {
			if e := &s.series[i]; e.leg == leg && (platform == "" || e.platform == platform) {
				last = max(last, e.last)
			}
		}
	}
	for m := last; m > last-historyMinutes && last > 0; m-- {
		if _, ok := j.data(m); ok {
			return "the newest is " + m.Start().UTC().Format("2006-01-02 15:04Z")
		}
	}
	return "and had none lately"
}

// plantable lists the sides that a minute can be beyond: a share cannot pass 100 %, and nothing falls below zero.
func (t *Table) plantable(b *Baseline, r *Rule, platform string, s Situation) []side {
	j := judge{rule: r, leg: Primary, situation: &s}
	j.expect(b.of(r.Source, platform, Primary))
	var buf [maxSides]side
	var out []side
	for _, sd := range j.sides(&buf) {
		switch r.Signal {
		case ErrorRate, StatusShare, TLS13Share:
			if far := sd.far(planted); far <= 0 || far >= 100 {
				continue
			}
		case TotalTime, TLSTime, ResponseSize, Requests:
		}
		out = append(out, sd)
	}
	return out
}

// far is a value beyond the limit by a share of it, on the bad side.
func (sd *side) far(by float64) float64 {
	if sd.up {
		return sd.limit * (1 + by)
	}
	return sd.limit * (1 - by)
}

// plant returns the table in which the newest minutes of the rule's window are beyond a limit.
func (t *Table) plant(b *Baseline, r *Rule, platform string, sd *side, s Situation) Table {
	through := t.Through(r.Source, s.Now)
	batch := Batch{Source: r.Source, Settle: t.source(r.Source).settle, From: through - Minute(minutesOf(r.Within)+blindMinutes), To: through}
	for _, p := range t.Platforms(r.Source) {
		if platform != "" && p != platform {
			continue
		}
		knots := Shape{}
		if e := b.of(r.Source, platform, Primary); e != nil {
			knots = e.Shape
		}
		for m := batch.From; m <= batch.To; m++ {
			c, unknown := t.Counts(r.Source, p, Primary, m)
			if unknown != 0 {
				continue
			}
			other, _ := t.Counts(r.Source, p, Backup, m)
			batch.Rows = append(batch.Rows, Row{Platform: p, Leg: Primary, Minute: m, Counts: r.worsened(c, other, sd, &knots, m, s)})
		}
	}
	return t.Merge(batch, s.Now)
}

// worsened is a minute beyond the limit.
func (r *Rule) worsened(c, other Counts, sd *side, knots *Shape, m Minute, s Situation) Counts {
	far := sd.far(planted)
	switch r.Signal {
	case ErrorRate:
		c.Errors = c.Requests * far / 100
	case TotalTime:
		c.TotalMS = c.Requests * far * shapeAt(knots.TotalMS, knots.First, m)
	case TLSTime:
		c.TLSMS = c.TLS * far * shapeAt(knots.TLSMS, knots.First, m)
	case ResponseSize:
		c.Bytes = c.Requests * far * shapeAt(knots.Bytes, knots.First, m)
	case StatusShare:
		classes := [...]*float64{&c.Status2xx, &c.Status4xx, &c.Status5xx}
		part := c.answers() * far / 100
		rest := classes[0] // the sum of the classes may be all that is counted: it stays
		if sd.slot == 0 {
			rest = classes[2]
		}
		*rest = max(0, *rest+*classes[sd.slot]-part)
		*classes[sd.slot] = part
	case TLS13Share:
		c.TLS13 = c.TLS * far / 100
	case Requests:
		if w := float64(s.Share) / 100; w < 1 {
			c = Counts{Requests: other.Requests * w / (1 - w) * far / 100, Has: HasRequests}
		}
	}
	return c
}
