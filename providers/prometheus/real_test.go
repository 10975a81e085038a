package prometheus_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/prometheus"
)

const requestsQuery = "sum by (platform, cdn) (increase(rum_requests_total[1m]))"

// realSource is a plan's source that asks a real server one query.
func realSource(server, query string) plans.Source {
	return plans.Source{
		Name: "rum", Type: "prometheus", URL: server, Labels: map[string]string{"platform": "platform", "cdn": "cdn"}, Legs: legs,
		Queries: map[string]string{"requests": query},
	}
}

func counted(platform string, leg guardrails.Leg, i guardrails.Minute, n float64) guardrails.Row {
	return guardrails.Row{Platform: platform, Leg: leg, Minute: first + i, Counts: guardrails.Counts{Requests: n, Has: guardrails.HasRequests}}
}

func send(t *testing.T, req *http.Request) (status int, body string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(raw)
}

// What a real server makes of scrapes is what the adapter says of minutes: a counter's growth is in the minute in which it grew, a
// minute without scrapes has no row.
func TestARealPrometheus(t *testing.T) {
	var text strings.Builder
	text.WriteString(header)
	scrapes(&text, `platform="ios",cdn="primary",host="a"`, 6, steady(600))
	scrapes(&text, `platform="ios",cdn="primary",host="b"`, 6, steady(60))
	scrapes(&text, `platform="ios",cdn="backup",host="a"`, 6, func(s int) string {
		if s > 120 && s < 240 { // minutes 2 and 3 are gone
			return ""
		}
		return steady(120)(s)
	})
	s := realSource(realServer{samples: text.String()}.start(t), requestsQuery)
	got, err := open(t, s, prometheus.Options{}).Fetch(t.Context(), first-3, first+5)
	if err != nil {
		t.Fatal(err)
	}
	var want []guardrails.Row
	for i := range guardrails.Minute(6) {
		want = append(want, counted("ios", guardrails.Primary, i, 660))
	}
	for _, i := range []guardrails.Minute{0, 1, 4, 5} {
		want = append(want, counted("ios", guardrails.Backup, i, 120))
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 0.01)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	s.Queries["requests"] = "sum by (platform, cdn) (increase(rum_requests_total[1m])"
	_, err = open(t, s, prometheus.Options{}).Fetch(t.Context(), first, first)
	wantKind(t, err, providers.Invalid, "parse error")
	s.Queries["requests"] = "rum_requests_total" // one series a host
	_, err = open(t, s, prometheus.Options{}).Fetch(t.Context(), first, first)
	wantKind(t, err, providers.Invalid, "two series")
}

// What may be wrong with the samples of a real server: a sum that became NaN stays NaN, a counter that begins again has not gone down,
// a series has no minutes before its first, and a metric that is not there is no zero.
func TestSamplesOfARealPrometheusThatAreNotWhatTheySeem(t *testing.T) {
	var text strings.Builder
	text.WriteString(header)
	scrapes(&text, `platform="ios",cdn="primary",host="a"`, 6, func(s int) string {
		if s >= 75 {
			return "NaN"
		}
		return steady(600)(s)
	})
	scrapes(&text, `platform="ios",cdn="primary",host="b"`, 6, steady(60))
	scrapes(&text, `platform="android",cdn="primary"`, 6, func(s int) string {
		if s >= 150 { // in the middle of minute 2
			return steady(600)(s - 150)
		}
		return steady(600)(s)
	})
	scrapes(&text, `platform="android",cdn="backup"`, 6, func(s int) string {
		if s < 195 { // in the middle of minute 3
			return ""
		}
		return steady(600)(s - 195)
	})
	s := realSource(realServer{samples: text.String()}.start(t), requestsQuery)
	s.Queries["errors"] = "sum by (platform, cdn) (increase(rum_failures_total[1m]))"
	got, err := open(t, s, prometheus.Options{}).Fetch(t.Context(), first, first+5)
	if err != nil {
		t.Fatal(err)
	}
	reset, lost := got[2].Counts.Requests, 150.0
	if reset < 600-1.5*lost || reset > 600 {
		t.Errorf("the minute of the reset has %v requests, want at most a scrape's less than 600", reset)
	}
	var want []guardrails.Row
	for i := range guardrails.Minute(6) {
		want = append(want, counted("android", guardrails.Primary, i, 600))
	}
	want[2] = got[2]
	want = append(want, counted("android", guardrails.Backup, 3, 450), counted("android", guardrails.Backup, 4, 600), counted("android", guardrails.Backup, 5, 600))
	want = append(want, counted("ios", guardrails.Primary, 0, 660))
	for i := guardrails.Minute(1); i < 6; i++ {
		want = append(want, guardrails.Row{Platform: "ios", Leg: guardrails.Primary, Minute: first + i, Unknown: guardrails.NotANumber})
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 0.01)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	delete(s.Queries, "requests")
	if got, err := open(t, s, prometheus.Options{}).Fetch(t.Context(), first, first+5); err != nil || len(got) != 0 {
		t.Errorf("a metric that is not there: rows %+v, error %v, want none", got, err)
	}
}

