package world_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

const day = 24 * time.Hour

// level is what both legs together showed in a span.
type level struct{ requests, total, tls float64 } // requests, and means in milliseconds

func levelOf(w *world.World, from, to time.Duration) level {
	p, b := sums(w, guardrails.Primary, after(from), after(to)), sums(w, guardrails.Backup, after(from), after(to))
	return level{p.Requests + b.Requests, (p.TotalMS + b.TotalMS) / (p.Requests + b.Requests), (p.TLSMS + b.TLSMS) / (p.TLS + b.TLS)}
}

func TestEightDaysBeforeTheStartAreThere(t *testing.T) {
	w := world.New(config(world.None), start)
	now := guardrails.MinuteOf(start)
	const minutes = 8 * 24 * 60
	rows := w.Minutes(start, world.RUM, now-minutes, now-1)
	if got := len(rows); got < 4*(minutes-1) || got > 4*minutes {
		t.Fatalf("%d rows, want one for each platform, leg and minute but the last, which may be on its way", got)
	}
	for i, r := range rows {
		series := len(rows) / 4
		if r.Minute != now-minutes+guardrails.Minute(i%series) || r.Platform != []string{"android", "ios"}[i/series/2] || r.Unknown != 0 || r.Counts.Requests == 0 {
			t.Fatalf("row %d is %+v", i, r)
		}
	}
	if got := len(w.Minutes(start, world.EdgePrimary, now-minutes, now-1)); got != minutes-5 {
		t.Errorf("%d minutes of the CDN's own monitoring, want all but the last five", got)
	}
	p, b := sums(w, guardrails.Primary, after(-8*day), start), sums(w, guardrails.Backup, after(-8*day), start)
	near(t, "primary's share of the week", p.Requests/(p.Requests+b.Requests), 0.60, 0.005)
	near(t, "TLS 1.3 handshakes of the week", p.TLS13+b.TLS13, 0, 0)
}

func TestWeekBeforeRepeatsTheShape(t *testing.T) {
	cfg := config(world.None)
	cfg.DayDemand = -1
	w := world.New(cfg, start)
	hour := func(d time.Duration) float64 { return levelOf(w, d, d+time.Hour).requests }
	near(t, "an hour of last week against the same hour before the start", hour(-7*day)/hour(-day), 1, 0.01)
	near(t, "the peak at 14:00", hour(-12*time.Hour)/60, 21_000*0.99, 300)
}

