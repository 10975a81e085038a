package lab_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

const requestsQuery = "sum by (platform, cdn) (increase(rum_requests_total[1m]))"

func prom(t *testing.T, l *lab.Lab, method, path string, v url.Values) answer {
	t.Helper()
	target, body := l.Endpoints().Prometheus+path+"?"+v.Encode(), ""
	if method == http.MethodPost {
		target, body = l.Endpoints().Prometheus+path, v.Encode()
	}
	req, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return do(t, req)
}

func unix(at time.Time) string { return at.Format(time.RFC3339) }

func TestSampleDescribesTheMinuteBeforeIt(t *testing.T) {
	l := start(t, lab.Options{})
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		a := prom(t, l, method, "/api/v1/query_range", url.Values{
			"query": {requestsQuery}, "start": {unix(night.Add(-10 * time.Minute))}, "end": {unix(night.Add(-8 * time.Minute))}, "step": {"60"},
		})
		want := map[string][]any{}
		l.With(func(now time.Time, w *world.World) {
			m := guardrails.MinuteOf(night)
			for _, r := range w.Minutes(now, world.RUM, m-11, m-9) {
				k := r.Platform + " " + r.Leg.String()
				want[k] = append(want[k], []any{float64(r.Minute.End().Unix()), trim(r.Counts.Requests)})
			}
		})
		got := map[string][]any{}
		for i := range length(at(a.body, "data", "result")) {
			s := at(a.body, "data", "result", i)
			values, _ := at(s, "values").([]any)
			got[at(s, "metric", "platform").(string)+" "+at(s, "metric", "cdn").(string)] = values
		}
		if diff := cmp.Diff(want, got); diff != "" || at(a.body, "data", "resultType") != "matrix" || a.body["status"] != "success" {
			t.Errorf("%s: %s\n(-want +got)\n%s", method, a.raw, diff)
		}
	}
}

func trim(f float64) string {
	return plans.Percent(f).String()[:len(plans.Percent(f).String())-len(" %")]
}

func TestEveryQueryOfAPlanIsKnown(t *testing.T) {
	l := start(t, lab.Options{})
	for _, name := range []string{
		"rum_requests_total", "rum_failures_total", "rum_total_ms_sum", "rum_tls_ms_sum", "rum_tls_ms_count", "rum_bytes_sum", "rum_tls13_total",
	} {
		a := prom(t, l, http.MethodGet, "/api/v1/query", url.Values{
			"query": {"sum by (platform, cdn) (increase(" + name + "[1m]))"}, "time": {unix(night.Add(-5 * time.Minute))},
		})
		if length(at(a.body, "data", "result")) != 4 || at(a.body, "data", "resultType") != "vector" {
			t.Errorf("%s: %s", name, a.raw)
		}
	}
}

func TestUnfinishedMinutesHaveNoSample(t *testing.T) {
	l := start(t, lab.Options{Clock: plans.Clock{Epoch: time.Now(), Start: night.Add(10 * time.Second), Speed: 1}})
	a := prom(t, l, http.MethodGet, "/api/v1/query_range", url.Values{
		"query": {requestsQuery}, "start": {unix(night.Add(-time.Minute))}, "end": {unix(night.Add(5 * time.Minute))}, "step": {"1m"},
	})
	values, _ := at(a.body, "data", "result", 0, "values").([]any)
	if len(values) != 1 || at(values[0], 0) != float64(night.Add(-time.Minute).Unix()) {
		t.Errorf("at 02:00:10 the samples from 01:59 on are %v, want that of 01:59 alone", values)
	}
}

