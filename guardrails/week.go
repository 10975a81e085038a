package guardrails

import "slices"

// The shape's figures; reference semantics, section 3.
const (
	// WeekDays is how many days before the night the shape is taken from.
	WeekDays      = 7
	shapeDays     = 4 // of them must be valid
	shapeHalf     = 5 // minutes on each side of a minute, over which a day is averaged
	shapeKnown    = 6 // of these eleven must be known
	shapeStep     = 5 // minutes between two knots; linear between them
	shapeKnotsMax = 24 * 60 / shapeStep
)

// Week is the same hours on earlier days. The zero Week has no day.
type Week struct {
	Days  []Day
	Until Minute // last minute of the night that the shape is needed for
}

// Day holds one earlier day's minutes.
type Day struct {
	Table Table
	Back  Minute // the night's minute m has the civil time of the day's minute m − Back
}

// Shape is how a night usually runs: the factor by which a mean differs from its mean before the change, at knots five minutes apart.
// It is the median over the days. The zero Shape is 1 throughout: nothing is known.
type Shape struct {
	First   Minute // of the first knot
	Days    int    // days that were valid, 0 or 4..7
	TotalMS []float32
	TLSMS   []float32
	Bytes   []float32
}

// at is the factor at a minute. Before the first knot and after the last it stays what it is there.
func shapeAt(knots []float32, first, m Minute) float64 {
	if len(knots) == 0 {
		return 1
	}
	i, rest := int((m-first)/shapeStep), float64((m-first)%shapeStep)
	switch {
	case m < first:
		return float64(knots[0])
	case i >= len(knots)-1:
		return float64(knots[len(knots)-1])
	}
	a, b := float64(knots[i]), float64(knots[i+1])
	return a + (b-a)*rest/shapeStep
}

// shape measures one series' shape from the minutes after before.
func (w *Week) shape(name, platform string, leg Leg, before Minute) Shape {
	s := Shape{First: before}
	var days []day
	for i := range w.Days {
		d := day{in: w.Days[i].Table.input(name, platform, leg), back: w.Days[i].Back}
		if d.measure(before) {
			days = append(days, d)
		}
	}
	if len(days) < shapeDays || w.Until < before {
		return Shape{}
	}
	s.Days = len(days)
	knots := min(int((w.Until-before)/shapeStep)+2, shapeKnotsMax)
	for f, list := range [...]*[]float32{&s.TotalMS, &s.TLSMS, &s.Bytes} {
		*list = curve(days, f, before, knots)
	}
	return s
}

// day is one series on one earlier day.
type day struct {
	in   input
	back Minute
	pre  [3]float64 // the means before the hour of the change; 0 when unknown
}

// measure takes the day's means before the hour of the change; false when it has too few minutes or requests there.
func (d *day) measure(before Minute) bool {
	var means [3]mean
	known, requests := 0, 0.0
	for m := before - BaselineMinutes; m < before; m++ {
		known, requests = d.add(&means, m, known, requests)
	}
	for f := range means {
		var has Field
		means[f].into(&d.pre[f], &has, HasRequests)
	}
	return known >= baselineKnown && requests >= baselineRequests
}

// add takes one minute of the night, as it was on the day, into the sums.
func (d *day) add(means *[3]mean, m Minute, known int, requests float64) (minutes int, n float64) {
	var sum Counts
	c, unknown := d.in.at(m-d.back, &sum)
	if unknown != 0 {
		return known, requests
	}
	if c.has(HasRequests | HasTotalMS) {
		means[0].add(c.TotalMS, c.Requests)
	}
	if c.has(HasTLS | HasTLSMS) {
		means[1].add(c.TLSMS, c.TLS)
	}
	if c.has(HasRequests | HasBytes) {
		means[2].add(c.Bytes, c.Requests)
	}
	return known + 1, requests + c.volume()
}

// near is the day's mean around a minute of the night; 0 when it is not known.
func (d *day) near(f int, m Minute) float64 {
	var means [3]mean
	for i := m - shapeHalf; i <= m+shapeHalf; i++ {
		d.add(&means, i, 0, 0)
	}
	if means[f].minutes < shapeKnown {
		return 0
	}
	return means[f].sum / means[f].n
}

// curve is the median over the days at each knot. A knot with too few days keeps the value before it.
func curve(days []day, f int, before Minute, knots int) []float32 {
	valid := 0
	for i := range days {
		if days[i].pre[f] > 0 {
			valid++
		}
	}
	if valid < shapeDays {
		return nil
	}
	out, last := make([]float32, knots), 1.0
	for k := range out {
		var factors []float64
		for i := range days {
			if x := days[i].near(f, before+Minute(k*shapeStep)); x > 0 && days[i].pre[f] > 0 {
				factors = append(factors, x/days[i].pre[f])
			}
		}
		if len(factors) >= shapeDays {
			slices.Sort(factors)
			n := len(factors)
			last = (factors[(n-1)/2] + factors[n/2]) / 2
		}
		out[k] = float32(last)
	}
	return out
}
