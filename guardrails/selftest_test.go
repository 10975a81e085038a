package guardrails_test

import (
	"strings"
	"testing"

	"github.com/tlsroll/tlsroll/guardrails"
)

// before is the hour before the start on n requests a minute on each leg.
func before(n float64) guardrails.Table {
	return table(night-60, night-1, append(span("ios", guardrails.Primary, night-1, 60, normal(n)), span("ios", guardrails.Backup, night-1, 60, normal(n))...)...)
}

func doubts(tab guardrails.Table, share guardrails.Percent, rs ...guardrails.Rule) []string {
	b := guardrails.Freeze(tab, nil, rs, settled(night-1))
	s := quiet(settled(night - 1))
	s.Share = share
	var out []string
	for _, d := range guardrails.SelfTest(&tab, &b, rs, s) {
		out = append(out, d.Rule+" "+d.Platform+": "+d.Text)
	}
	return out
}

func TestEveryRuleFiresOnPlantedMinutes(t *testing.T) {
	for name, r := range rules() {
		for _, share := range []guardrails.Percent{50, 5} {
			if got := doubts(before(600), share, r); len(got) > 0 {
				t.Errorf("%s at %v: %q", name, share, got)
			}
		}
		r.PerPlatform = false
		if got := doubts(before(600), 50, r); len(got) > 0 {
			t.Errorf("%s over all platforms: %q", name, got)
		}
	}
}

func TestSelfTestSaysWhatCannotBeReliedOn(t *testing.T) {
	deaf := rules()["errors"]
	deaf.MinRequests = 100_000
	shadow := deaf
	shadow.Mode = guardrails.Shadow
	other := rules()["errors"]
	other.Source = "edge"
	late := table(night-60, night-1, append(span("ios", guardrails.Primary, night-5, 56, normal(600)), span("ios", guardrails.Backup, night-1, 60, normal(600))...)...)
	thin := before(600).Merge(batch(night-60, night-1, span("watch", guardrails.Primary, night-1, 60, normal(3))...), settled(night-1))
	for name, test := range map[string]struct {
		tab  guardrails.Table
		rule guardrails.Rule
		want string // "" when all is well
	}{
		"all is well":             {before(600), rules()["errors"], ""},
		"a source that is silent": {before(600), other, "source edge has no minute to judge"},
		"rows have stopped":       {late, rules()["errors"], "has no minute to judge at present (missing)"},
		"too little traffic":      {before(600), deaf, "too little traffic: error_rate needs 100000"},
		"a shadow rule":           {before(600), shadow, ""},
		"a thin platform":         {thin, rules()["total"], "total_time watch: too little traffic: total_time needs 50"},
		"too short a history": {
			table(night-15, night-1, span("ios", guardrails.Primary, night-1, 15, normal(600))...), rules()["total"], "too little history: at least 20 of the last 30",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(doubts(test.tab, 50, test.rule), "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("want %q in %q", test.want, got)
			}
		})
	}
}

// A rule whose window can never hold enough requests fires on nothing, however bad it is.
func TestSelfTestPlantsTheBreach(t *testing.T) {
	r := rules()["errors-strict"]
	r.MinRequests = 5
	got := strings.Join(doubts(before(19), 50, r), "\n") // 190 requests in ten minutes: FIRE needs 200
	if !strings.Contains(got, "planted minutes beyond its limit (above) are judged") {
		t.Errorf("got %q", got)
	}
}