func TestPrometheusErrors(t *testing.T) {
	l := start(t, lab.Options{})
	ask := func(change func(url.Values)) url.Values {
		v := url.Values{"query": {requestsQuery}, "start": {"1624557000"}, "end": {"1624557600"}, "step": {"60"}}
		change(v)
		return v
	}
	for name, v := range map[string]url.Values{
		"unknown series": ask(func(v url.Values) { v.Set("query", "sum by (platform, cdn) (increase(rum_unknown[1m]))") }),
		"another form":   ask(func(v url.Values) { v.Set("query", "rate(rum_requests_total[5m])") }),
		"no start":       ask(func(v url.Values) { v.Del("start") }),
		"end first":      ask(func(v url.Values) { v.Set("end", "1624550000") }),
		"step 0":         ask(func(v url.Values) { v.Set("step", "0") }),
		"no step":        ask(func(v url.Values) { v.Del("step") }),
		"too many":       ask(func(v url.Values) { v.Set("step", "0.01") }),
	} {
		a := prom(t, l, http.MethodGet, "/api/v1/query_range", v)
		if a.status != 400 || a.body["status"] != "error" || a.body["errorType"] != "bad_data" || a.body["error"] == "" {
			t.Errorf("%s: %d %s", name, a.status, a.raw)
		}
	}
	if a := prom(t, l, http.MethodGet, "/-/healthy", nil); a.status != 200 {
		t.Errorf("healthy: %d", a.status)
	}
	if a := prom(t, l, http.MethodGet, "/api/v1/rules", nil); a.status != 404 {
		t.Errorf("another path: %d", a.status)
	}
}

// The past week is there, within the server's limit for one answer.
func TestAWeekOfSamples(t *testing.T) {
	l := start(t, lab.Options{World: world.Config{Seed: 3}})
	ask := func(from, to time.Time, step string) answer {
		return prom(t, l, http.MethodGet, "/api/v1/query_range", url.Values{"query": {requestsQuery}, "start": {unix(from)}, "end": {unix(to)}, "step": {step}})
	}
	end := night.Add(-time.Minute)
	for name, row := range map[string]struct {
		from    time.Time
		samples int
	}{
		"a week":                         {night.AddDate(0, 0, -7), 7 * 24 * 60},
		"as many steps as there may be":  {end.Add(-11_000 * time.Minute), 11_001},
		"an hour, eight days ago":        {night.AddDate(0, 0, -8), 60},
		"what is older than it is kept ": {night.AddDate(0, 0, -16), 0},
	} {
		to := end
		if row.samples <= 60 {
			to = row.from.Add(59 * time.Minute)
		}
		a := ask(row.from, to, "60")
		if n := length(at(a.body, "data", "result")); a.status != 200 || (n == 4) != (row.samples > 0) {
			t.Fatalf("%s: HTTP %d, %d series", name, a.status, n)
		}
		for i := range length(at(a.body, "data", "result")) {
			if n := length(at(a.body, "data", "result", i, "values")); n != row.samples {
				t.Errorf("%s: series %d has %d samples, want %d", name, i, n, row.samples)
			}
		}
	}
	if a := ask(end.Add(-11_001*time.Minute), end, "60"); a.status != 400 || !strings.Contains(a.raw, "11,000 points") {
		t.Errorf("one step more: HTTP %d %.200s", a.status, a.raw)
	}
	var want, got []any
	l.With(func(now time.Time, w *world.World) {
		m := guardrails.MinuteOf(night.AddDate(0, 0, -7))
		for _, r := range w.Minutes(now, world.RUM, m, m) {
			want = append(want, trim(r.Counts.Requests))
		}
	})
	a := ask(night.AddDate(0, 0, -7).Add(time.Minute), night.AddDate(0, 0, -7).Add(time.Minute), "60")
	for i := range length(at(a.body, "data", "result")) {
		got = append(got, at(a.body, "data", "result", i, "values", 0, 1))
	}
	anyOrder := cmpopts.SortSlices(func(a, b any) bool { return fmt.Sprint(a) < fmt.Sprint(b) })
	if diff := cmp.Diff(want, got, anyOrder); diff != "" {
		t.Errorf("a minute of last week (-want +got)\n%s", diff)
	}
}
