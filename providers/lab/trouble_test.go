package lab_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/providers/lab"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

const weightAPI = "alidns:UpdateDNSSLBWeight"

// applied reports whether the primary's weight is 10 now, as the world knows it.
func applied(l *lab.Lab) (yes bool) {
	l.With(func(now time.Time, w *world.World) {
		weights, _ := w.State(now).Weights("default")
		yes = weights.Primary == 10
	})
	return yes
}

func TestTroublesMeetTheNextCallAndSayWhetherItWasApplied(t *testing.T) {
	for _, row := range []struct {
		kind    lab.Nuisance
		status  int
		code    string
		raw     string // part of the body
		applied bool
	}{
		{lab.Unavailable, 503, "ServiceUnavailable", "ServiceUnavailable", false},
		{lab.AppliedUnavailable, 503, "ServiceUnavailable", "ServiceUnavailable", true},
		{lab.EmptyBody, 200, "", "", true},
		{lab.HTMLPage, 200, "", "<html>", false},
		{lab.HTMLGateway, 502, "", "<html>", false},
		{lab.NumericCode, 400, "400", `"Code":400`, false},
		{lab.Throttled, 400, "Throttling.User", "flow control", false},
		{lab.Slow, 200, "", `"Weight":10`, true},
		{lab.WrongType, 200, "", `"Weight":[10]`, true},
		{lab.NoRequestID, 200, "", `{"RecordId":"9009123456789","Weight":10}`, true},
		{lab.Denied, 403, "Forbidden.RAM", "Forbidden.RAM", false},
		{lab.CutAfterApplied, 0, "", "EOF", true},
	} {
		l := start(t, lab.Options{Script: []lab.Trouble{{API: weightAPI, Kind: row.kind, For: time.Millisecond}}})
		weight := params{"Action": "UpdateDNSSLBWeight", "RecordId": "9009123456789", "Weight": "10"}
		// Calls of other APIs pass by.
		if a := call(t, l, params{"Action": "DescribeDomainInfo", "DomainName": "example.com"}); a.status != 200 {
			t.Errorf("%v: another API got %d", row.kind, a.status)
		}
		a := call(t, l, weight)
		if a.status != row.status || !strings.Contains(a.raw, row.raw) || row.kind == lab.EmptyBody && a.raw != "" {
			t.Errorf("%v: %d %q", row.kind, a.status, a.raw)
		}
		if got := applied(l); got != row.applied {
			t.Errorf("%v: applied %v, want %v", row.kind, got, row.applied)
		}
		calls := l.Calls()
		if c := calls[len(calls)-1]; c.API != weightAPI || c.Status != row.status || c.Code != row.code {
			t.Errorf("%v: kept as %+v", row.kind, c)
		}
		if a := call(t, l, weight); a.status != 200 || a.body["RequestId"] == nil {
			t.Errorf("%v: the call after it got %d %s", row.kind, a.status, a.raw)
		}
		l.Close()
	}
}

func TestTroubleLastsAsManyCallsAsAsked(t *testing.T) {
	l := start(t, lab.Options{})
	l.Trouble(lab.Trouble{API: "alidns:", Kind: lab.Unavailable, Calls: 2}, lab.Trouble{Kind: lab.Throttled})
	var got []string
	for _, p := range []params{
		{"Action": "DescribeCdnDomainDetail", "DomainName": "cdn.example.com"}, // the second entry fits every API
		{"Action": "DescribeDomainInfo", "DomainName": "example.com"},
		{"Action": "DescribeDomainInfo", "DomainName": "example.com"},
		{"Action": "DescribeDomainInfo", "DomainName": "example.com"},
	} {
		got = append(got, call(t, l, p).code())
	}
	if diff := cmp.Diff([]string{"Throttling.User", "ServiceUnavailable", "ServiceUnavailable", ""}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestStaleReadsShowWhatWasBefore(t *testing.T) {
	l := start(t, lab.Options{})
	l.Trouble(lab.Trouble{API: weightAPI, Kind: lab.StaleReads, For: time.Hour})
	read := func() any {
		return at(call(t, l, params{"Action": "DescribeSubDomainRecords", "SubDomain": "cdn.example.com"}).body, "DomainRecords", "Record", 0, "Weight")
	}
	weight := func(n string) {
		call(t, l, params{"Action": "UpdateDNSSLBWeight", "RecordId": "9009123456789", "Weight": n})
	}
	weight("10")
	if got := read(); got != float64(60) || !applied(l) {
		t.Errorf("a stale read shows %v, want 60 although 10 is stored", got)
	}
	l.Trouble(lab.Trouble{API: weightAPI, Kind: lab.StaleReads, For: time.Nanosecond})
	weight("20")
	if got := read(); got != float64(20) {
		t.Errorf("after the stale time a read shows %v, want 20", got)
	}
}

func TestSlowAnswerEndsWithTheCaller(t *testing.T) {
	l := start(t, lab.Options{})
	l.Trouble(lab.Trouble{Kind: lab.Slow, For: time.Hour, Calls: 2})
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.Endpoints().Prometheus+"/-/healthy", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan answer)
	go func() { gone <- do(t, req) }()
	cancel()
	if a := <-gone; !strings.Contains(a.raw, "context canceled") {
		t.Errorf("the caller saw %q", a.raw)
	}
	// A call that still waits when the lab closes does not hold Close up.
	other, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.Endpoints().Prometheus+"/-/healthy", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	go func() { gone <- do(t, other) }()
	l.Close()
	if a := <-gone; a.status != 0 {
		t.Errorf("a closed lab answered %d", a.status)
	}
}

func TestTroublesInQiniusWords(t *testing.T) {
	l := start(t, lab.Options{})
	query := `{"domains":["cdn.example.com"],"freq":"5min","startDate":"2021-06-25","endDate":"2021-06-25"}`
	for _, row := range []struct {
		kind   lab.Nuisance
		status int
		code   float64
	}{{lab.Throttled, 403, 403024}, {lab.Unavailable, 503, 500000}, {lab.Denied, 403, 403001}} {
		l.Trouble(lab.Trouble{API: "qiniu:/v2/tune", Kind: row.kind})
		if a := tune(t, l, "loganalyze/reqcount", query); a.status != row.status || a.body["code"] != row.code {
			t.Errorf("%v: %d %s", row.kind, a.status, a.raw)
		}
	}
}
