package guardrails

import (
	"math"
	"slices"
)

// The figures of the comparison before and after; reference semantics, section 8, "before/after report".
const (
	effectMinutes = BaselineMinutes // settled minutes at the final weight
	effectKnown   = baselineKnown   // of them must be known
	blockMinutes  = 5               // minutes that are drawn together, since neighbours resemble each other
	effectBlocks  = effectMinutes / blockMinutes
	resamples     = 2000
	tail          = 0.025 // on each side
)

// Effect is what a signal was before the change and is after it, on one platform of the primary.
type Effect struct {
	Signal   Signal
	Source   string
	Platform string
	Before   float64 // mean of the half hour before, in the signal's unit: percent, ms, bytes, requests a minute
	After    float64 // mean of the newest half hour, as measured
	Raw      float64 // change in percent of Before
	Change   float64 // the same, had the time of day not changed
	Low      float64 // 95 % interval of Change
	High     float64
	AfterLow float64 // lower end of the 95 % interval of After
	AfterTop float64 // its upper end
	Minutes  int     // known minutes after, 20..30
	Requests float64 // requests or handshakes in them
	Adjusted bool    // the week's shape was known, or the signal has none
	TooGood  bool    // a guardrail calls an improvement like this abnormal
}

// Measure compares the newest settled half hour with the half hour before the change. since is the first minute at the final weight.
// ok is false while fewer than 20 minutes are known, and for a signal that the source did not have before.
func Measure(t *Table, b *Baseline, rules []Rule, s Signal, source, platform string, since Minute, sit Situation) (Effect, bool) {
	e := Effect{Signal: s, Source: source, Platform: platform}
	base := b.of(source, platform, Primary)
	if base == nil || base.Has&s.Needs() != s.Needs() {
		return e, false
	}
	through := t.Through(source, sit.Now)
	after, minutes := t.blocksAfter(base, s, source, platform, max(since, through-effectMinutes+1), through)
	before := base.blocks(s)
	if minutes < effectKnown || len(before) == 0 {
		return e, false
	}
	e.Minutes = minutes
	e.fill(s, before, after)
	e.Adjusted = len(base.Shape.of(s)) > 0 || s.unshaped()
	for i := range rules {
		if r := &rules[i]; r.Signal == s && r.Source == source && r.Drop > 0 && e.Change < -float64(r.Drop) {
			e.TooGood = true
		}
	}
	return e, true
}

// unshaped reports a signal whose level is not taken to depend on the time of day.
func (s Signal) unshaped() bool { return s == ErrorRate || s == TLS13Share || s == StatusShare }

// of returns the knots for a signal.
func (s *Shape) of(signal Signal) []float32 {
	switch signal {
	case TotalTime:
		return s.TotalMS
	case TLSTime:
		return s.TLSMS
	case ResponseSize:
		return s.Bytes
	case ErrorRate, StatusShare, Requests, TLS13Share:
	}
	return nil
}

// ratio is a block's numerator and denominator; plain is the numerator as measured, num without the time of day.
type ratio struct{ num, plain, den float64 }

func (r *ratio) add(num, shape, den float64) {
	r.num, r.plain, r.den = r.num+num/shape, r.plain+num, r.den+den
}

// parts are what a signal is a ratio of, in its unit.
func (c *Counts) parts(s Signal) (num, den float64) {
	switch s {
	case ErrorRate:
		return 100 * c.Errors, c.Requests
	case TotalTime:
		return c.TotalMS, c.Requests
	case TLSTime:
		return c.TLSMS, c.TLS
	case ResponseSize:
		return c.Bytes, c.Requests
	case TLS13Share:
		return 100 * c.TLS13, c.TLS
	case Requests:
		return c.Requests, 1
	case StatusShare:
	}
	return 0, 0
}

// blocks are the baseline's blocks as ratios.
func (b *SeriesBaseline) blocks(s Signal) []ratio {
	var out []ratio
	for i := range b.Blocks {
		if !b.Blocks[i].Sum.has(s.Needs()) {
			continue
		}
		num, den := b.Blocks[i].Sum.parts(s)
		if s == Requests {
			den = float64(b.Blocks[i].Minutes)
		}
		if den > 0 {
			out = append(out, ratio{num, num, den})
		}
	}
	return out
}

// blocksAfter sums the minutes from..through in blocks.
func (t *Table) blocksAfter(b *SeriesBaseline, s Signal, source, platform string, from, through Minute) (out []ratio, minutes int) {
	in := t.input(source, platform, Primary)
	var sum Counts
	for m := from; m <= through; m++ {
		if (m-from)%blockMinutes == 0 {
			out = append(out, ratio{})
		}
		c, unknown := in.at(m, &sum)
		if unknown != 0 || !c.has(s.Needs()) {
			continue
		}
		if num, den := c.parts(s); den > 0 {
			out[len(out)-1].add(num, shapeAt(b.Shape.of(s), b.Shape.First, m), den)
			minutes++
		}
	}
	return slices.DeleteFunc(out, func(r ratio) bool { return r.den == 0 }), minutes
}

// fill computes means, change and intervals.
func (e *Effect) fill(s Signal, before, after []ratio) {
	pre, post := pool(before, nil), pool(after, nil)
	e.Before, e.After, e.Requests = pre.plain/pre.den, post.plain/post.den, post.den
	if s == Requests {
		e.Requests = post.plain
	}
	e.Raw, e.Change = change(pre.plain/pre.den, post.plain/post.den), change(pre.num/pre.den, post.num/post.den)
	draw := stream(1)
	changes, values := make([]float64, resamples), make([]float64, resamples)
	for i := range changes {
		p, q := pool(before, &draw), pool(after, &draw)
		changes[i], values[i] = change(p.num/p.den, q.num/q.den), q.plain/q.den
	}
	slices.Sort(changes)
	slices.Sort(values)
	low, high := int(tail*resamples), resamples-1-int(tail*resamples)
	e.Low, e.High, e.AfterLow, e.AfterTop = changes[low], changes[high], values[low], values[high]
}

// change is the relative change in percent; 0 from nothing to nothing, and 100 from nothing to something.
func change(before, after float64) float64 {
	switch {
	case before > 0:
		return 100 * (after/before - 1)
	case after > 0:
		return 100
	}
	return 0
}

// pool sums all blocks, or as many drawn with replacement.
func pool(blocks []ratio, draw *stream) ratio {
	var sum ratio
	for i := range blocks {
		if draw != nil {
			i = draw.below(len(blocks))
		}
		sum.num, sum.plain, sum.den = sum.num+blocks[i].num, sum.plain+blocks[i].plain, sum.den+blocks[i].den
	}
	return sum
}

// stream is a sequence of numbers that is the same in every run (splitmix64), so that a report can be made again.
type stream uint64

// below returns a number from 0 to n−1.
func (s *stream) below(n int) int {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int(math.Floor(float64((z^z>>31)>>11) / (1 << 53) * float64(n)))
}
