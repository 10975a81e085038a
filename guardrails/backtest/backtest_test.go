package backtest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/guardrails/backtest"
)

const settle = time.Minute

var start = time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC)

// minute is minute n after the start.
func minute(n int) guardrails.Minute { return guardrails.MinuteOf(start) + guardrails.Minute(n) }

func rules() []guardrails.Rule {
	r := guardrails.Rule{
		Name: "errors", Source: "rum", Signal: guardrails.ErrorRate, PerPlatform: true, Above: 5, For: 10 * time.Minute, Within: 12 * time.Minute,
		Mode: guardrails.Act,
	}
	total := r
	total.Name, total.Signal, total.Above, total.Rise = "total", guardrails.TotalTime, 0, 20
	return []guardrails.Rule{r, total}
}

// row is a minute on n requests with the given share of errors.
func row(platform string, leg guardrails.Leg, m guardrails.Minute, n, errors float64) guardrails.Row {
	return guardrails.Row{Platform: platform, Leg: leg, Minute: m, Counts: guardrails.Counts{
		Requests: n, Errors: n * errors, TotalMS: 200 * n, Has: guardrails.HasRequests | guardrails.HasErrors | guardrails.HasTotalMS,
	}}
}

// source records minutes from..to of one platform at 60 % of 1,000 requests. errors is the primary's.
func source(from, to int, errors func(n int) float64) backtest.Source {
	s := backtest.Source{Name: "rum", Settle: settle}
	for n := from; n <= to; n++ {
		s.Rows = append(s.Rows, row("ios", guardrails.Primary, minute(n), 600, errors(n)), row("ios", guardrails.Backup, minute(n), 400, 0.01))
	}
	return s
}

func healthy(int) float64 { return 0.01 }

func failing(n int) float64 {
	if n >= 10 {
		return 0.1
	}
	return 0.01
}

func run(s backtest.Source, changes ...backtest.Change) backtest.Judged {
	r := backtest.Run(backtest.Input{
		Rules: rules(), TTL: time.Minute, Sources: []backtest.Source{s}, Changes: changes,
		Nights: []backtest.Night{{Start: start, End: start.Add(time.Hour)}},
	})
	return r.Nights[0]
}

// A rate of 10 % from minute 10 on: five breaches settle at minute 16, ten at minute 21, each seen a second later.
func TestTheFirstMomentsOfAFailingNight(t *testing.T) {
	night := run(source(-80, 60, failing))
	if night.Thin != "" || night.Share != 60 || night.ShareFrom != "rum" || night.Changed || len(night.Decisions) != 60 {
		t.Fatalf("judged wrongly: %q, share %v from %q, changed %v, %d decisions", night.Thin, night.Share, night.ShareFrom, night.Changed, len(night.Decisions))
	}
	var errors *backtest.Finding
	for _, f := range night.Findings() {
		if f.Rule == "errors" {
			errors = &f
		} else if f.Suspect != nil || f.Blind != nil || f.Fire != nil || f.Held {
			t.Errorf("%s: a rule that was not breached says %+v", f.Rule, f)
		}
	}
	if errors == nil || errors.Suspect == nil || errors.Fire == nil || errors.RollBack == nil || errors.Blind != nil || !errors.Held {
		t.Fatalf("want a suspicion, a fire and a rollback, got %+v", errors)
	}
	at := func(m *backtest.Moment) string { return night.Decisions[m.Index].At.Format("15:04:05") }
	if at(errors.Suspect) != "18:16:01" || at(errors.Fire) != "18:21:01" || at(errors.RollBack) != "18:21:01" {
		t.Errorf("SUSPECT at %s, FIRE at %s", at(errors.Suspect), at(errors.Fire))
	}
	v := errors.Fire.Decision
	if v.From != minute(8) || v.Through != minute(19) || v.Breach != 10 || v.OK != 2 || v.Value != 10 || v.Limit != 5 {
		t.Errorf("the deciding minutes are wrong: %+v", v)
	}
}

// Rows of later minutes, also of a platform that is not there yet, do not change an earlier decision.
func TestADecisionDoesNotSeeTheFuture(t *testing.T) {
	whole := source(-80, 60, failing)
	for n := 20; n <= 60; n++ {
		whole.Rows = append(whole.Rows, row("android", guardrails.Primary, minute(n), 600, 0.5), row("android", guardrails.Backup, minute(n), 400, 0.01))
	}
	night := run(whole)
	for i, d := range night.Decisions {
		known := backtest.Source{Name: "rum", Settle: settle}
		for _, r := range whole.Rows {
			if !r.Minute.End().Add(settle).After(d.At) {
				known.Rows = append(known.Rows, r)
			}
		}
		if diff := cmp.Diff(run(known).Decisions[i], d); diff != "" {
			t.Fatalf("decision %d at %s (-known then +with the future):\n%s", i, d.At, diff)
		}
	}
	if n := len(night.Decisions[59].Verdicts); n != 4 {
		t.Errorf("the late platform is not judged in the end: %d verdicts", n)
	}
}

