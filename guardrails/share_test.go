package guardrails_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tlsroll/tlsroll/guardrails"
)

// shares returns both legs' rows, n requests a minute in all, with the primary's share from minute first on. A share below 0 is no row
// of either leg.
func shares(platform string, first guardrails.Minute, n float64, percent ...float64) []guardrails.Row {
	var rows []guardrails.Row
	for i, p := range percent {
		m := first + guardrails.Minute(i)
		for leg, part := range map[guardrails.Leg]float64{guardrails.Primary: p / 100, guardrails.Backup: 1 - p/100} {
			if p >= 0 && part > 0 {
				rows = append(rows, guardrails.Row{Platform: platform, Leg: leg, Minute: m, Counts: normal(n * part)})
			}
		}
	}
	return rows
}

func steady(p float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = p
	}
	return out
}

func resolvers(neff float64, platforms ...string) *guardrails.Baseline {
	b := baseline()
	for _, p := range append(platforms, "") {
		b.Shares = append(b.Shares, guardrails.ShareBaseline{Source: "rum", Platform: p, Share: 60, NEff: neff})
	}
	return b
}

// moved is a change that was read back at the start of minute night with a TTL of one minute.
func moved(from, to guardrails.Percent, last guardrails.Minute) guardrails.ShareQuestion {
	return guardrails.ShareQuestion{Source: "rum", Now: settled(last), Asked: to, Before: from, Since: night.Start(), TTL: time.Minute}
}

func TestVerifyShare(t *testing.T) {
	type answer struct {
		Known, Verified, WrongWay bool
		Minutes                   int
		Tolerance                 float64
	}
	tests := []struct {
		name     string
		from, to guardrails.Percent
		neff     float64
		carried  []float64 // from minute night+1 on: the first after the TTL
		want     answer
	}{
		{"drained", 60, 0, 60, steady(0, 8), answer{true, true, false, 5, 5}},
		{"drained a minute less long: two means only", 60, 0, 60, steady(0, 7), answer{true, false, false, 5, 5}},
		{"drained four minutes ago", 60, 0, 60, steady(0, 4), answer{}},
		{"drained but for exactly 5 %", 60, 0, 60, steady(5, 7), answer{true, true, false, 5, 5}},
		{"drained but for more", 60, 0, 60, steady(5.1, 7), answer{true, false, false, 5, 5}},
		{"after a quarter of an hour 2 points", 60, 0, 60, steady(1.9, 17), answer{true, true, false, 5, 2}},
		{"after a quarter of an hour 5 % is too much", 60, 0, 60, steady(5, 17), answer{true, false, false, 5, 2}},
		{"filled", 60, 100, 60, steady(100, 8), answer{true, true, false, 5, 5}},
		{"filled but for 6 %", 60, 100, 60, steady(94, 7), answer{true, false, false, 5, 5}},
		{"many resolvers are told within 2 points", 10, 30, 1000, steady(31.9, 7), answer{true, true, false, 5, 2}},
		{"and no more", 10, 30, 1000, steady(32.1, 7), answer{true, false, false, 5, 2}},
		{"three deviations of the mean", 10, 30, 300, steady(33.5, 7), answer{true, true, false, 5, 3.550}},
		{"not four", 10, 30, 300, steady(33.6, 7), answer{true, false, false, 5, 3.550}},
		{"five minutes are too few for few resolvers", 10, 30, 60, steady(30, 9), answer{true, false, false, 5, 7.937}},
		{"ten are too", 10, 30, 60, steady(30, 14), answer{true, false, false, 10, 5.612}},
		{"fifteen are not", 10, 30, 60, steady(30, 17), answer{true, true, false, 15, 4.583}},
		{"ten are enough for a tenth", 0, 10, 60, steady(10, 12), answer{true, true, false, 10, 3.674}},
		{"never more than 8 points", 10, 50, 20, steady(57.9, 17), answer{true, true, false, 15, 8}},
		{"not beyond them", 10, 50, 20, steady(58.1, 17), answer{true, false, false, 15, 8}},
		{"unmoved", 60, 30, 300, steady(60, 7), answer{true, false, false, 5, 3.550}},
		{"the wrong way", 30, 60, 300, steady(20, 7), answer{true, false, true, 5, 3.795}},
		{"against the way, within twice the tolerance", 30, 60, 300, steady(24, 7), answer{true, false, false, 5, 3.795}},
		{"past the asked share", 10, 30, 300, steady(38, 7), answer{true, false, true, 5, 3.550}},
		{"on the way", 60, 30, 300, steady(36, 7), answer{true, false, false, 5, 3.550}},
		{"an unknown minute in five", 10, 30, 300, []float64{30, 30, 30, 30, -1, 30, 30}, answer{true, true, false, 5, 3.550}},
		{"two unknown minutes in five", 10, 30, 300, []float64{30, 30, 30, -1, 30, -1, 30}, answer{}},
		{"the newest minutes are late", 10, 30, 300, append(steady(30, 7), -1, -1), answer{true, true, false, 5, 3.550}},
		{"a row of one leg is lost", 10, 30, 300, []float64{30, 30, 30, 30, 100, 30, 30}, answer{true, true, false, 5, 3.550}},
		{"a leg with next to no traffic leaves minutes out", 60, 0, 60, []float64{1, 0, 1, 0, 1, 0, 1}, answer{true, true, false, 5, 5}},
		{"the rows of one leg stopped", 60, 0, 60, append(steady(60, 5), steady(0, 10)...), answer{true, true, false, 5, 2}},
		{"a short way done", 30, 33, 300, steady(32.5, 7), answer{true, true, false, 5, 3.642}},
		{"a way as long as the tolerance, nearer to the end", 30, 36, 300, steady(33.1, 7), answer{true, true, false, 5, 3.718}},
		{"a way as long as the tolerance, nearer to the start", 30, 36, 300, steady(32.9, 7), answer{true, false, false, 5, 3.718}},
		{"a longer way, by the tolerance", 20, 32, 300, steady(28.5, 7), answer{true, true, false, 5, 3.613}},
		{"a way of 13 wants 80 %", 20, 33, 300, steady(30.5, 7), answer{true, true, false, 5, 3.642}},
		{"a way of 13 does not take 79 %", 20, 33, 300, steady(30.2, 7), answer{true, false, false, 5, 3.642}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			last := night + guardrails.Minute(len(test.carried))
			rows := append(shares("ios", night-10, 1000, steady(float64(test.from), 10)...), shares("ios", night+1, 1000, test.carried...)...)
			tab := table(night-10, last, rows...)
			a := guardrails.VerifyShare(&tab, resolvers(test.neff, "ios"), moved(test.from, test.to, last))
			got := answer{a.Known, a.Verified, a.WrongWay, a.Minutes, math.Round(1000*float64(a.Tolerance)) / 1000}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s%+v", diff, a)
			}
		})
	}
}

