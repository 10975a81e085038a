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
	First   Minute     // of the first knot
	Days    []ShapeDay // those that are valid, 4..7; none in the zero Shape
	TotalMS []float32
	TLSMS   []float32
	Bytes   []float32
}

// ShapeDay is what an earlier day was like before the hour of the change.
type ShapeDay struct {
	Back Minute     // see Day
	Pre  [3]float64 // means of total time, TLS time and response size; 0 when unknown
}

// Through is the last minute that the shape is known for.
func (s *Shape) Through() Minute {
	return s.First + Minute(max(len(s.TotalMS), len(s.TLSMS), len(s.Bytes))*shapeStep) - 1
}

// shapeAt is the factor at a minute. Before the first knot and after the last it stays what it is there.
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
	for i := range w.Days {
		d := day{in: w.Days[i].Table.input(name, platform, leg), ShapeDay: ShapeDay{Back: w.Days[i].Back}}
		if d.measure(before) {
			s.Days = append(s.Days, d.ShapeDay)
		}
	}
	if len(s.Days) < shapeDays || w.Until < before {
		return Shape{}
	}
	return s.extended(w, name, platform, leg)
}

// extended returns the shape with knots up to the end of the week's hours. Less than four days with data there leave it as it is.
func (s Shape) extended(w *Week, name, platform string, leg Leg) Shape {
	var days []day
	for i := range w.Days {
		for _, known := range s.Days {
			in := w.Days[i].Table.input(name, platform, leg)
			if known.Back == w.Days[i].Back && (in.one != nil || in.all != nil) {
				days = append(days, day{in: in, ShapeDay: known})
			}
		}
	}
	knots := min(int((w.Until-s.First)/shapeStep)+2, shapeKnotsMax)
	if len(days) < shapeDays {
		return s
	}
	lists := [...]*[]float32{&s.TotalMS, &s.TLSMS, &s.Bytes}
	from := knots
	for _, list := range lists {
		from = min(from, len(*list))
	}
	for i := range days {
		for k := from; k < knots; k++ {
			days[i].knots = append(days[i].knots, days[i].near(s.First+Minute(k*shapeStep)))
		}
	}
	for f, list := range lists {
		*list = curve(days, f, *list, from, knots)
	}
	return s
}

// Extend returns the baseline with a shape that reaches until the end of the week's hours: the night goes on for longer than was asked
// for at the start. Nothing of the night itself enters, and what was known stays as it is.
func (b Baseline) Extend(w *Week) Baseline {
	for _, list := range [...]*[]SeriesBaseline{&b.Series, &b.Totals} {
		*list = slices.Clone(*list)
		for i := range *list {
			e := &(*list)[i]
			e.Shape = e.Shape.extended(w, e.Source, e.Platform, e.Leg)
		}
	}
	return b
}

// ShapeThrough is the last minute that every shape is known for; ok is false when there is none.
func (b *Baseline) ShapeThrough() (m Minute, ok bool) {
	for i := range b.Series {
		if s := &b.Series[i].Shape; len(s.Days) > 0 && (!ok || s.Through() < m) {
			m, ok = s.Through(), true
		}
	}
	return m, ok
}

// day is one series on one earlier day.
type day struct {
	ShapeDay
	in    input
	knots [][3]float64 // its means around some of the knots
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
		means[f].into(&d.Pre[f], &has, HasRequests)
	}
	return known >= baselineKnown && requests >= baselineRequests
}

// add takes one minute of the night, as it was on the day, into the sums.
func (d *day) add(means *[3]mean, m Minute, known int, requests float64) (minutes int, n float64) {
	var sum Counts
	c, unknown := d.in.at(m-d.Back, &sum)
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

// near are the day's means around a minute of the night; 0 where one is not known.
func (d *day) near(m Minute) (x [3]float64) {
	var means [3]mean
	for i := m - shapeHalf; i <= m+shapeHalf; i++ {
		d.add(&means, i, 0, 0)
	}
	for f := range means {
		if means[f].minutes >= shapeKnown {
			x[f] = means[f].sum / means[f].n
		}
	}
	return x
}

// curve appends to known the median over the days at each knot that is missing, where the days' own knots begin at from. A knot with too
// few days keeps the value before it.
func curve(days []day, f int, known []float32, from, knots int) []float32 {
	valid := 0
	for i := range days {
		if days[i].Pre[f] > 0 {
			valid++
		}
	}
	if valid < shapeDays {
		return known
	}
	out, last := slices.Clone(known), 1.0
	factors := make([]float64, 0, WeekDays)
	if len(out) > 0 {
		last = float64(out[len(out)-1])
	}
	for k := len(out); k < knots; k++ {
		factors = factors[:0]
		for i := range days {
			if x := days[i].knots[k-from][f]; x > 0 && days[i].Pre[f] > 0 {
				factors = append(factors, x/days[i].Pre[f])
			}
		}
		if len(factors) >= shapeDays {
			slices.Sort(factors)
			n := len(factors)
			last = (factors[(n-1)/2] + factors[n/2]) / 2
		}
		out = append(out, float32(last))
	}
	return out
}