// Where the server knows that a series has ended, its minutes end too. Where it does not, a bare selector repeats the last value for
// five minutes; a range shorter than a minute does not.
func TestStaleMarkersOfARealPrometheus(t *testing.T) {
	server := realServer{flags: []string{"--web.enable-remote-write-receiver"}}.start(t)
	counter := stored{name: "rum_requests_total", platform: "ios", cdn: "primary"}
	for s := 0; s <= 180; s += 15 {
		counter.samples = append(counter.samples, storedSample{s, float64(10 * s)})
	}
	counter.samples = append(counter.samples, storedSample{195, staleMarker()})
	minutes := []storedSample{{60, 1}, {120, 2}, {180, 3}, {420, 7}}
	marked := stored{name: "rum_requests_minute", platform: "ios", cdn: "primary", samples: []storedSample{
		minutes[0], minutes[1], minutes[2], {240, staleMarker()}, minutes[3],
	}}
	write(t, server, counter, marked, stored{name: "rum_requests_minute", platform: "ios", cdn: "backup", samples: minutes})

	known := []guardrails.Minute{0, 1, 2, 6}
	rows := func(leg guardrails.Leg) (list []guardrails.Row) {
		for _, i := range known {
			list = append(list, counted("ios", leg, i, float64(i+1)))
		}
		return list
	}
	repeated := rows(guardrails.Backup)[:3]
	for i := guardrails.Minute(3); i < 6; i++ {
		repeated = append(repeated, counted("ios", guardrails.Backup, i, 3))
	}
	repeated = append(repeated, counted("ios", guardrails.Backup, 6, 7))
	var grown []guardrails.Row
	for i := range guardrails.Minute(3) {
		grown = append(grown, counted("ios", guardrails.Primary, i, 600))
	}
	for query, want := range map[string][]guardrails.Row{
		"last_over_time(rum_requests_minute[59s])": append(rows(guardrails.Primary), rows(guardrails.Backup)...),
		"rum_requests_minute":                      append(rows(guardrails.Primary), repeated...),
		requestsQuery:                              grown,
	} {
		got, err := open(t, realSource(server, query), prometheus.Options{}).Fetch(t.Context(), first, first+6)
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 0.01)); err != nil || diff != "" {
			t.Errorf("%s: error %v, rows (-want +got):\n%s", query, err, diff)
		}
	}
}

// A real server warns when one of its stores does not answer. What the others hold is not the whole.
func TestWarningsOfARealPrometheus(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	t.Cleanup(other.Close)
	var text strings.Builder
	text.WriteString(header)
	scrapes(&text, `platform="ios",cdn="primary"`, 3, steady(600))
	s := realSource(realServer{samples: text.String(), config: "remote_read: [{url: " + other.URL + ", read_recent: true}]\n"}.start(t), requestsQuery)
	got, err := open(t, s, prometheus.Options{}).Fetch(t.Context(), first, first+2)
	wantKind(t, err, providers.Transient, "the answer is partial")
	if got != nil {
		t.Errorf("rows %+v beside an error", got)
	}
}

// Eight days are more than a real server answers at once, and one fetch all the same.
func TestAWeekOfARealPrometheus(t *testing.T) {
	const minutes = 8 * 24 * 60
	var text strings.Builder
	text.WriteString(header)
	for s := 0; s <= minutes*60; s += 30 {
		fmt.Fprintf(&text, "rum_requests_total{platform=\"ios\",cdn=\"primary\"} %d %d\n", s/3, first.Start().Unix()+int64(s))
	}
	server := realServer{samples: text.String()}.start(t)
	got, err := open(t, realSource(server, requestsQuery), prometheus.Options{}).Fetch(t.Context(), first, first+minutes-1)
	if err != nil || len(got) != minutes {
		t.Fatalf("%d rows, error %v, want %d rows", len(got), err, minutes)
	}
	for i, r := range got {
		if diff := cmp.Diff(counted("ios", guardrails.Primary, guardrails.Minute(i), 20), r, cmpopts.EquateApprox(0, 0.01)); diff != "" {
			t.Fatalf("row %d (-want +got):\n%s", i, diff)
		}
	}
	once := url.Values{"query": {requestsQuery}, "start": {unix(first + 1)}, "end": {unix(first + minutes)}, "step": {"60"}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/api/v1/query_range?"+once.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := send(t, req); status != http.StatusBadRequest || !strings.Contains(body, "11,000 points") {
		t.Errorf("in one query: HTTP %d %.200s, want the server's limit", status, body)
	}
}