// The order of rows, rows told twice and rows from long ago do not matter.
func TestTheOrderOfRowsDoesNotMatter(t *testing.T) {
	want := run(source(-80, 60, failing))
	s := source(-2000, 60, failing)
	for i, k := 0, len(s.Rows)-1; i < k; i, k = i+1, k-1 {
		s.Rows[i], s.Rows[k] = s.Rows[k], s.Rows[i]
	}
	s.Rows = append(s.Rows, s.Rows...)
	if diff := cmp.Diff(want, run(s)); diff != "" {
		t.Errorf("nights mismatch (-want +got):\n%s", diff)
	}
}

func TestChangesMoveShareWindowAndLeg(t *testing.T) {
	night := run(source(-80, 60, healthy),
		backtest.Change{At: start.Add(-time.Hour), Share: 60},
		backtest.Change{At: start.Add(10*time.Minute + 20*time.Second), Share: 0, Verified: start.Add(20 * time.Minute)},
		backtest.Change{At: start.Add(30 * time.Minute), Share: 10},
	)
	if !night.Changed || night.Share != 60 || night.ShareFrom != "" {
		t.Errorf("changed %v, share %v from %q", night.Changed, night.Share, night.ShareFrom)
	}
	for _, d := range night.Decisions {
		share, leg := guardrails.Percent(60), guardrails.Primary
		switch at := d.At.Sub(start); {
		case at >= 30*time.Minute:
			share = 10
		case at >= 10*time.Minute+20*time.Second:
			share, leg = 0, guardrails.Backup
		}
		if d.Share != share || len(d.Verdicts) == 0 || d.Verdicts[0].Leg != leg {
			t.Fatalf("%s: share %v, verdicts %+v; want %v on the %s", d.At, d.Share, d.Verdicts, share, leg)
		}
		if since := d.At.Sub(start) - 31*time.Minute; since >= 0 && d.Verdicts[0].From < minute(31) {
			t.Fatalf("%s: the window reaches back before the change: %+v", d.At, d.Verdicts[0])
		}
	}
}

// Silence of the canary counts only once its share was verified, or when the other leg does not carry the difference.
func TestAVerifiedShareCannotBeUnmoved(t *testing.T) {
	silent := func(verified time.Time) *backtest.Moment {
		s := backtest.Source{Name: "rum", Settle: settle}
		for n := -80; n <= 60; n++ {
			primary := 600.0
			if n >= 10 {
				primary = 100
			}
			s.Rows = append(s.Rows, row("ios", guardrails.Primary, minute(n), primary, 0), row("ios", guardrails.Backup, minute(n), 1000-primary, 0))
		}
		silence := guardrails.Rule{
			Name: "silence", Source: "rum", Signal: guardrails.Requests, PerPlatform: true, FallsBelow: 60, For: 8 * time.Minute, Within: 10 * time.Minute,
			Mode: guardrails.Act,
		}
		r := backtest.Run(backtest.Input{
			Rules: []guardrails.Rule{silence}, TTL: time.Minute, Sources: []backtest.Source{s}, Nights: []backtest.Night{{Start: start, End: start.Add(time.Hour)}},
			Changes: []backtest.Change{{At: start.Add(time.Minute), Share: 60, Verified: verified}},
		})
		return r.Nights[0].Findings()[0].RollBack
	}
	if m := silent(start.Add(10 * time.Minute)); m == nil {
		t.Error("the share was verified, and nothing rolled back")
	}
	if m := silent(time.Time{}); m != nil {
		t.Errorf("the share was never verified: what moved to the backup is unmoved, not silent: %+v", m)
	}
}

