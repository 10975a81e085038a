package world_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

func one(w *world.World, now time.Time, v world.View, m guardrails.Minute) float64 {
	sum := 0.0
	for _, r := range w.Minutes(now, v, m, m) {
		sum += r.Counts.Requests
	}
	return sum
}

func TestClientMinutesAppearLateAndIncomplete(t *testing.T) {
	w := world.New(config(world.None), start)
	revised := 0
	for i := range guardrails.Minute(400) {
		m := guardrails.MinuteOf(start) + i
		final := one(w, m.End().Add(time.Hour), world.RUM, m)
		seen := func(d time.Duration) float64 { return one(w, m.End().Add(d), world.RUM, m) / final }
		if got := seen(19 * time.Second); got != 0 {
			t.Errorf("minute +%d: %.2f is visible after 19 s, want nothing", i, got)
		}
		if got := seen(59 * time.Second); got < 0.59 || got > 0.96 {
			t.Errorf("minute +%d: %.2f is visible after 59 s, want 0.60 to 0.95", i, got)
		}
		switch got := seen(time.Minute); {
		case got < 0.98:
			t.Errorf("minute +%d: %.2f is visible when settled, want at most 1 %% missing", i, got)
		case got < 1:
			revised++
		}
	}
	if revised == 0 || revised > 15 {
		t.Errorf("%d of 400 settled minutes were revised, want a few", revised)
	}
}

func TestEdgeMinutesTakeFiveMinutesAndGrowUntilSeven(t *testing.T) {
	w := world.New(config(world.None), start)
	m := guardrails.MinuteOf(start)
	for _, leg := range []guardrails.Leg{guardrails.Primary, guardrails.Backup} {
		v := world.Edge(leg)
		final := one(w, m.End().Add(time.Hour), v, m)
		if got := one(w, m.End().Add(5*time.Minute-time.Second), v, m); got != 0 {
			t.Errorf("%v: visible before five minutes: %v", v, got)
		}
		if got := one(w, m.End().Add(5*time.Minute), v, m); got >= final || got < 0.96*final {
			t.Errorf("%v: %v of %v after five minutes, want a little less", v, got, final)
		}
		if got := one(w, m.End().Add(7*time.Minute-time.Second), v, m); got >= final {
			t.Errorf("%v: %v of %v before seven minutes, want a little less", v, got, final)
		}
		if got := one(w, m.End().Add(7*time.Minute), v, m); got != final {
			t.Errorf("%v: %v of %v after seven minutes, want all", v, got, final)
		}
	}
}

func TestEdgeMinutesWithoutTrafficAreAbsent(t *testing.T) {
	w := world.New(config(world.None), start)
	weigh(t, w, start, 1)
	if err := w.WriteDNS(start, plans.DNSWrite{Leg: guardrails.Primary, Action: plans.DisableRecord}); err != nil {
		t.Fatal(err)
	}
	m := guardrails.MinuteOf(after(time.Hour))
	if rows := w.Minutes(m.End().Add(time.Hour), world.EdgePrimary, m, m); len(rows) != 0 {
		t.Errorf("a drained leg has %v", rows)
	}
	if rows := w.Minutes(m.End().Add(time.Hour), world.RUM, m, m); len(rows) != 4 {
		t.Errorf("%d rows of client measurements, want one for each platform and leg", len(rows))
	}
}

func TestEdgeStatusesSumToTheRequestsThatWereAnswered(t *testing.T) {
	w := world.New(config(world.None), start)
	rows := w.Minutes(after(time.Hour), world.EdgePrimary, guardrails.MinuteOf(start)-60, guardrails.MinuteOf(start)-1)
	var c guardrails.Counts
	for _, r := range rows {
		c.Requests += r.Counts.Requests
		c.Status2xx += r.Counts.Status2xx
		c.Status4xx += r.Counts.Status4xx
		c.Status5xx += r.Counts.Status5xx
	}
	near(t, "2xx", c.Status2xx/c.Requests, 0.975, 0.002)
	near(t, "4xx", c.Status4xx/c.Requests, 0.020, 0.002)
	near(t, "5xx", c.Status5xx/c.Requests, 0.003, 0.001)
	rum := sums(w, guardrails.Primary, after(-time.Hour), start)
	near(t, "answers for a successful request", c.Requests/(rum.Requests-rum.Errors), 1, 0.01)
}

func TestQuietWorldIsExact(t *testing.T) {
	cfg := config(world.None)
	cfg.Quiet = true
	w := world.New(cfg, start)
	weigh(t, w, start, 30)
	m := guardrails.MinuteOf(after(10 * time.Minute))
	var p, all float64
	for _, r := range w.Minutes(m.End(), world.RUM, m, m) {
		all += r.Counts.Requests
		if r.Leg == guardrails.Primary {
			p += r.Counts.Requests
		}
	}
	near(t, "share", p/all, 0.30, 0.0005)
	want := plans.Answers{Server: "authoritative", Authoritative: true, Primary: 30, Backup: 70, TTL: time.Minute}
	if diff := cmp.Diff(want, w.Answers(m.End(), 100)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
