package lab_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/qiniu/go-sdk/v7/auth"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

func qiniuRequest(t *testing.T, l *lab.Lab, method, path, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, l.Endpoints().Qiniu+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return req
}

// sign signs with the vendor's own code.
func sign(t *testing.T, kind auth.TokenType, req *http.Request) *http.Request {
	t.Helper()
	if err := auth.New("lab-qiniu-key", "lab-qiniu-secret").AddToken(kind, req); err != nil {
		t.Fatal(err)
	}
	return req
}

func tune(t *testing.T, l *lab.Lab, path, body string) answer {
	t.Helper()
	return do(t, sign(t, auth.TokenQBox, qiniuRequest(t, l, http.MethodPost, "/v2/tune/"+path, body)))
}

func TestQiniuSignatures(t *testing.T) {
	l := start(t, lab.Options{})
	domain := func() *http.Request { return qiniuRequest(t, l, http.MethodGet, "/domain/cdn.example.com", "") }
	counts := func() *http.Request {
		return qiniuRequest(t, l, http.MethodPost, "/v2/tune/loganalyze/reqcount", `{"domains":["cdn.example.com"],"freq":"5min","startDate":"2021-06-25","endDate":"2021-06-25"}`)
	}
	extra := func() *http.Request {
		r := domain()
		r.Header.Set("X-Qiniu-Meta", "b")
		return r
	}
	changed := sign(t, auth.TokenQiniu, extra())
	changed.Header.Set("X-Qiniu-Meta", "c")
	for _, row := range []struct {
		name   string
		req    *http.Request
		status int
		code   float64
	}{
		{"domain, Qiniu", sign(t, auth.TokenQiniu, domain()), 200, 0},
		{"domain, Qiniu, with a signed header", sign(t, auth.TokenQiniu, extra()), 200, 0},
		{"domain, signed header changed", changed, 401, 401001},
		{"domain, QBox", sign(t, auth.TokenQBox, domain()), 401, 401002},
		{"domain, unsigned", domain(), 401, 401002},
		{"analytics, QBox", sign(t, auth.TokenQBox, counts()), 200, 200},
		{"analytics, Qiniu", sign(t, auth.TokenQiniu, counts()), 401, 401002},
		{"another interface", sign(t, auth.TokenQiniu, qiniuRequest(t, l, http.MethodPut, "/domain/cdn.example.com", "{}")), 404, 404000},
		{"foreign domain", sign(t, auth.TokenQiniu, qiniuRequest(t, l, http.MethodGet, "/domain/www.example.com", "")), 404, 404001},
	} {
		a := do(t, row.req)
		code, _ := a.body["code"].(float64)
		if a.status != row.status || code != row.code || row.status != 200 && a.body["error"] == "" {
			t.Errorf("%s: %d %s, want %d and code %v", row.name, a.status, a.raw, row.status, row.code)
		}
	}
}

// TestQiniuVectors sends what the vendor's client signed for ak and sk: were the lab's reading of either scheme another, it would refuse.
func TestQiniuVectors(t *testing.T) {
	l := start(t, lab.Options{QiniuKey: "ak", QiniuSecret: "sk"})
	put := qiniuRequest(t, l, http.MethodPut, "/domain/a.com/httpsconf", `{"certId":"x"}`)
	put.Host = "api.qiniu.com"
	put.Header.Set("Authorization", "Qiniu ak:JoiLcWZ7Em_beJOQOwHz9MG-YmI=")
	if a := do(t, put); a.status != http.StatusNotFound {
		t.Errorf("the Qiniu vector gets %d %s, want past the signature: 404", a.status, a.raw)
	}
	flux := qiniuRequest(t, l, http.MethodPost, "/v2/tune/flux", `{}`)
	flux.Header.Set("Authorization", "QBox ak:zhGo9Zblc6Eb5pQLrNd2xgXhM08=")
	if a := do(t, flux); a.status != http.StatusBadRequest {
		t.Errorf("the QBox vector gets %d %s, want past the signature: 400", a.status, a.raw)
	}
}

func TestQiniuDomain(t *testing.T) {
	l := start(t, lab.Options{})
	a := do(t, sign(t, auth.TokenQiniu, qiniuRequest(t, l, http.MethodGet, "/domain/cdn.example.com", "")))
	got := map[string]any{}
	for _, k := range []string{"name", "cname", "operatingState", "protocol", "code"} {
		got[k] = a.body[k]
	}
	want := map[string]any{
		"name": "cdn.example.com", "cname": "cdn.example.com.backup.example.net", "operatingState": "success", "protocol": "https", "code": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" || at(a.body, "https", "certId") == "" {
		t.Errorf("%s\n(-want +got)\n%s", a.raw, diff)
	}
}

