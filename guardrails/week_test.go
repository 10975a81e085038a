package guardrails_test

import (
	"math"
	"testing"

	"github.com/tlsroll/tlsroll/guardrails"
)

const aDay = 24 * 60

// earlier is one day of the primary, on n requests a minute: times are as usual until night, and factor times that from then on.
func earlier(days int, n, factor float64, lost func(m guardrails.Minute) bool) guardrails.Day {
	back := guardrails.Minute(days * aDay)
	var rows []guardrails.Row
	for m := night - 40; m < night+130; m++ {
		if lost(m) {
			continue
		}
		c := normal(n)
		if m >= night {
			c.TotalMS, c.TLSMS, c.Bytes = factor*c.TotalMS, factor*c.TLSMS, factor*c.Bytes
		}
		rows = append(rows, row(guardrails.Primary, m-back, c))
	}
	return guardrails.Day{Back: back, Table: table(night-40-back, night+129-back, rows...)}
}

func never(guardrails.Minute) bool { return false }

// frozen is the primary's baseline with a week behind it.
func frozen(t *testing.T, days ...guardrails.Day) guardrails.SeriesBaseline {
	t.Helper()
	tab := table(night-60, night-1, span("ios", guardrails.Primary, night-1, 60, normal(600))...)
	b := guardrails.Freeze(tab, &guardrails.Week{Days: days, Until: night + 120}, nil, settled(night-1))
	s, ok := b.Of("rum", "ios", guardrails.Primary)
	if !ok {
		t.Fatal("no baseline")
	}
	return s
}

func TestTheShapeIsTheMedianOfTheDays(t *testing.T) {
	odd := earlier(7, 600, 9, never) // a day on which something was wrong
	s := frozen(t, earlier(1, 600, 1.2, never), earlier(2, 900, 1.3, never), earlier(3, 600, 1.25, never), earlier(4, 600, 1.25, never), odd)
	if len(s.Shape.Days) != 5 || s.Shape.First != night {
		t.Fatalf("%d days, first knot at %d", len(s.Shape.Days), s.Shape.First)
	}
	for name, knots := range map[string][]float32{"total": s.Shape.TotalMS, "tls": s.Shape.TLSMS, "bytes": s.Shape.Bytes} {
		if got := float64(knots[4]); math.Abs(got-1.25) > 1e-6 {
			t.Errorf("%s after 20 minutes: %v, want 1.25", name, got)
		}
		if got := float64(knots[0]); math.Abs(got-(1+0.25*6/11)) > 1e-6 { // six of the eleven minutes around it are slower
			t.Errorf("%s at the change: %v", name, got)
		}
	}
}

func TestTooFewDaysAreNoShape(t *testing.T) {
	good := func(d int) guardrails.Day { return earlier(d, 600, 1.2, never) }
	short := earlier(4, 600, 1.2, func(m guardrails.Minute) bool { return m >= night-11 && m < night }) // 19 of 30 minutes
	thin := earlier(4, 66, 1.2, never)                                                                  // 1,980 requests
	for name, days := range map[string][]guardrails.Day{
		"none": nil, "three": {good(1), good(2), good(3)}, "one is short": {good(1), good(2), good(3), short},
		"one is thin": {good(1), good(2), good(3), thin},
	} {
		if s := frozen(t, days...); len(s.Shape.Days) != 0 || s.Shape.TotalMS != nil {
			t.Errorf("%s: a shape of %d days", name, len(s.Shape.Days))
		}
	}
	if s := frozen(t, good(1), good(2), good(3), earlier(4, 67, 1.2, never)); len(s.Shape.Days) != 4 {
		t.Errorf("four days: %d", len(s.Shape.Days))
	}
}

// A hole in the past keeps the value before it; it neither hides a rise nor makes one.
func TestAHoleInTheWeekKeepsTheShape(t *testing.T) {
	hole := func(m guardrails.Minute) bool { return m > night+40 && m < night+80 }
	var days []guardrails.Day
	for d := 1; d <= 4; d++ {
		days = append(days, earlier(d, 600, 1.25, hole))
	}
	s := frozen(t, days...)
	if got := s.Shape.TotalMS[12]; math.Abs(float64(got)-1.25) > 1e-6 {
		t.Errorf("in the hole: %v, want 1.25 as before it", got)
	}
}

// Reference semantics, section 3: without the shape a natural drift fires, with it the same night is CLEAR.
func TestTheShapeChangesTheVerdict(t *testing.T) {
	var rows []guardrails.Row
	for m := night - 60; m < night+60; m++ {
		c := normal(600)
		if m >= night {
			c.TotalMS *= 1.3
		}
		rows = append(rows, row(guardrails.Primary, m, c))
	}
	tab := table(night-60, night+59, rows...)
	before := table(night-60, night-1, rows[:60]...)
	week := guardrails.Week{Until: night + 120}
	for d := 1; d <= 7; d++ {
		week.Days = append(week.Days, earlier(d, 600, 1.28, never))
	}
	for _, test := range []struct {
		week *guardrails.Week
		want guardrails.State
	}{{nil, guardrails.Fire}, {&week, guardrails.Clear}} {
		b := guardrails.Freeze(before, test.week, nil, settled(night-1))
		v := guardrails.Judge(&tab, &b, rules()["total"], "ios", guardrails.Primary, quiet(settled(night+59)))
		if v.State != test.want {
			t.Errorf("with %d days: want %s, got %+v", len(week.Days), test.want, v)
		}
		if test.week != nil && (math.Abs(v.Expected-256) > 0.1 || math.Abs(v.Limit-307.2) > 0.1 || math.Abs(v.Value-260) > 0.1) {
			t.Errorf("value %.1f, limit %.1f and expected %.1f are not in milliseconds of this hour", v.Value, v.Limit, v.Expected)
		}
	}
}
