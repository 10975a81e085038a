package guardrails_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
)

// hour is the hour before the change with a hand in it: change may alter a minute of one leg, i counts from 0.
func hour(change func(leg guardrails.Leg, i int, c *guardrails.Counts)) guardrails.Table {
	var rows []guardrails.Row
	for i := range 60 {
		for _, leg := range []guardrails.Leg{guardrails.Primary, guardrails.Backup} {
			c := normal(600)
			change(leg, i, &c)
			rows = append(rows, row(leg, night-60+guardrails.Minute(i), c))
		}
	}
	return table(night-60, night-1, rows...)
}

func TestLegsAreAlikeWhenTheRuleIsQuietBetweenThem(t *testing.T) {
	worse := func(on guardrails.Leg, minutes ...int) func(guardrails.Leg, int, *guardrails.Counts) {
		return func(leg guardrails.Leg, i int, c *guardrails.Counts) {
			if leg == on && slices.Contains(minutes, i) {
				c.Errors, c.TotalMS = 0.3*c.Requests, 2*c.TotalMS
			}
		}
	}
	tests := map[string]struct {
		change func(guardrails.Leg, int, *guardrails.Counts)
		want   []string
	}{
		"nothing differs":              {worse(guardrails.Primary), []string{"error_rate", "total_time"}},
		"one odd minute":               {worse(guardrails.Primary, 30), []string{"error_rate", "total_time"}},
		"two odd minutes in twelve":    {worse(guardrails.Primary, 30, 41), nil},
		"two odd minutes in thirteen":  {worse(guardrails.Primary, 30, 42), []string{"error_rate", "total_time"}},
		"times of the backup are odd":  {worse(guardrails.Backup, 30, 31), []string{"error_rate"}}, // slower times of the control look like a drop
		"both are odd in the same two": {func(_ guardrails.Leg, i int, c *guardrails.Counts) { c.TotalMS *= 1 + float64(i%2) }, []string{"error_rate", "total_time"}},
		"the backup is always slower":  {func(l guardrails.Leg, _ int, c *guardrails.Counts) { c.TotalMS *= float64(l) }, []string{"error_rate", "total_time"}},
		"19 minutes of it are known": {func(_ guardrails.Leg, i int, c *guardrails.Counts) {
			if i < 41 {
				c.Has = 0
			}
		}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := guardrails.Freeze(hour(test.change), nil, []guardrails.Rule{rules()["errors"], rules()["total"], rules()["silence"]}, settled(night-1))
			var got []string
			for _, a := range b.Alike {
				got = append(got, a.Rule)
				if a.Platform != "ios" {
					t.Errorf("platform %q", a.Platform)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A rule without a control leg is spoken for by those that have one, when they breach as well. Design, section 16.
func TestOthersSpeakForARuleWithoutAControl(t *testing.T) {
	edge := rules()["status"]
	edge.Name, edge.Source, edge.PerPlatform = "edge-status", "edge", false
	b := baseline()
	b.Alike = []guardrails.Alike{{Rule: "error_rate", Platform: "ios"}}
	alone := usual("", guardrails.Primary)
	alone.Source = "edge"
	b.Series = append(b.Series, alone)
	broken := normal(1000)
	broken.Status5xx = 0.2 * broken.Requests
	for name, test := range map[string]struct {
		own, control guardrails.Counts
		want         guardrails.Decision
	}{
		"they deny":          {failing(1000, 100), failing(1000, 100), guardrails.HoldCommon},
		"they confirm":       {failing(1000, 100), normal(1000), guardrails.RollBack},
		"they cannot tell":   {failing(1000, 60), failing(1000, 42), guardrails.RollBack},
		"they do not breach": {normal(1000), normal(1000), guardrails.RollBack},
	} {
		t.Run(name, func(t *testing.T) {
			var rum []guardrails.Row
			out := batch(night, night+11)
			out.Source = "edge"
			for m := night; m < night+12; m++ {
				rum = append(rum, row(guardrails.Primary, m, test.own), row(guardrails.Backup, m, test.control))
				out.Rows = append(out.Rows, guardrails.Row{Leg: guardrails.Primary, Minute: m, Counts: broken})
			}
			tab := table(night, night+11, rum...).Merge(out, settled(night+11))
			vs := guardrails.JudgeAll(&tab, b, []guardrails.Rule{rules()["errors"], edge}, guardrails.Primary, quiet(settled(night+11)))
			got := vs[len(vs)-1]
			if got.Rule != "edge-status" || got.Decision() != test.want {
				t.Errorf("want %s, got %s: %+v", test.want, got.Decision(), got)
			}
		})
	}
}

func TestAShadowRuleAsksForNothing(t *testing.T) {
	for state := guardrails.Clear; state <= guardrails.FireFast; state++ {
		v := guardrails.Verdict{Mode: guardrails.Shadow, State: state, BlindFor: 100}
		if v.Decision() != guardrails.Advance {
			t.Errorf("%s in shadow asks for: %s", state, v.Decision())
		}
	}
}
