package prometheus_test

import (
	"encoding/json"
	"math"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/prometheus"
)

var legs = map[string]guardrails.Leg{"primary": guardrails.Primary, "backup": guardrails.Backup}

// encode writes rows as the answer to the query for requests.
func encode(rows []guardrails.Row) model.Matrix {
	var m model.Matrix
	at := map[string]*model.SampleStream{}
	for _, r := range rows {
		k := r.Leg.String() + " " + r.Platform
		s := at[k]
		if s == nil {
			s = &model.SampleStream{Metric: model.Metric{"platform": model.LabelValue(r.Platform), "cdn": model.LabelValue(r.Leg.String())}}
			at[k] = s
			m = append(m, s)
		}
		v := r.Counts.Requests
		if r.Unknown == guardrails.NotANumber {
			v = math.NaN()
		}
		s.Values = append(s.Values, model.SamplePair{Timestamp: model.Time(r.Minute.End().UnixMilli()), Value: model.SampleValue(v)})
	}
	return m
}

// Law: an answer that is accepted, written again from its rows and read again, gives the same rows; and each row is a minute that was
// asked for, once, and either unknown or a count.
func FuzzConvert(f *testing.F) {
	f.Add([]byte(`[` + series("ios", "primary", "1", "NaN", "", "-3", "+Inf", "2.5") + `,` + series("android", "backup", "7") + `]`))
	f.Add([]byte(`[` + series("", "primary", "1e300") + `]`))
	f.Add([]byte(`[{"metric":{"platform":"ios","cdn":"primary"},"values":[[1624557630,"1"]]}]`))
	f.Add([]byte(`[{"metric":{"platform":"ios","cdn":"primary"},"histograms":[[1624557660,{"count":"1","sum":"1"}]]}]`))
	f.Add([]byte(`[]`))
	source := plans.Source{Labels: map[string]string{"platform": "platform", "cdn": "cdn"}, Legs: legs}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m model.Matrix
		if json.Unmarshal(raw, &m) != nil {
			return
		}
		for _, s := range m {
			if s == nil || !utf8.ValidString(s.Metric.String()) {
				return // the client never hands these on
			}
		}
		rows, err := prometheus.Convert(source, "requests", m, first, first+179)
		if err != nil {
			return
		}
		seen := map[guardrails.Row]bool{}
		for _, r := range rows {
			k := guardrails.Row{Platform: r.Platform, Leg: r.Leg, Minute: r.Minute}
			good := r.Unknown == 0 && r.Counts.Has == guardrails.HasRequests && r.Counts.Requests >= 0 && !math.IsInf(r.Counts.Requests, 0)
			bad := r.Unknown == guardrails.NotANumber && r.Counts == guardrails.Counts{}
			if seen[k] || r.Minute < first || r.Minute > first+179 || good == bad {
				t.Fatalf("row %+v of %s", r, raw)
			}
			seen[k] = true
		}
		again, err := prometheus.Convert(source, "requests", encode(rows), first, first+179)
		if err != nil {
			t.Fatalf("read again: %v", err)
		}
		if diff := cmp.Diff(rows, again); diff != "" {
			t.Fatalf("rows (-first +again):\n%s", diff)
		}
	})
}
