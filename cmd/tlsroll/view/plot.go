package view

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/guardrails/backtest"
)

// The size of a plot, in its own units: the frame is what the lines are drawn in.
const (
	plotWidth   = 320
	plotHeight  = 110
	frameLeft   = 4.0
	frameRight  = 316.0
	frameTop    = 16.0
	frameBottom = 88.0
)

// plot is one rule, platform and leg in a night, ready to be drawn.
type plot struct {
	Title    string
	State    string // the worst state, for the frame and in words
	Now      string // the number to read: at the first FIRE, BLIND or SUSPECT, or the last one
	Width    int
	Height   int
	Value    string   // path
	Expected string   // path; "" for an absolute limit
	Limits   []string // paths, one a side
	Bands    []band   // minutes that decided
	Ticks    []tick
	Top      string // greatest value shown
	Label    string // for those who do not see it
}

// band is a stretch of minutes that decided: of the first SUSPECT, BLIND or FIRE.
type band struct {
	X, W  float64
	Class string
	Title string
}

type tick struct {
	X      float64
	Anchor string // so that no label leaves the frame
	Label  string
}

// point is one minute. Where shares move, the value is how far it moved, so that up and down fit in one picture.
type point struct {
	at                     guardrails.Minute
	value, limit, expected float64
	side                   string
	known                  bool
}

func newPlot(f backtest.Finding, verdicts []backtest.Moment, zone *time.Location) plot {
	points := make([]point, 0, len(verdicts))
	worst := guardrails.Clear
	for _, m := range verdicts {
		points = append(points, pointOf(m.Decision))
		worst = max(worst, m.Decision.State)
	}
	p := plot{Title: f.Rule, State: worst.String(), Width: plotWidth, Height: plotHeight}
	if f.Platform != "" {
		p.Title += " " + f.Platform
	}
	if f.Leg == guardrails.Backup {
		p.Title += " (backup)"
	}
	if inPoints(f.Signal) {
		p.Title += ", points moved"
	}
	s := scaleOf(points)
	p.draw(points, s)
	p.mark(f, s, zone)
	p.Ticks, p.Top = s.ticks(zone), topText(f.Signal, s.top)
	reading := verdicts[len(verdicts)-1].Decision
	for _, m := range []*backtest.Moment{f.Suspect, f.Blind, f.Fire} {
		if m != nil {
			reading = m.Decision
		}
	}
	p.Now = reading.Through.Start().In(zone).Format("15:04") + " " + reading.State.String() + ": " + readingText(reading)
	p.Label = p.Title + ": worst " + p.State + "; " + p.Now
	return p
}

// inPoints reports whether a signal is a share that must not move.
func inPoints(s guardrails.Signal) bool {
	return s == guardrails.StatusShare || s == guardrails.TLS13Share
}

func pointOf(v guardrails.Verdict) point {
	p := point{at: v.Through, value: v.Value, limit: v.Limit, expected: v.Expected, side: v.Side, known: v.Known}
	if inPoints(v.Signal) {
		p.value, p.limit, p.expected = math.Abs(v.Value-v.Expected), math.Abs(v.Limit-v.Expected), 0
		p.side = "moved"
	}
	return p
}

func readingText(v guardrails.Verdict) string {
	if !v.Known {
		return "no data"
	}
	return rollout.Quantity(v.Signal, v.Value) + ", limit " + rollout.Quantity(v.Signal, v.Limit)
}

func topText(s guardrails.Signal, top float64) string {
	if inPoints(s) {
		return fmt.Sprintf("%.1f pp", top)
	}
	return rollout.Quantity(s, top)
}

// scale maps minutes and values to the frame. Values begin at zero: a plot that magnifies noise would lie at 2 am.
type scale struct {
	first, last guardrails.Minute
	top         float64
}

func scaleOf(points []point) scale {
	s := scale{first: points[0].at, last: points[0].at}
	for _, p := range points {
		s.first, s.last = min(s.first, p.at), max(s.last, p.at)
		if p.known {
			s.top = max(s.top, p.value, p.limit, p.expected)
		}
	}
	if s.top == 0 {
		s.top = 1
	}
	return s
}