func TestThinNightsAreSaid(t *testing.T) {
	few := source(-80, 60, healthy)
	for i := range few.Rows {
		few.Rows[i].Counts.Requests, few.Rows[i].Counts.Errors = 20, 0
	}
	drained := source(-80, 60, healthy)
	for i := range drained.Rows {
		if drained.Rows[i].Leg == guardrails.Primary {
			drained.Rows[i].Counts = guardrails.Counts{Has: drained.Rows[i].Counts.Has}
		}
	}
	tests := []struct {
		name   string
		source backtest.Source
		thin   string
	}{
		{"nothing recorded", backtest.Source{Name: "rum", Settle: settle}, "too little history for guardrail errors"},
		{"rows begin at the start", source(0, 60, healthy), "too little history"},
		{"a gap in the half hour before", source(-10, 60, healthy), "fewer than 20 of the 30 minutes"},
		{"too few requests", few, "too little history for guardrail errors"},
		{"nobody on the primary", drained, "carries nothing at the start"},
		{"another source", backtest.Source{Name: "edge", Settle: settle, Rows: source(-80, 60, healthy).Rows}, "source rum has too little history"},
		{"enough", source(-40, 60, healthy), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			night := run(test.source)
			if (test.thin == "") != (night.Thin == "") || !strings.Contains(night.Thin, test.thin) {
				t.Errorf("want %q, got %q", test.thin, night.Thin)
			}
			if (night.Thin == "") != (len(night.Decisions) > 0) {
				t.Errorf("thin %q with %d decisions", night.Thin, len(night.Decisions))
			}
		})
	}
}

func TestTalliesCountNightsOnce(t *testing.T) {
	bad, good := source(-80, 60, failing), source(24*60-80, 24*60+60, healthy)
	for _, r := range source(-80, 60, failing).Rows {
		r.Platform = "android"
		bad.Rows = append(bad.Rows, r)
	}
	day := func(n int) backtest.Night {
		at := start.AddDate(0, 0, n)
		return backtest.Night{Start: at, End: at.Add(time.Hour)}
	}
	blind := source(2*24*60-80, 2*24*60+5, healthy)
	in := backtest.Input{
		Rules: rules(), TTL: time.Minute, Nights: []backtest.Night{day(0), day(1), day(2), day(3)},
		Sources: []backtest.Source{{Name: "rum", Settle: settle, Rows: append(append(bad.Rows, good.Rows...), blind.Rows...)}},
	}
	got := backtest.Run(in).Tallies(in.Rules)
	want := []backtest.Tally{
		{Nights: 3, RolledBack: 1, Held: 1},
		{Rule: "errors", Nights: 3, RolledBack: 1, Held: 1},
		{Rule: "total", Nights: 3, Held: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tallies mismatch (-want +got):\n%s", diff)
	}
	if rate, ok := got[0].FalseAlarms(); !ok || rate < 33.3 || rate > 33.4 {
		t.Errorf("one of three nights: %v %v", rate, ok)
	}
	in.Changes = []backtest.Change{{At: start.Add(time.Minute), Share: 60}}
	in.Nights = in.Nights[:1]
	want[0] = backtest.Tally{Changed: 1, RolledThen: 1}
	got = backtest.Run(in).Tallies(nil)
	if diff := cmp.Diff(want[:1], got); diff != "" {
		t.Errorf("a night of a change (-want +got):\n%s", diff)
	}
	if _, ok := got[0].FalseAlarms(); ok {
		t.Error("there is a rate of false alarms without an ordinary night")
	}
}

// What a verdict alone does not decide, the plan does: a common cause that lasts, and a source that tells nothing about either leg.
func TestThePlanDecidesWhatLasts(t *testing.T) {
	both := source(-80, 60, failing)
	for i := range both.Rows {
		if r := &both.Rows[i]; r.Leg == guardrails.Backup && r.Minute >= minute(10) {
			r.Counts.Errors = 0.1 * r.Counts.Requests
		}
	}
	silent := source(-80, 20, healthy)
	for _, test := range []struct {
		name string
		src  backtest.Source
		acts backtest.Acts
		want int // minutes after the start at which the way back begins; 0: never
	}{
		{"a common cause, the limit is 20 minutes", both, backtest.Acts{Common: 20 * time.Minute}, 41},
		{"a common cause, the limit is beyond the night", both, backtest.Acts{Common: time.Hour}, 0},
		{"nothing is told, and the plan rolls back", silent, backtest.Acts{BlindBoth: true, Common: time.Hour}, 37},
		{"nothing is told, and the plan holds", silent, backtest.Acts{Common: time.Hour}, 0},
	} {
		r := backtest.Run(backtest.Input{
			Rules: rules()[:1], TTL: time.Minute, Sources: []backtest.Source{test.src}, Acts: test.acts,
			Nights: []backtest.Night{{Start: start, End: start.Add(time.Hour)}},
		})
		f := r.Nights[0].Findings()[0]
		got := 0
		if f.RollBack != nil {
			got = int(r.Nights[0].Decisions[f.RollBack.Index].At.Sub(start) / time.Minute)
		}
		if got != test.want || !f.Held {
			t.Errorf("%s: want %d, got %d, held %v", test.name, test.want, got, f.Held)
		}
	}
}
