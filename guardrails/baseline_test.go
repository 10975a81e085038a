package guardrails_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tlsroll/tlsroll/guardrails"
)

var near = cmp.Options{cmpopts.EquateApprox(1e-9, 0), cmpopts.IgnoreFields(guardrails.SeriesBaseline{}, "Blocks")}

func TestFreezeTakesTheThirtySettledMinutes(t *testing.T) {
	const p = guardrails.Primary
	strange := normal(9000)
	strange.Errors = 9000
	rows := join(span("ios", p, night-31, 40, strange), span("ios", p, night-1, 30, normal(1000)), span("ios", p, night+1, 2, strange))
	tab := guardrails.Table{}.Merge(batch(night-80, night+1, rows...), settled(night+1))
	got := guardrails.Freeze(tab, nil, nil, settled(night-1)) // minutes night and night+1 have come, and have not settled
	want := []guardrails.SeriesBaseline{usual("ios", p)}
	if diff := cmp.Diff(want, got.Series, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !got.At.Equal(settled(night - 1)) {
		t.Errorf("want %s, got %s", settled(night-1), got.At)
	}
}

func TestFreezeUsesTheSettleTimeOfEachSource(t *testing.T) {
	now := settled(night - 1)
	tab := guardrails.Table{}.Merge(batch(night-60, night-1, span("ios", guardrails.Primary, night-1, 60, normal(100))...), now)
	late := join(span("", guardrails.Primary, night-8, 50, normal(100)), span("", guardrails.Primary, night-1, 7, failing(100, 100)))
	tab = tab.Merge(guardrails.Batch{Source: "edge", Settle: 8 * time.Minute, From: night - 60, To: night - 1, Rows: late}, now)
	for _, s := range guardrails.Freeze(tab, nil, nil, now).Series {
		if s.Minutes != 30 || s.ErrorRate != 0.005 {
			t.Errorf("%s: want 30 minutes at 0.5 %%, got %d at %g", s.Source, s.Minutes, s.ErrorRate)
		}
	}
}

func TestFreezeWantsEnough(t *testing.T) {
	tests := []struct {
		name    string
		minutes int
		n       float64
		want    bool
	}{
		{"20 minutes and 2,000 requests", 20, 100, true},
		{"19 minutes", 19, 1000, false},
		{"1,980 requests", 20, 99, false},
	}
	for _, test := range tests {
		tab := table(night-60, night-1, span("ios", guardrails.Primary, night-1, test.minutes, normal(test.n))...)
		b := guardrails.Freeze(tab, nil, nil, settled(night-1))
		if _, got := b.Of("rum", "ios", guardrails.Primary); got != test.want {
			t.Errorf("%s: want a baseline: %v, got %v", test.name, test.want, got)
		}
	}
}

func TestFreezeMeansEachFieldOverTheMinutesThatHaveIt(t *testing.T) {
	without := normal(1000)
	without.TLSMS, without.TLS, without.TLS13, without.Has = 0, 0, 0, guardrails.HasRequests|guardrails.HasErrors
	for lack, has := range map[int]bool{10: true, 11: false} {
		rows := join(span("ios", guardrails.Primary, night-31+guardrails.Minute(lack), lack, without), span("ios", guardrails.Primary, night-1, 30-lack, normal(1000)))
		b := guardrails.Freeze(table(night-60, night-1, rows...), nil, nil, settled(night-1))
		got, ok := b.Of("rum", "ios", guardrails.Primary)
		want := usual("ios", guardrails.Primary)
		if !has {
			want.TotalMS, want.TLSMS, want.Bytes, want.TLS13, want.Share, want.Has = 0, 0, 0, 0, [3]float64{}, guardrails.HasRequests|guardrails.HasErrors
		}
		if diff := cmp.Diff(want, got, near); diff != "" || !ok {
			t.Errorf("%d minutes lack the times (-want +got):\n%s", lack, diff)
		}
	}
}

func TestFreezeNeedsNoRequestsWhereThePlanAsksForNone(t *testing.T) {
	status := guardrails.Counts{Status2xx: 900, Status4xx: 60, Status5xx: 40, Has: guardrails.HasStatus}
	tls := guardrails.Counts{TLS: 500, TLSMS: 50_000, Has: guardrails.HasTLS | guardrails.HasTLSMS}
	for signal, c := range map[string]guardrails.Counts{"status": status, "tls": tls} {
		tab := table(night-60, night-1, span("ios", guardrails.Primary, night-1, 60, c)...)
		b := guardrails.Freeze(tab, nil, nil, settled(night-1))
		if got := guardrails.Judge(&tab, &b, rules()[signal], "ios", guardrails.Primary, quiet(settled(night-1))); got.State != guardrails.Clear {
			t.Errorf("%s alone: want CLEAR, got %+v", signal, got)
		}
	}
}

func TestFreezeSumsPlatformsForRulesThatAreNotPerPlatform(t *testing.T) {
	slow := normal(3000)
	slow.TotalMS = 400 * 3000
	tab := table(night-60, night-1, join(span("ios", guardrails.Primary, night-1, 40, normal(1000)), span("tv", guardrails.Primary, night-1, 40, slow))...)
	b := guardrails.Freeze(tab, nil, nil, settled(night-1))
	rule := rules()["total"]
	rule.PerPlatform = false
	got := guardrails.JudgeAll(&tab, &b, []guardrails.Rule{rule}, guardrails.Primary, quiet(settled(night-1)))
	if diff := cmp.Diff([]string{"total_time  CLEAR"}, states(got)); diff != "" || got[0].Expected != 350 {
		t.Errorf("want 350 ms expected, got %g (-want +got):\n%s", got[0].Expected, diff)
	}
}

// wobble returns an hour of both legs whose share has the noise of neff resolvers, and its minutes.
func wobble(rng *rand.Rand, last guardrails.Minute, minutes int, w, neff float64) []guardrails.Row {
	var rows []guardrails.Row
	for m := last - guardrails.Minute(minutes) + 1; m <= last; m++ {
		share := min(max(w+rng.NormFloat64()*math.Sqrt(w*(1-w)/neff), 0), 1)
		rows = append(rows, row(guardrails.Primary, m, normal(1000*share)), row(guardrails.Backup, m, normal(1000*(1-share))))
	}
	return rows
}

func TestNEffIsMeasuredAndBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	gap := wobble(rng, night-1, 60, 0.6, 200)
	gap = append(gap[:40:40], gap[41:]...) // the primary's row of one minute is lost
	var drift []guardrails.Row
	for i := range 60 {
		share := 0.4 + 0.1*float64(i/20) + 0.02*float64(i%2)
		m := night - 60 + guardrails.Minute(i)
		drift = append(drift, row(guardrails.Primary, m, normal(1000*share)), row(guardrails.Backup, m, normal(1000*(1-share))))
	}
	tests := []struct {
		name     string
		rows     []guardrails.Row
		from, to float64
	}{
		{"200 resolvers", wobble(rng, night-1, 60, 0.6, 200), 120, 320},
		{"5 resolvers are clamped", wobble(rng, night-1, 60, 0.6, 5), 20, 20},
		{"a share that never moves is clamped", join(span("ios", guardrails.Primary, night-1, 60, normal(600)), span("ios", guardrails.Backup, night-1, 60, normal(400))), 1000, 1000},
		{"everything on one leg cannot tell", span("ios", guardrails.Primary, night-1, 60, normal(600)), 60, 60},
		{"nineteen minutes cannot tell", wobble(rng, night-1, 19, 0.6, 200), 60, 60},
		{"a lost row is not a share of zero", gap, 100, 400},
		{"each block has its own mean", drift, 1000, 1000},
	}
	for _, test := range tests {
		b := guardrails.Freeze(table(night-80, night-1, test.rows...), nil, nil, settled(night-1))
		for _, s := range b.Shares {
			if s.NEff < test.from || s.NEff > test.to {
				t.Errorf("%s: want %g..%g, got %g (platform %q)", test.name, test.from, test.to, s.NEff, s.Platform)
			}
		}
		if len(b.Shares) != 2 {
			t.Errorf("%s: want the total and ios, got %+v", test.name, b.Shares)
		}
	}
}
