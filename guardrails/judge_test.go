package guardrails_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
)

// span returns n rows of one series that end with minute last.
func span(platform string, leg guardrails.Leg, last guardrails.Minute, n int, c guardrails.Counts) []guardrails.Row {
	var rows []guardrails.Row
	for m := last - guardrails.Minute(n) + 1; m <= last; m++ {
		rows = append(rows, guardrails.Row{Platform: platform, Leg: leg, Minute: m, Counts: c})
	}
	return rows
}

func join(lists ...[]guardrails.Row) []guardrails.Row {
	var out []guardrails.Row
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// quiet is a situation long after the last change.
func quiet(now time.Time) guardrails.Situation {
	return guardrails.Situation{Now: now, Since: night - 100, TTL: time.Minute, Share: 60, Settled: true}
}

// states says each verdict as "rule platform STATE".
func states(vs []guardrails.Verdict) []string {
	var out []string
	for _, v := range vs {
		out = append(out, v.Rule+" "+v.Platform+" "+v.State.String())
	}
	return out
}

func TestJudgeAllFindsWhatMustBeJudged(t *testing.T) {
	const last, p, b = 11, guardrails.Primary, guardrails.Backup
	errors, total, silence := rules()["errors"], rules()["total"], rules()["silence"]
	together := errors
	together.PerPlatform = false
	both := *baseline()
	both.Series = append(both.Series, usual("android", p), usual("android", b))
	tests := []struct {
		name  string
		rows  []guardrails.Row
		base  guardrails.Baseline
		rules []guardrails.Rule
		leg   guardrails.Leg
		want  []string
	}{
		{
			"each platform apart", join(span("ios", p, night+last, 12, normal(1000)), span("android", p, night+last, 12, failing(1000, 100))), both,
			[]guardrails.Rule{errors},
			p,
			[]string{"error_rate android FIRE", "error_rate ios CLEAR"},
		},
		{
			"a platform that vanishes is blind", span("ios", p, night+last, 12, normal(1000)), both,
			[]guardrails.Rule{errors},
			p,
			[]string{"error_rate android BLIND", "error_rate ios CLEAR"},
		},
		{
			"a platform that appears late cannot be compared", join(span("ios", p, night+last, 12, normal(1000)), span("tv", p, night+last, 12, normal(1000))), *baseline(),
			[]guardrails.Rule{errors, total},
			p,
			[]string{"error_rate ios CLEAR", "error_rate tv CLEAR", "total_time ios CLEAR", "total_time tv PENDING"},
		},
		{
			"not per platform is the sum", join(span("ios", p, night+last, 12, failing(1000, 60)), span("android", p, night+last, 12, failing(1000, 10))), both,
			[]guardrails.Rule{together},
			p,
			[]string{"error_rate  CLEAR"},
		},
		{
			"the sum breaches", join(span("ios", p, night+last, 12, failing(1000, 60)), span("android", p, night+last, 12, failing(1000, 41))), both,
			[]guardrails.Rule{together},
			p,
			[]string{"error_rate  FIRE"},
		},
		{
			"a sum that lost a platform is unknown", join(span("ios", p, night+last, 12, normal(1000)), span("android", p, night+last-3, 9, normal(1000))), both,
			[]guardrails.Rule{together},
			p,
			[]string{"error_rate  BLIND"},
		},
		{"nothing was ever shown", nil, guardrails.Baseline{}, []guardrails.Rule{errors}, p, []string{"error_rate  BLIND"}},
		{
			"silence is the canary's alone", join(span("ios", p, night+last, 12, normal(600)), span("ios", b, night+last, 12, normal(400))), *baseline(),
			[]guardrails.Rule{silence, errors},
			b,
			[]string{"error_rate ios CLEAR"},
		},
		{"a source of the primary says nothing of the backup", span("ios", p, night+last, 12, normal(600)), *baseline(), []guardrails.Rule{errors}, b, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tab := guardrails.Table{}
			if test.rows != nil {
				tab = table(night, night+last, test.rows...)
			}
			s := quiet(settled(night + last))
			if diff := cmp.Diff(test.want, states(guardrails.JudgeAll(&tab, &test.base, test.rules, test.leg, s))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestASourceWithoutPlatformsIsOnePlatform(t *testing.T) {
	tab := table(night, night+11, span("", guardrails.Primary, night+11, 12, failing(1000, 100))...)
	got := states(guardrails.JudgeAll(&tab, &guardrails.Baseline{}, []guardrails.Rule{rules()["errors"]}, guardrails.Primary, quiet(settled(night+11))))
	if diff := cmp.Diff([]string{"error_rate  FIRE"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheVerdictCarriesItsEvidence(t *testing.T) {
	rows := join(span("ios", guardrails.Primary, night+6, 7, normal(1000)), span("ios", guardrails.Primary, night+9, 2, failing(400, 36)))
	rows = append(rows, guardrails.Row{Platform: "ios", Leg: guardrails.Primary, Minute: night + 10, Unknown: guardrails.Partial})
	tab := table(night, night+11, rows...)
	got := guardrails.Judge(&tab, baseline(), rules()["errors"], "ios", guardrails.Primary, quiet(settled(night+11)))
	want := guardrails.Verdict{
		Rule: "error_rate", Mode: guardrails.Act, Signal: guardrails.ErrorRate, Platform: "ios", Leg: guardrails.Primary, Side: "above",
		State: guardrails.Pending, From: night - 1, Through: night + 10, Breach: 2, OK: 7, Unknown: 3, Why: guardrails.Partial,
		Value: 9, Limit: 5, Known: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rise := guardrails.Judge(&tab, baseline(), rules()["total"], "ios", guardrails.Primary, quiet(settled(night+11)))
	if rise.Value != 200 || rise.Limit != 240 || rise.Expected != 200 {
		t.Errorf("total time: want 200 ms of at most 240, 200 expected, got %+v", rise)
	}
}

func TestRulesAtTheirEdges(t *testing.T) {
	errors := rules()["errors"]
	with := func(set func(*guardrails.Rule)) guardrails.Rule {
		r := errors
		set(&r)
		return r
	}
	bad, good := failing(1000, 60), normal(1000)
	tests := []struct {
		name string
		rule guardrails.Rule
		rows []guardrails.Row
		want guardrails.State
	}{
		{"no limit never passes", with(func(r *guardrails.Rule) { r.Above = 0 }), span("ios", 1, night+11, 12, good), guardrails.Pending},
		{"no such signal never passes", with(func(r *guardrails.Rule) { r.Signal = 99 }), span("ios", 1, night+11, 12, good), guardrails.Pending},
		{
			"no such class never passes", with(func(r *guardrails.Rule) {
				r.Signal, r.Moves, r.Classes = guardrails.StatusShare, 5, []guardrails.Class{0, 4}
			}),
			span("ios", 1, night+11, 12, good), guardrails.Pending,
		},
		{"less than a minute is a minute", with(func(r *guardrails.Rule) { r.For, r.Within = time.Second, 0 }), span("ios", 1, night+11, 12, good), guardrails.Clear},
		{"one minute is enough when the rule says so", with(func(r *guardrails.Rule) { r.For, r.Within = time.Minute, time.Minute }), append(span("ios", 1, night+10, 11, good), span("ios", 1, night+11, 1, bad)...), guardrails.Fire},
		{"and gone a minute later", with(func(r *guardrails.Rule) { r.For, r.Within = time.Minute, time.Minute }), append(span("ios", 1, night+10, 1, bad), span("ios", 1, night+11, 1, good)...), guardrails.Pending},
		{"an hour and a half of 90 minutes", with(func(r *guardrails.Rule) { r.For, r.Within = 90*time.Minute, 90*time.Minute }), span("ios", 1, night+11, 90, bad), guardrails.Fire},
		{"of 89", with(func(r *guardrails.Rule) { r.For, r.Within = 90*time.Minute, 90*time.Minute }), span("ios", 1, night+11, 89, bad), guardrails.Suspect},
		{"the longest window", with(func(r *guardrails.Rule) { r.For, r.Within = guardrails.MaxWindow, guardrails.MaxWindow }), span("ios", 1, night+11, 180, bad), guardrails.Fire},
		{"a minute's requests as the rule says", with(func(r *guardrails.Rule) { r.MinRequests = 1001 }), span("ios", 1, night+11, 1, good), guardrails.Pending},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tab := table(night-200, night+11, test.rows...)
			s := quiet(settled(night + 11))
			s.Since = night - 1000
			if got := guardrails.Judge(&tab, baseline(), test.rule, "ios", guardrails.Primary, s); got.State != test.want {
				t.Errorf("want %s, got %+v", test.want, got)
			}
		})
	}
}

func TestAMeanOfZeroIsNothingToCompareWith(t *testing.T) {
	tab := table(night, night+11, span("ios", guardrails.Primary, night+11, 12, normal(1000))...)
	for name, erase := range map[string]func(*guardrails.SeriesBaseline){
		"total": func(s *guardrails.SeriesBaseline) { s.TotalMS = 0 },
		"tls":   func(s *guardrails.SeriesBaseline) { s.TLSMS = 0 },
		"size":  func(s *guardrails.SeriesBaseline) { s.Bytes = 0 },
	} {
		b := baseline()
		erase(&b.Series[0])
		got := guardrails.Judge(&tab, b, rules()[name], "ios", guardrails.Primary, quiet(settled(night+11)))
		if got.State != guardrails.Pending || got.Why != guardrails.NoBaseline {
			t.Errorf("%s: want PENDING for want of a baseline, got %+v", name, got)
		}
	}
}

func TestBurnInRoundsTheTTLUp(t *testing.T) {
	tab := table(night, night+20, span("ios", guardrails.Primary, night+20, 21, normal(1000))...)
	for ttl, want := range map[time.Duration]int{0: 3, time.Second: 4, time.Minute: 4, 61 * time.Second: 5, 10 * time.Minute: 13} {
		s := guardrails.Situation{Now: settled(night + 20), Since: night, TTL: ttl, Share: 60}
		r := rules()["total"]
		r.Within = 21 * time.Minute
		if got := guardrails.Judge(&tab, baseline(), r, "ios", guardrails.Primary, s); got.Unknown != want || got.Why != guardrails.BurnIn {
			t.Errorf("TTL %s: want %d minutes of burn-in, got %d (%s)", ttl, want, got.Unknown, got.Why)
		}
	}
}

func TestSilenceOnTheOtherLegIsTheMirrorImage(t *testing.T) {
	tab := table(night, night+11, join(span("ios", guardrails.Primary, night+11, 12, normal(600)), span("ios", guardrails.Backup, night+11, 12, normal(100)))...)
	s := quiet(settled(night + 11))
	if got := guardrails.Judge(&tab, baseline(), rules()["silence"], "ios", guardrails.Backup, s); got.State != guardrails.Fire {
		t.Errorf("a backup that carries a quarter of its odds: got %+v", got)
	}
	s.Share = 100
	if got := guardrails.Judge(&tab, baseline(), rules()["errors"], "ios", guardrails.Backup, s); got.State != guardrails.IdleLeg {
		t.Errorf("a backup that is asked to carry nothing: got %+v", got)
	}
}

func TestWhatAVerdictAllows(t *testing.T) {
	type says struct{ RollsBack, Holds, Passes bool }
	want := map[guardrails.State]says{
		guardrails.Clear: {Passes: true}, guardrails.IdleLeg: {Passes: true}, guardrails.Pending: {},
		guardrails.Suspect: {Holds: true}, guardrails.Blind: {Holds: true}, guardrails.Fire: {RollsBack: true}, guardrails.FireFast: {RollsBack: true},
	}
	for state, w := range want {
		v := guardrails.Verdict{Mode: guardrails.Act, State: state}
		if diff := cmp.Diff(w, says{v.RollsBack(), v.Holds(), v.Passes()}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", state, diff)
		}
		v.Mode = guardrails.Shadow
		if diff := cmp.Diff(says{Passes: true}, says{v.RollsBack(), v.Holds(), v.Passes()}); diff != "" {
			t.Errorf("shadow %s (-want +got):\n%s", state, diff)
		}
	}
}

func TestHalfBand(t *testing.T) {
	b := baseline()
	high := usual("android", guardrails.Primary)
	high.ErrorRate = 0.025
	b.Series = append(b.Series, high)
	errors, total, status := rules()["errors"], rules()["total"], rules()["status"]
	low := errors
	low.Above = 1.5
	tests := []struct {
		name     string
		rule     guardrails.Rule
		platform string
		want     func(*guardrails.Rule)
	}{
		{"errors at 2 %", errors, "ios", func(r *guardrails.Rule) { r.Above = 2 }},
		{"errors a point above the baseline", errors, "android", func(r *guardrails.Rule) { r.Above = 3.5 }},
		{"errors never above the rule", low, "android", func(*guardrails.Rule) {}},
		{"errors without a baseline", errors, "tv", func(r *guardrails.Rule) { r.Above = 2 }},
		{"means", total, "ios", func(r *guardrails.Rule) { r.Rise, r.Drop = 10, 15 }},
		{"shares", status, "ios", func(r *guardrails.Rule) { r.Moves = 2.5 }},
	}
	for _, test := range tests {
		want := test.rule
		test.want(&want)
		if diff := cmp.Diff(want, guardrails.HalfBand(test.rule, b, test.platform, guardrails.Primary)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	slow := normal(1000)
	slow.TotalMS = 225_000 // an eighth above: inside the band, outside its half
	tab := table(night, night+11, span("ios", guardrails.Primary, night+11, 12, slow)...)
	s := quiet(settled(night + 11))
	got := append(states(guardrails.JudgeAll(&tab, baseline(), []guardrails.Rule{total}, guardrails.Primary, s)),
		states(guardrails.JudgeRestored(&tab, baseline(), []guardrails.Rule{total}, s))...)
	if diff := cmp.Diff([]string{"total_time ios CLEAR", "total_time ios FIRE"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
