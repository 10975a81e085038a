package guardrails_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// long plays as many nights as the reference did: 20,000 quiet ones and 4,000 of each other kind.
var long = flag.Bool("long", false, "play the simulated nights in the reference's number")

// incident is what happens in a simulated night, from its onset on.
type incident struct {
	rate    float64 // of failed requests
	minutes int     // how long; 0: to the end
	shared  bool    // on both legs
}

// simulated is one night of an error rule after the model of reference semantics, section 5: Poisson counts that fall by 20 % an hour,
// a base of 0.5 % errors, minutes that are complete after one to three minutes and 18 % of them later still, an incomplete and biased
// first sight of each, and 2 % of minutes that never come.
type simulated struct {
	rnd   *rand.Rand
	rpm   float64 // of each leg at 02:00
	what  incident
	onset guardrails.Minute
	lag   int
}

const (
	nightLength = 120
	nightSettle = 3 * time.Minute
)

func newNight(seed uint64, rpm float64, what incident) *simulated {
	s := &simulated{rnd: rand.New(rand.NewPCG(seed, 51)), rpm: rpm, what: what}
	s.onset, s.lag = night+guardrails.Minute(5+s.rnd.IntN(50)), 1+s.rnd.IntN(3)
	return s
}

func (s *simulated) count(mean float64) float64 {
	if mean > 30 {
		return max(0, math.Round(mean+math.Sqrt(mean)*s.rnd.NormFloat64()))
	}
	limit, product, n := math.Exp(-mean), s.rnd.Float64(), 0.0
	for ; product > limit; n++ {
		product *= s.rnd.Float64()
	}
	return n
}

// sighting is a row and the tick at which it can be seen.
type sighting struct {
	tick guardrails.Minute
	row  guardrails.Row
}

// minute draws a leg's minute, as it is seen first and in the end.
func (s *simulated) minute(leg guardrails.Leg, m guardrails.Minute) []sighting {
	rate := 0.005
	if (leg == guardrails.Primary || s.what.shared) && s.what.rate > 0 && m >= s.onset && (s.what.minutes == 0 || m < s.onset+guardrails.Minute(s.what.minutes)) {
		rate = s.what.rate
	}
	n := s.count(s.rpm * math.Pow(0.8, float64(m-night)/60))
	bad := min(n, s.count(n*rate))
	if s.rnd.Float64() < 0.02 {
		return nil
	}
	done := s.lag
	if s.rnd.Float64() < 0.18 {
		done += 1 + s.rnd.IntN(3)
	}
	part, bias := 0.60+0.35*s.rnd.Float64(), 0.6+0.8*s.rnd.Float64()
	few := math.Round(n * part)
	counts := func(n, bad float64) guardrails.Counts {
		return guardrails.Counts{Requests: n, Errors: bad, Has: guardrails.HasRequests | guardrails.HasErrors}
	}
	return []sighting{
		{m + guardrails.Minute(done), row(leg, m, counts(few, min(few, math.Round(bad*part*bias))))},
		{m + 1 + guardrails.Minute(done), row(leg, m, counts(n, bad))},
	}
}

// play judges the night minute by minute and returns how long after the onset it was rolled back; ok is false when it was not.
func (s *simulated) play(rule guardrails.Rule) (delay int, ok bool) {
	var seen [60 + nightLength + 10][]guardrails.Row // by tick, from an hour before the night
	for m := night - 60; m < night+nightLength; m++ {
		for _, leg := range []guardrails.Leg{guardrails.Primary, guardrails.Backup} {
			for _, x := range s.minute(leg, m) {
				at := x.tick - night + 60
				seen[at] = append(seen[at], x.row)
			}
		}
	}
	var tab guardrails.Table
	var base guardrails.Baseline
	common := guardrails.Minute(0)
	for tick := night - 60; tick < night+nightLength; tick++ {
		now := tick.Start()
		tab = tab.Merge(guardrails.Batch{Source: "rum", Settle: nightSettle, From: tick - 15, To: tick, Rows: seen[tick-night+60]}, now)
		if tick < night {
			continue
		}
		if tick == night {
			base = guardrails.Freeze(tab, nil, []guardrails.Rule{rule}, now)
		}
		sit := guardrails.Situation{Now: now, Since: night, TTL: time.Minute, Share: 50, Settled: true}
		v := guardrails.JudgeAll(&tab, &base, []guardrails.Rule{rule}, guardrails.Primary, sit)[0]
		switch v.Decision() {
		case guardrails.RollBack:
			return int(tick - s.onset), true
		case guardrails.HoldCommon:
			common++
			if common >= 20 {
				return int(tick - s.onset), true
			}
		default:
			common = 0
		}
	}
	return 0, false
}