func TestTheMeanStartsAfterTheTTL(t *testing.T) {
	tab := table(night-10, night+20, shares("ios", night-10, 1000, append(steady(60, 13), steady(1, 18)...)...)...) // 1 % from night+3 on
	for since, want := range map[time.Duration]bool{0: true, time.Nanosecond: false, time.Minute: false} {
		q := moved(60, 0, night+9)
		q.TTL, q.Since = 3*time.Minute, night.Start().Add(since)
		if a := guardrails.VerifyShare(&tab, resolvers(60, "ios"), q); a.Verified != want || !a.Known {
			t.Errorf("changed %s into the minute: want verified %v, got %+v", since, want, a)
		}
	}
}

func TestEveryPlatformHasItsSay(t *testing.T) {
	ios := shares("ios", night-10, 1000, steady(30, 30)...)
	base := resolvers(300, "ios", "tv")
	known := resolvers(300, "ios", "tv")
	known.Series = append(known.Series, usual("tv", guardrails.Backup))
	failed := shares("tv", night-10, 1000, steady(30, 30)...)
	for i := range failed {
		if failed[i].Minute > night+10 {
			failed[i].Unknown = guardrails.SourceError
		}
	}
	tests := []struct {
		name     string
		tv       []guardrails.Row
		base     *guardrails.Baseline
		known    bool
		verified bool
	}{
		{"both there", shares("tv", night-10, 1000, steady(30, 30)...), base, true, true},
		{"one elsewhere", shares("tv", night-10, 40, steady(60, 30)...), base, true, false},
		{"one elsewhere with 345 requests in 15 minutes", shares("tv", night-10, 23, steady(60, 30)...), base, true, true},
		{"one elsewhere with 360 requests in 15 minutes", shares("tv", night-10, 24, steady(60, 30)...), base, true, false},
		{"a stray row long ago", shares("tv", night-10, 5, 30), base, true, true},
		{"thin, but with a baseline", shares("tv", night-10, 5, steady(60, 30)...), known, true, false},
		{"vanished, but with a baseline", shares("tv", night-10, 1000, steady(30, 10)...), known, false, false},
		{"the source fails on one", failed, known, false, false},
	}
	for _, test := range tests {
		tab := table(night-10, night+19, append(test.tv, ios...)...)
		if a := guardrails.VerifyShare(&tab, test.base, moved(10, 30, night+19)); a.Verified != test.verified || a.Known != test.known {
			t.Errorf("%s: want known %v and verified %v, got %+v", test.name, test.known, test.verified, a)
		}
	}
}

