package guardrails_test

import (
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

const settle = time.Minute

// night is the minute that tests count from.
var night = guardrails.MinuteOf(time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC))

const all = guardrails.HasRequests | guardrails.HasErrors | guardrails.HasTotalMS | guardrails.HasTLSMS | guardrails.HasTLS |
	guardrails.HasBytes | guardrails.HasTLS13 | guardrails.HasStatus

// normal is a minute on n requests, as before the change.
func normal(n float64) guardrails.Counts {
	return guardrails.Counts{
		Requests: n, Errors: 0.005 * n, TotalMS: 200 * n, TLSMS: 100 * n, TLS: n, Bytes: 10_000 * n, TLS13: 0.5 * n,
		Status2xx: 0.70 * n, Status4xx: 0.10 * n, Status5xx: 0.08 * n, Has: all,
	}
}

// failing is a normal minute with bad failed requests.
func failing(n, bad float64) guardrails.Counts {
	c := normal(n)
	c.Errors = bad
	return c
}

func usual(platform string, leg guardrails.Leg) guardrails.SeriesBaseline {
	return guardrails.SeriesBaseline{
		Source: "rum", Platform: platform, Leg: leg, Minutes: 30, Requests: 30_000, ErrorRate: 0.005, TotalMS: 200, TLSMS: 100,
		Bytes: 10_000, Share: [3]float64{0.70, 0.10, 0.08}, TLS13: 0.5, Has: all,
	}
}

func baseline() *guardrails.Baseline {
	return &guardrails.Baseline{Series: []guardrails.SeriesBaseline{usual("ios", guardrails.Primary), usual("ios", guardrails.Backup)}}
}

// settled is the instant at which minute m has just settled.
func settled(m guardrails.Minute) time.Time { return m.End().Add(settle) }

func row(leg guardrails.Leg, m guardrails.Minute, c guardrails.Counts) guardrails.Row {
	return guardrails.Row{Platform: "ios", Leg: leg, Minute: m, Counts: c}
}

func batch(from, to guardrails.Minute, rows ...guardrails.Row) guardrails.Batch {
	return guardrails.Batch{Source: "rum", Settle: settle, From: from, To: to, Rows: rows}
}

// table is what one answer for all of the rows' minutes leads to.
func table(from, to guardrails.Minute, rows ...guardrails.Row) guardrails.Table {
	return guardrails.Table{}.Merge(batch(from, to, rows...), settled(to))
}

func rules() map[string]guardrails.Rule {
	base := guardrails.Rule{Source: "rum", PerPlatform: true, For: 10 * time.Minute, Within: 12 * time.Minute, Mode: guardrails.Act}
	named := func(s guardrails.Signal, set func(*guardrails.Rule)) guardrails.Rule {
		r := base
		r.Name, r.Signal = s.String(), s
		set(&r)
		return r
	}
	return map[string]guardrails.Rule{
		"errors":        named(guardrails.ErrorRate, func(r *guardrails.Rule) { r.Above = 5 }),
		"errors-strict": named(guardrails.ErrorRate, func(r *guardrails.Rule) { r.Above, r.Within = 5, 10*time.Minute }),
		"total":         named(guardrails.TotalTime, func(r *guardrails.Rule) { r.Rise, r.Drop = 20, 30 }),
		"tls":           named(guardrails.TLSTime, func(r *guardrails.Rule) { r.Rise, r.Drop = 20, 70 }),
		"size":          named(guardrails.ResponseSize, func(r *guardrails.Rule) { r.Rise, r.Drop = 20, 20 }),
		"status": named(guardrails.StatusShare, func(r *guardrails.Rule) {
			r.Moves, r.Classes = 5, []guardrails.Class{guardrails.Class2xx, guardrails.Class4xx, guardrails.Class5xx}
		}),
		"tls13":   named(guardrails.TLS13Share, func(r *guardrails.Rule) { r.Moves = 5 }),
		"silence": named(guardrails.Requests, func(r *guardrails.Rule) { r.FallsBelow, r.For, r.Within = 60, 8*time.Minute, 10*time.Minute }),
	}
}