func (s scale) x(m guardrails.Minute) float64 {
	span := max(1, float64(s.last-s.first))
	at := frameLeft + (frameRight-frameLeft)*float64(m-s.first)/span
	return math.Round(10*min(max(at, frameLeft), frameRight)) / 10
}

func (s scale) y(v float64) float64 {
	return math.Round(10*(frameBottom-(frameBottom-frameTop)*v/s.top)) / 10
}

// ticks are whole hours, or every few of them in a long night; a short one has its halves and quarters.
func (s scale) ticks(zone *time.Location) []tick {
	const most = 6
	span := time.Duration(s.last-s.first) * time.Minute
	every := 24 * time.Hour
	for _, step := range []time.Duration{15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour} {
		if span/step <= most {
			every = step
			break
		}
	}
	var out []tick
	for m := s.first; m <= s.last; m++ {
		at := m.Start().In(zone)
		if since := time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute; since%every == 0 {
			out = append(out, tick{X: s.x(m), Anchor: anchor(s.x(m)), Label: at.Format("15:04")})
		}
	}
	return out
}

func anchor(x float64) string {
	const half = 14 // of a label's width
	switch {
	case x < frameLeft+half:
		return "start"
	case x > frameRight-half:
		return "end"
	}
	return "middle"
}

// draw makes the paths: the value broken where it is unknown, the expected value, and each side's limit where that side is the worst.
func (p *plot) draw(points []point, s scale) {
	var value, expected line
	var sides []string
	limits := map[string]*line{}
	for _, at := range thinned(points, s) {
		if !at.known {
			value.gap()
			continue
		}
		value.to(s.x(at.at), s.y(at.value))
		if at.expected != 0 {
			expected.to(s.x(at.at), s.y(at.expected))
		}
		l, ok := limits[at.side]
		if !ok {
			l = &line{}
			limits[at.side], sides = l, append(sides, at.side)
		}
		l.to(s.x(at.at), s.y(at.limit))
	}
	p.Value, p.Expected = value.String(), expected.String()
	for _, side := range sides {
		p.Limits = append(p.Limits, limits[side].String())
	}
}

// thinned leaves at most one point a unit of width: of several minutes there, the one that is furthest from what was expected.
func thinned(points []point, s scale) []point {
	out := points[:0:0]
	for _, p := range points {
		n := len(out)
		if n == 0 || math.Floor(s.x(p.at)) != math.Floor(s.x(out[n-1].at)) || p.known != out[n-1].known {
			out = append(out, p)
			continue
		}
		if math.Abs(p.value-p.expected) > math.Abs(out[n-1].value-out[n-1].expected) {
			out[n-1] = p
		}
	}
	return out
}

// mark shades the minutes that decided.
func (p *plot) mark(f backtest.Finding, s scale, zone *time.Location) {
	for _, m := range []struct {
		moment *backtest.Moment
		class  string
	}{{f.Suspect, "suspect"}, {f.Blind, "blind"}, {f.Fire, "fire"}} {
		if m.moment == nil {
			continue
		}
		v := m.moment.Decision
		x := s.x(v.From)
		p.Bands = append(p.Bands, band{
			X: x, W: max(1, math.Round(10*(s.x(v.Through+1)-x))/10), Class: m.class, Title: clockSpan(v, zone) + " " + rollout.VerdictText(v),
		})
	}
}

// line is an SVG path.
type line struct {
	b      strings.Builder
	broken bool
}

func (l *line) to(x, y float64) {
	command := "L"
	if l.b.Len() == 0 || l.broken {
		command = "M"
	}
	l.broken = false
	fmt.Fprintf(&l.b, "%s%g %g", command, x, y)
}

func (l *line) gap() { l.broken = true }

// String returns the path; "" for none.
func (l *line) String() string { return l.b.String() }