func TestASourceOfOneLegOrNoneVerifiesNothingInBetween(t *testing.T) {
	one := table(night-10, night+19, span("ios", guardrails.Primary, night+19, 30, normal(1000))...)
	for name, tab := range map[string]guardrails.Table{"one leg": one, "none": {}} {
		if a := guardrails.VerifyShare(&tab, resolvers(300, "ios"), moved(10, 30, night+19)); a.Verified {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestVerifiedIsWithinTolerance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []guardrails.Row
		asked := rapid.IntRange(0, 100).Draw(t, "asked")
		for _, p := range []string{"ios", "tv"} {
			n := float64(rapid.SampledFrom([]int{1, 20, 30, 1000}).Draw(t, "requests"))
			at := float64(asked) + rapid.Float64Range(-10, 10).Draw(t, "off")
			for m := night - 5; m < night+20; m++ {
				share := min(max(at+rapid.Float64Range(-4, 4).Draw(t, "noise"), 0), 100)
				if rapid.IntRange(0, 9).Draw(t, "gone") == 0 {
					share = -1
				}
				rows = append(rows, shares(p, m, n, share)...)
			}
		}
		tab, b := table(night-5, night+19, rows...), resolvers(rapid.Float64Range(0, 2000).Draw(t, "neff"), "ios", "tv")
		q := moved(guardrails.Percent(rapid.IntRange(0, 100).Draw(t, "before")), guardrails.Percent(asked), night+19)
		a := guardrails.VerifyShare(&tab, b, q)
		if !a.Verified {
			return
		}
		if off := math.Abs(float64(a.Carried - q.Asked)); off > float64(a.Tolerance) || a.Tolerance > 8 || a.Tolerance < 2 || !a.Known || a.WrongWay {
			t.Fatalf("verified %g points off, with %+v", off, a)
		}
		for _, p := range a.Platforms {
			if off := math.Abs(float64(p.Carried - q.Asked)); !p.Thin && off > float64(p.Tolerance) {
				t.Fatalf("verified with %s %g points off", p.Platform, off)
			}
		}
	})
}

// TestSharesVerifyAsTheirNoiseSays plays nights in which the share is where it was sent, and nights in which it is 10 points off: before
// the change N_eff is measured, and after it the question is asked every minute until the 20th, when the controller would hold.
func TestSharesVerifyAsTheirNoiseSays(t *testing.T) {
	const nights = 400
	for _, neff := range []float64{100, 300, 1000} {
		for _, way := range []struct{ from, to float64 }{{0.60, 0.10}, {0.10, 0.30}, {0.30, 0.60}, {0.60, 0}} {
			right, wrong := 0, 0
			rng := rand.New(rand.NewPCG(uint64(neff), uint64(100*way.to)))
			for range nights {
				if verifies(rng, neff, way.from, way.to, way.to) {
					right++
				}
				if verifies(rng, neff, way.from, way.to, way.to+0.1) {
					wrong++
				}
			}
			if right < nights*99/100 || wrong > 0 {
				t.Errorf("N_eff %g, %g to %g: %d of %d nights verify where the traffic was sent, %d when it is 10 points off", neff, way.from, way.to, right, nights, wrong)
			}
		}
	}
}

// verifies plays one night: an hour at the share from, then 20 minutes at the share true.
func verifies(rng *rand.Rand, neff, from, asked, truth float64) bool {
	history := wobble(rng, night-1, 60, from, neff)
	after := wobble(rng, night+20, 20, truth, neff)
	tab := table(night-80, night+20, history...)
	b := guardrails.Freeze(tab, nil, nil, settled(night-1))
	tab = tab.Merge(batch(night, night+20, after...), settled(night+20))
	for m := night + 7; m <= night+18; m++ {
		q := moved(guardrails.Percent(100*from), guardrails.Percent(100*asked), m)
		if guardrails.VerifyShare(&tab, &b, q).Verified {
			return true
		}
	}
	return false
}