// All minutes of a civil day share one factor, which has the asked spread, and the day of the start has none.
func TestDaysDifferByOneFactorEach(t *testing.T) {
	var demand, times []float64
	for seed := range uint64(30) {
		cfg := config(world.None)
		cfg.Seed = seed
		w := world.New(cfg, start)
		cfg.DayDemand, cfg.DayTimes = -1, -1
		alike := world.New(cfg, start)
		factor := func(from time.Duration) level {
			a, b := levelOf(w, from, from+30*time.Minute), levelOf(alike, from, from+30*time.Minute)
			return level{a.requests / b.requests, a.total / b.total, a.tls / b.tls}
		}
		for d := range 7 {
			midnight := -time.Duration(d+1)*day - 2*time.Hour // the start is at 02:00
			early, late := factor(midnight), factor(midnight+day-30*time.Minute)
			near(t, "demand late in a day against early", late.requests/early.requests, 1, 0.02)
			near(t, "total time late in a day against early", late.total/early.total, 1, 0.02)
			near(t, "handshake time against total time", early.tls/early.total, 1, 0.02)
			demand, times = append(demand, early.requests), append(times, early.total)
		}
		today := factor(-2 * time.Hour)
		near(t, "demand of the day of the start", today.requests, 1, 1e-9)
		near(t, "times of the day of the start", today.total, 1, 1e-9)
		w.Advance(after(23 * time.Hour))
		alike.Advance(after(23 * time.Hour))
		near(t, "the evening after the start", factor(21*time.Hour).total, 1, 1e-9)
		if next := factor(22 * time.Hour); next.total == 1 || next.requests == 1 {
			t.Errorf("seed %d: the day after is as the day of the start", seed)
		}
	}
	near(t, "mean of the days' demand", mean(demand), 1, 0.01)
	near(t, "deviation of the days' demand", deviation(demand), 0.05, 0.008)
	near(t, "mean of the days' times", mean(times), 1, 0.006)
	near(t, "deviation of the days' times", deviation(times), 0.03, 0.005)
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

func deviation(xs []float64) float64 {
	sum, mu := 0.0, mean(xs)
	for _, x := range xs {
		sum += (x - mu) * (x - mu)
	}
	return math.Sqrt(sum / float64(len(xs)))
}

// A constant from before the start is wrong by as much as the night rises; the same hours of the week before tell by how much.
func TestNightRiseIsInTheWeekToo(t *testing.T) {
	cfg := config(world.None)
	cfg.NightRise = 0.08
	w := world.New(cfg, start)
	rise := func(from time.Duration) (total, tls float64) {
		a, b := levelOf(w, from-30*time.Minute, from), levelOf(w, from+225*time.Minute, from+255*time.Minute)
		return b.total / a.total, b.tls / a.tls
	}
	var totals, handshakes []float64
	for d := 1; d <= 7; d++ {
		total, tls := rise(-time.Duration(d) * day)
		totals, handshakes = append(totals, total), append(handshakes, tls)
	}
	w.Advance(after(5 * time.Hour))
	total, tls := rise(0)
	near(t, "total time around 06:00 against before 02:00", total, 1.079, 0.01)
	near(t, "handshake time around 06:00 against before 02:00", tls, 1.079, 0.01)
	slices.Sort(totals)
	slices.Sort(handshakes)
	near(t, "the week's median of the same", totals[3], total, 0.01)
	near(t, "the week's median of the same for handshakes", handshakes[3], tls, 0.01)
	noon := levelOf(w, -14*time.Hour, -13*time.Hour).total / levelOf(w, -day-30*time.Minute, -day).total
	near(t, "total time at noon against before 02:00", noon, 1, 0.01)
}

func TestQuietDaysAreAlike(t *testing.T) {
	cfg := config(world.None)
	cfg.Quiet, cfg.DayDemand, cfg.DayTimes = true, 0.2, 0.2
	w := world.New(cfg, start)
	for d := 1; d <= 7; d++ {
		for _, hour := range []time.Duration{0, 4 * time.Hour, 12 * time.Hour} {
			a, b := levelOf(w, hour-time.Duration(d)*day, hour-time.Duration(d)*day+time.Minute), levelOf(w, hour-day, hour-day+time.Minute)
			if a != b {
				t.Errorf("%d days ago: %+v, yesterday %+v", d, a, b)
			}
		}
	}
	near(t, "total time at 06:00 against 02:00", levelOf(w, -20*time.Hour, -19*time.Hour).total/levelOf(w, -day, -23*time.Hour).total, 1, 1e-5)
	cfg.NightRise = 0.5
	w = world.New(cfg, start)
	six := -20 * time.Hour
	near(t, "asked for, total time at 06:00", levelOf(w, six, six+time.Minute).total/levelOf(w, -day, -day+time.Minute).total, 1.5, 1e-3)
}

// Days begin at midnight in Config.Location, also where a day has 23 hours.
func TestDaysAreCivilDays(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(world.None)
	cfg.Location, cfg.DayTimes, cfg.NightRise, cfg.Seed = zone, 0.3, -1, 2
	spring := time.Date(2021, 3, 28, 0, 0, 0, 0, zone) // clocks go from 02:00 to 03:00
	w := world.New(cfg, time.Date(2021, 3, 30, 2, 0, 0, 0, zone))
	at := func(from time.Time, d time.Duration) float64 {
		p := sums(w, guardrails.Primary, from.Add(d), from.Add(d+30*time.Minute))
		return p.TotalMS / p.Requests
	}
	end := spring.Add(23 * time.Hour)
	near(t, "the end of a short day against its begin", at(end, -30*time.Minute)/at(spring, 0), 1, 0.02)
	for name, midnight := range map[string]time.Time{"begin": spring, "end": end} {
		if change := at(midnight, 0) / at(midnight, -30*time.Minute); math.Abs(change-1) < 0.04 {
			t.Errorf("nothing changes at the %s of the day: %.3f", name, change)
		}
	}
}