// TestSimulatedNights reproduces the table of reference semantics, section 5.1b, for the rule "S W=3": its direction and its size.
func TestSimulatedNights(t *testing.T) {
	t.Parallel()
	quiet, fault, blip := incident{}, func(rate float64) incident { return incident{rate: rate} }, incident{rate: 0.6, minutes: 3}
	shared := incident{rate: 0.1, minutes: 20, shared: true}
	for _, test := range []struct {
		rpm           float64
		name          string
		what          incident
		nights, many  int
		rolled        [2]float64 // least and greatest part of the nights that is rolled back within an hour, percent
		median, tenth int        // greatest median and 90th percentile of the delay, minutes; 0: not looked at
	}{
		{500, "quiet", quiet, 2000, 20_000, [2]float64{0, 0}, 0, 0},
		{5000, "quiet", quiet, 300, 20_000, [2]float64{0, 0}, 0, 0},
		{500, "60 % for three minutes", blip, 300, 4000, [2]float64{0, 0}, 0, 0},
		{500, "10 % on both for twenty minutes", shared, 600, 4000, [2]float64{0, 1}, 0, 0},
		{5000, "10 % on both for twenty minutes", shared, 300, 4000, [2]float64{0, 0.1}, 0, 0},
		// Below 200 requests a minute a leg is no control (section 3), so this is the table's rule b, not its S: 90 %, not 23 %.
		{50, "10 % on both for twenty minutes", shared, 300, 4000, [2]float64{80, 97}, 0, 0},
		{500, "6 %", fault(0.06), 400, 4000, [2]float64{99, 100}, 17, 33},
		{5000, "6 %", fault(0.06), 200, 4000, [2]float64{100, 100}, 14, 15},
		{50, "6 %", fault(0.06), 300, 4000, [2]float64{25, 60}, 36, 57},
		{500, "10 %", fault(0.10), 200, 4000, [2]float64{100, 100}, 14, 15},
		{50, "10 %", fault(0.10), 200, 4000, [2]float64{99, 100}, 17, 28},
		{500, "50 %", fault(0.50), 200, 4000, [2]float64{100, 100}, 9, 11},
	} {
		t.Run(fmt.Sprintf("%s at %g a minute", test.name, test.rpm), func(t *testing.T) {
			t.Parallel()
			nights := test.nights
			if *long {
				nights = test.many
			}
			var delays []int
			for i := range nights {
				if delay, ok := newNight(uint64(i)+1, test.rpm, test.what).play(rules()["errors"]); ok && delay <= 60 {
					delays = append(delays, delay)
				}
			}
			part := 100 * float64(len(delays)) / float64(nights)
			if part < test.rolled[0] || part > test.rolled[1] {
				t.Errorf("%.2f %% of %d nights are rolled back, want %v", part, nights, test.rolled)
			}
			if len(delays) == 0 {
				return
			}
			slices.Sort(delays)
			median, tenth := delays[len(delays)/2], delays[len(delays)*9/10]
			t.Logf("%.2f %% of %d nights, median %d and 90th percentile %d minutes", part, nights, median, tenth)
			if test.median > 0 && (median > test.median || tenth > test.tenth) {
				t.Errorf("median %d and 90th percentile %d minutes, want %d and %d at most", median, tenth, test.median, test.tenth)
			}
		})
	}
}
