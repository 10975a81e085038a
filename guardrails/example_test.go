package guardrails_test

import (
	"fmt"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

func ExampleJudge() {
	start := guardrails.MinuteOf(time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC))
	answer := guardrails.Batch{Source: "rum", Settle: time.Minute, From: start, To: start + 11}
	for i := range guardrails.Minute(12) {
		failed := 2.0
		if i >= 2 {
			failed = 60 // of 1,000, from 18:02 on
		}
		answer.Rows = append(answer.Rows, guardrails.Row{Platform: "ios", Leg: guardrails.Primary, Minute: start + i, Counts: guardrails.Counts{
			Requests: 1000, Errors: failed, Has: guardrails.HasRequests | guardrails.HasErrors,
		}})
	}
	rule := guardrails.Rule{
		Name: "error-rate", Source: "rum", Signal: guardrails.ErrorRate, PerPlatform: true, Above: 5,
		For: 10 * time.Minute, Within: 12 * time.Minute, Mode: guardrails.Act,
	}
	for _, minutes := range []guardrails.Minute{6, 7, 10, 11} {
		now := (start + minutes).End().Add(answer.Settle)
		answer.To = start + minutes
		table := guardrails.Table{}.Merge(answer, now)
		v := guardrails.Judge(&table, &guardrails.Baseline{}, rule, "ios", guardrails.Primary, guardrails.Situation{
			Now: now, Since: start, TTL: time.Minute, Share: 10,
		})
		fmt.Printf("%s %s: %d breaching, %.0f %% of at most %s\n", now.Format("15:04"), v.State, v.Breach, v.Value, rule.Above)
	}
	// Output:
	// 18:08 SUSPECT: 5 breaching, 6 % of at most 5 %
	// 18:09 SUSPECT: 6 breaching, 6 % of at most 5 %
	// 18:12 SUSPECT: 9 breaching, 6 % of at most 5 %
	// 18:13 FIRE: 10 breaching, 6 % of at most 5 %
}

func ExampleVerifyShare() {
	changed := time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC) // from 10 to 30 %
	start := guardrails.MinuteOf(changed)
	answer := guardrails.Batch{Source: "rum", Settle: time.Minute, From: start - 60, To: start + 20}
	for m := answer.From; m <= answer.To; m++ {
		share := 10 + 0.8*float64(m%2) // resolvers make it wobble
		if m > start {
			share += 20
		}
		for leg, percent := range map[guardrails.Leg]float64{guardrails.Primary: share, guardrails.Backup: 100 - share} {
			answer.Rows = append(answer.Rows, guardrails.Row{Leg: leg, Minute: m, Counts: guardrails.Counts{Requests: 50 * percent, Has: guardrails.HasRequests}})
		}
	}
	table := guardrails.Table{}.Merge(answer, changed.Add(30*time.Minute))
	base := guardrails.Freeze(table, nil, nil, changed)
	for _, after := range []time.Duration{5 * time.Minute, 8 * time.Minute, 9 * time.Minute} {
		a := guardrails.VerifyShare(&table, &base, guardrails.ShareQuestion{
			Source: "rum", Now: changed.Add(after), Asked: 30, Before: 10, Since: changed, TTL: time.Minute,
		})
		fmt.Printf("after %s known %v, carried %.1f %% within %.1f points, verified %v\n", after, a.Known, float64(a.Carried), float64(a.Tolerance), a.Verified)
	}
	// Output:
	// after 5m0s known false, carried 0.0 % within 0.0 points, verified false
	// after 8m0s known true, carried 30.3 % within 2.0 points, verified false
	// after 9m0s known true, carried 30.5 % within 2.0 points, verified true
}