func TestSlotsLagAndTheLastAreIncomplete(t *testing.T) {
	// 02:07 in Shanghai: the slot of 01:55 ended 7 minutes ago, that of 02:00 two minutes, that of 02:05 runs.
	l := start(t, lab.Options{Clock: plans.Clock{Epoch: time.Now(), Start: night.Add(7*time.Minute + 10*time.Second), Speed: 1}})
	query := `{"domains":["cdn.example.com"],"freq":"5min","regions":["global"],"isp":"all","startDate":"2021-06-25","endDate":"2021-06-25"}`
	a := tune(t, l, "loganalyze/reqcount", query)
	points, _ := at(a.body, "data", "points").([]any)
	counts, _ := at(a.body, "data", "reqCount").([]any)
	if len(points) != 26 || len(counts) != 26 || points[0] != "2021-06-25-00-00" || points[25] != "2021-06-25-02-05" || a.body["code"] != float64(200) {
		t.Fatalf("%d points: %s", len(points), a.raw)
	}
	var full float64
	l.With(func(now time.Time, w *world.World) {
		m := guardrails.MinuteOf(night)
		for _, c := range w.Final(now, guardrails.Backup, m-15, m-11) {
			full += c.Total()
		}
	})
	got := []float64{counts[21].(float64) / full, counts[22].(float64) / full, counts[23].(float64) / full, counts[24].(float64) / full, counts[25].(float64)}
	if got[0] != 1 || got[1] < 0.5 || got[1] > 0.7 || got[2] > 0.7 || got[3] != 0 || got[4] != 0 {
		t.Errorf("the last slots, as shares of a full one: %v; want 1, a part, a part, 0, 0", got)
	}

	st := tune(t, l, "loganalyze/statuscode", query)
	sum := 0.0
	codes, _ := at(st.body, "data", "codes").(map[string]any)
	for _, list := range codes {
		if length(list) != 26 {
			t.Errorf("a code has %d points, want 26", length(list))
		}
		n, _ := at(list, 21).(float64)
		sum += n
	}
	if sum != full || codes["200"] == nil || codes["502"] == nil {
		t.Errorf("the codes of a slot sum to %v, want %v", sum, full)
	}
}

func TestUsage(t *testing.T) {
	l := start(t, lab.Options{})
	a := tune(t, l, "bandwidth", `{"startDate":"2021-06-01","endDate":"2021-06-25","granularity":"5min","domains":"cdn.example.com"}`)
	china, oversea := at(a.body, "data", "cdn.example.com", "china"), at(a.body, "data", "cdn.example.com", "oversea")
	if n := 24*288 + 24 + 1; length(a.body["time"]) != n || length(china) != n || length(oversea) != n || at(a.body["time"], 1) != "2021-06-01 00:05:00" {
		t.Fatalf("%d times, %d and %d values: %.300s", length(a.body["time"]), length(china), length(oversea), a.raw)
	}
	// 40 % of 21,000 requests of 57 kB in the peak minute at 14:00 are about 64 Mbit/s.
	if got := at(china, 14*12).(float64) / 1e6; got < 58 || got > 70 {
		t.Errorf("%.1f Mbit/s at the peak", got)
	}
	flux := tune(t, l, "flux", `{"startDate":"2021-06-24","endDate":"2021-06-24","granularity":"hour","domains":"cdn.example.com"}`)
	if got := length(at(flux.body, "data", "cdn.example.com", "china")); got != 24 {
		t.Errorf("%d hours of traffic, want 24", got)
	}
}

func TestQiniuRefusals(t *testing.T) {
	l := start(t, lab.Options{})
	for _, row := range []struct {
		path, body string
		code       float64
	}{
		{"loganalyze/reqcount", `{`, 400331},
		{"loganalyze/reqcount", `{"domains":"cdn.example.com","freq":"5min","startDate":"2021-06-25","endDate":"2021-06-25"}`, 400331},
		{"loganalyze/reqcount", `{"domains":["a.example.com"],"freq":"5min","startDate":"2021-06-25","endDate":"2021-06-25"}`, 400054},
		{"loganalyze/statuscode", `{"domains":["cdn.example.com"],"freq":"1min","startDate":"2021-06-25","endDate":"2021-06-25"}`, 400331},
		{"loganalyze/statuscode", `{"domains":["cdn.example.com"],"freq":"5min","startDate":"2021-06-25","endDate":"2021-06-24"}`, 400331},
		{"loganalyze/statuscode", `{"domains":["cdn.example.com"],"freq":"5min","startDate":"2021-05-01","endDate":"2021-06-24"}`, 400331},
		{"bandwidth", `{`, 400031},
		{"bandwidth", `{"domains":["cdn.example.com"],"granularity":"5min","startDate":"2021-06-25","endDate":"2021-06-25"}`, 400031},
		{"bandwidth", `{"domains":"a.example.com","granularity":"5min","startDate":"2021-06-25","endDate":"2021-06-25"}`, 400032},
		{"bandwidth", `{"domains":"cdn.example.com","granularity":"5min","startDate":"25.06.2021","endDate":"2021-06-25"}`, 400080},
		{"bandwidth", `{"domains":"cdn.example.com","granularity":"1min","startDate":"2021-06-25","endDate":"2021-06-25"}`, 400031},
	} {
		if a := tune(t, l, row.path, row.body); a.status != 400 || a.body["code"] != row.code {
			t.Errorf("%s %s: %d %s, want %v", row.path, row.body, a.status, a.raw, row.code)
		}
	}
}
