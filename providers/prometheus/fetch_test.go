package prometheus_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/prometheus"
)

const hasty = 200 * time.Millisecond

func unix(m guardrails.Minute) string { return strconv.FormatInt(m.Start().Unix(), 10) }

func TestASampleDescribesTheMinuteBeforeIt(t *testing.T) {
	f := newFake(t)
	f.replies["requests"] = matrix(series("ios", "primary", "100", "", "", "7.5"))
	got, err := f.fetch(t, "requests")
	if err != nil {
		t.Fatal(err)
	}
	want := []guardrails.Row{
		{Platform: "ios", Leg: guardrails.Primary, Minute: first, Counts: guardrails.Counts{Requests: 100, Has: guardrails.HasRequests}},
		{Platform: "ios", Leg: guardrails.Primary, Minute: first + 3, Counts: guardrails.Counts{Requests: 7.5, Has: guardrails.HasRequests}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	asked := []request{{http.MethodPost, "/api/v1/query_range", url.Values{
		"query": {"requests"}, "start": {unix(first + 1)}, "end": {unix(first + 10)}, "step": {"60"},
	}, ""}}
	if diff := cmp.Diff(asked, dropTimeout(f.asked()), cmp.AllowUnexported(request{})); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
}

// dropTimeout leaves out what the client may add of its own.
func dropTimeout(rs []request) []request {
	for _, r := range rs {
		delete(r.form, "timeout")
	}
	return rs
}

func TestEachQueryFillsItsField(t *testing.T) {
	f := newFake(t)
	fields := []string{"requests", "errors", "total_ms", "tls_ms", "tls", "bytes", "tls13", "status_2xx", "status_4xx", "status_5xx"}
	for i, field := range fields {
		f.replies[field] = matrix(series("ios", "backup", strconv.Itoa(i+1)))
	}
	got, err := f.fetch(t, fields...)
	if err != nil {
		t.Fatal(err)
	}
	all := guardrails.HasRequests | guardrails.HasErrors | guardrails.HasTotalMS | guardrails.HasTLSMS | guardrails.HasTLS | guardrails.HasBytes | guardrails.HasTLS13 | guardrails.HasStatus
	want := []guardrails.Row{{Platform: "ios", Leg: guardrails.Backup, Minute: first, Counts: guardrails.Counts{
		Requests: 1, Errors: 2, TotalMS: 3, TLSMS: 4, TLS: 5, Bytes: 6, TLS13: 7, Status2xx: 8, Status4xx: 9, Status5xx: 10, Has: all,
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Shares of some classes would be shares of something else.
func TestStatusClassesCountTogetherOrNotAtAll(t *testing.T) {
	f := newFake(t)
	f.replies["status_2xx"] = matrix(series("", "primary", "90", "80", "70"))
	f.replies["status_4xx"] = matrix(series("", "primary", "9", "8", ""))
	f.replies["status_5xx"] = matrix(series("", "primary", "1", "", "3"))
	s := f.source("status_2xx", "status_4xx", "status_5xx")
	delete(s.Labels, "platform")
	got, err := open(t, s, prometheus.Options{}).Fetch(t.Context(), first, first+9)
	if err != nil {
		t.Fatal(err)
	}
	want := []guardrails.Row{
		{Leg: guardrails.Primary, Minute: first, Counts: guardrails.Counts{Status2xx: 90, Status4xx: 9, Status5xx: 1, Has: guardrails.HasStatus}},
		{Leg: guardrails.Primary, Minute: first + 1},
		{Leg: guardrails.Primary, Minute: first + 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestWhatIsNoCountMakesTheMinuteUnknown(t *testing.T) {
	for _, v := range []string{"NaN", "+Inf", "-Inf", "-1", "-0.5"} {
		for _, field := range []string{"requests", "errors", "bytes"} { // before, between and after the good one
			f := newFake(t)
			f.replies["bytes"] = matrix(series("ios", "primary", "1", "1"))
			f.replies["errors"] = matrix(series("ios", "primary", "2", "2"))
			f.replies["requests"] = matrix(series("ios", "primary", "3", "3"))
			f.replies[field] = matrix(series("ios", "primary", v, "4"))
			got, err := f.fetch(t, "requests", "errors", "bytes")
			if err != nil {
				t.Fatal(err)
			}
			want := guardrails.Row{Platform: "ios", Leg: guardrails.Primary, Minute: first, Unknown: guardrails.NotANumber}
			if diff := cmp.Diff(want, got[0]); diff != "" {
				t.Errorf("%s in %s (-want +got):\n%s", v, field, diff)
			}
			if len(got) != 2 || got[1].Unknown != 0 || got[1].Counts.Has != guardrails.HasRequests|guardrails.HasErrors|guardrails.HasBytes {
				t.Errorf("%s in %s: the next minute is %+v, want a good one", v, field, got[1:])
			}
		}
	}
}

// Holes stay holes, however many there are, as long as some minutes follow each other or too few came to show a step.
func TestHolesAreNotACoarserStep(t *testing.T) {
	for name, values := range map[string][]string{
		"one minute":             {"", "", "1"},
		"two minutes":            {"1", "", "", "", "", "1"},
		"neighbours":             {"1", "", "", "", "", "1", "", "", "", "1", "1"},
		"holes of several sizes": {"1", "", "1", "", "", "1"},
	} {
		f := newFake(t)
		f.replies["requests"] = matrix(series("ios", "primary", values...))
		got, err := open(t, f.source("requests"), prometheus.Options{}).Fetch(t.Context(), first, first+10)
		want := 0
		for _, v := range values {
			want += len(v)
		}
		if err != nil || len(got) != want {
			t.Errorf("%s: %d rows, error %v, want %d rows", name, len(got), err, want)
		}
	}
}

// Nothing is no minute with zero requests.
func TestAnEmptyAnswerIsHoles(t *testing.T) {
	f := newFake(t)
	f.replies["requests"] = matrix()
	f.replies["errors"] = matrix(series("ios", "primary"))
	if got, err := f.fetch(t, "requests", "errors"); err != nil || len(got) != 0 {
		t.Errorf("rows %+v, error %v, want none", got, err)
	}
}

// A field whose series begins later is absent before, not zero.
func TestAFieldThatBeginsInTheMiddle(t *testing.T) {
	f := newFake(t)
	f.replies["requests"] = matrix(series("ios", "primary", "5", "6"))
	f.replies["errors"] = matrix(series("ios", "primary", "", "1"))
	got, err := f.fetch(t, "requests", "errors")
	if err != nil {
		t.Fatal(err)
	}
	want := []guardrails.Row{
		{Platform: "ios", Leg: guardrails.Primary, Minute: first, Counts: guardrails.Counts{Requests: 5, Has: guardrails.HasRequests}},
		{Platform: "ios", Leg: guardrails.Primary, Minute: first + 1, Counts: guardrails.Counts{
			Requests: 6, Errors: 1, Has: guardrails.HasRequests | guardrails.HasErrors,
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Long spans are asked for in pieces that meet without a gap or an overlap, far below the 11,000 steps that a server answers.
func TestLongSpansAreAskedForInPieces(t *testing.T) {
	const dayAndHalf = 36 * 60
	for name, test := range map[string]struct {
		minutes guardrails.Minute
		want    []guardrails.Minute // the last minute of each piece
	}{
		"a day and a half": {dayAndHalf, []guardrails.Minute{dayAndHalf}},
		"a minute more":    {dayAndHalf + 1, []guardrails.Minute{dayAndHalf, dayAndHalf + 1}},
		"eight days":       {8 * 24 * 60, []guardrails.Minute{dayAndHalf, 2 * dayAndHalf, 3 * dayAndHalf, 4 * dayAndHalf, 5 * dayAndHalf, 8 * 24 * 60}},
	} {
		f := newFake(t)
		f.handle = func(w http.ResponseWriter, r *http.Request) { // a sample at each step, and one that nobody asked for
			from, _ := strconv.ParseInt(r.Form.Get("start"), 10, 64)
			to, _ := strconv.ParseInt(r.Form.Get("end"), 10, 64)
			var samples []string
			for at := from - 60; at <= to; at += 60 {
				samples = append(samples, fmt.Sprintf(`[%d,"%d"]`, at, at/60))
			}
			fmt.Fprint(w, matrix(`{"metric":{"platform":"ios","cdn":"primary"},"values":[`+strings.Join(samples, ",")+`]}`))
		}
		got, err := open(t, f.source("requests"), prometheus.Options{}).Fetch(t.Context(), first, first+test.minutes-1)
		if err != nil || len(got) != int(test.minutes) {
			t.Fatalf("%s: %d rows, error %v", name, len(got), err)
		}
		for i, r := range got {
			if r.Minute != first+guardrails.Minute(i) || r.Counts.Requests != float64(r.Minute+1) {
				t.Fatalf("%s: row %d is %+v", name, i, r)
			}
		}
		var pieces []string
		for _, r := range f.asked() {
			pieces = append(pieces, r.form.Get("start")+"-"+r.form.Get("end"))
		}
		var want []string
		begin := first
		for _, end := range test.want {
			want = append(want, unix(begin+1)+"-"+unix(first+end))
			begin = first + end
		}
		if diff := cmp.Diff(want, pieces); diff != "" {
			t.Errorf("%s: pieces (-want +got):\n%s", name, diff)
		}
	}
}

func TestOnePieceThatFailsFailsTheWhole(t *testing.T) {
	f := newFake(t)
	f.handle = func(w http.ResponseWriter, r *http.Request) {
		if r.Form.Get("start") != unix(first+1) {
			fmt.Fprint(w, `{"status":"success","warnings":["one store did not answer"],"data":{"resultType":"matrix","result":[]}}`)
			return
		}
		fmt.Fprint(w, matrix(series("ios", "primary", "1")))
	}
	got, err := open(t, f.source("requests"), prometheus.Options{}).Fetch(t.Context(), first, first+36*60)
	wantKind(t, err, providers.Transient, "one store did not answer")
	if got != nil {
		t.Errorf("rows %+v beside an error", got)
	}
}

func TestMinutesNobodyAskedForAreDropped(t *testing.T) {
	f := newFake(t)
	f.replies["requests"] = matrix(series("ios", "primary", "0", "1", "2", "3"))
	got, err := open(t, f.source("requests"), prometheus.Options{}).Fetch(t.Context(), first+1, first+2)
	if err != nil || len(got) != 2 || got[0].Minute != first+1 || got[1].Minute != first+2 {
		t.Errorf("rows %+v, error %v, want two minutes", got, err)
	}
}

func TestSourcesThatTellLessApart(t *testing.T) {
	f := newFake(t)
	f.replies["requests"] = matrix(`{"metric":{},"values":[` + fmt.Sprintf(`[%d,"5"]`, first.End().Unix()) + `]}`)
	s := f.source("requests")
	s.Labels, s.Legs = nil, nil
	got, err := open(t, s, prometheus.Options{}).Fetch(t.Context(), first, first)
	want := []guardrails.Row{{Leg: guardrails.Primary, Minute: first, Counts: guardrails.Counts{Requests: 5, Has: guardrails.HasRequests}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, rows (-want +got):\n%s", err, diff)
	}
}

func TestLegsByOtherNames(t *testing.T) {
	f := newFake(t)
	f.replies["requests"] = matrix(series("ios", "cdn-a", "1"), series("ios", "cdn-b", "2"))
	s := f.source("requests")
	s.Legs = map[string]guardrails.Leg{"cdn-a": guardrails.Backup, "cdn-b": guardrails.Primary}
	got, err := open(t, s, prometheus.Options{}).Fetch(t.Context(), first, first)
	want := []guardrails.Row{
		{Platform: "ios", Leg: guardrails.Primary, Minute: first, Counts: guardrails.Counts{Requests: 2, Has: guardrails.HasRequests}},
		{Platform: "ios", Leg: guardrails.Backup, Minute: first, Counts: guardrails.Counts{Requests: 1, Has: guardrails.HasRequests}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, rows (-want +got):\n%s", err, diff)
	}
}

func TestAnswersThatAreRefused(t *testing.T) {
	sample := fmt.Sprintf(`[%d,"1"]`, first.End().Unix())
	for _, test := range []struct {
		name   string
		status int
		body   string
		kind   providers.Kind
		text   string
	}{
		{"warnings", 200, `{"status":"success","warnings":["one store did not answer"],"data":{"resultType":"matrix","result":[]}}`, providers.Transient, "one store did not answer"},
		{"isPartial", 200, `{"status":"success","isPartial":true,` + matrix(series("ios", "primary", "1"))[len(`{"status":"success",`):], providers.Transient, "partial"},
		{"five-minute points", 200, matrix(series("ios", "primary", "5", "", "", "", "", "5", "", "", "", "", "5")), providers.Invalid, "steps of 5 minutes"},
		{"five-minute points with a hole", 200, matrix(series("ios", "primary", "5", "", "", "", "", "", "", "", "", "", "5"), series("ios", "backup", "", "", "", "", "", "5")), providers.Invalid, "steps of 5 minutes"},
		{"NaN in five-minute points", 200, matrix(series("ios", "primary", "NaN", "", "", "", "", "NaN", "", "", "", "", "NaN")), providers.Invalid, "steps of 5 minutes"},
		{"two-minute points", 200, matrix(series("ios", "primary", "5", "", "5", "", "5")), providers.Invalid, "steps of 2 minutes"},
		{"HTML", 200, "<html>Sign in</html>", providers.Transient, "query requests"},
		{"nothing", 200, "", providers.Transient, "query requests"},
		{"half an answer", 200, matrix(series("ios", "primary", "1"))[:80], providers.Transient, "query requests"},
		{"an error with status 200", 200, `{"status":"error","errorType":"timeout","error":"too slow"}`, providers.Transient, "too slow"},
		{"a vector", 200, `{"status":"success","data":{"resultType":"vector","result":[]}}`, providers.Invalid, "not a matrix"},
		{"a scalar", 200, `{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`, providers.Invalid, "not a matrix"},
		{"no data", 200, `{"status":"success"}`, providers.Invalid, "not a matrix"},
		{"401", 401, "", providers.Denied, "needs read access"},
		{"403", 403, "", providers.Denied, "needs read access"},
		{"404", 404, "no such page", providers.Missing, "HTTP 404"},
		{"408", 408, "", providers.Transient, "HTTP 408"},
		{"413", 413, "", providers.Invalid, "HTTP 413"},
		{"429", 429, "", providers.Throttled, "HTTP 429"},
		{"500", 500, "", providers.Transient, "HTTP 500"},
		{"502", 502, "<html>", providers.Transient, "HTTP 502"},
		{"503", 503, `{"status":"error","errorType":"unavailable","error":"starting"}`, providers.Transient, "HTTP 503"},
		{"400 of the API", 400, `{"status":"error","errorType":"bad_data","error":"parse error at char 5"}`, providers.Invalid, "bad_data: parse error at char 5"},
		{"400 of something else", 400, "<html>", providers.Invalid, "client error"},
		{"422", 422, `{"status":"error","errorType":"execution","error":"too many samples"}`, providers.Invalid, "execution: too many samples"},
		{"422 for want of time", 422, `{"status":"error","errorType":"timeout","error":"query timed out"}`, providers.Transient, "query timed out"},
		{"between two minutes", 200, matrix(fmt.Sprintf(`{"metric":{"platform":"ios","cdn":"primary"},"values":[[%d,"1"]]}`, first.End().Unix()+30)), providers.Invalid, "not on a whole minute"},
		{"a second late", 200, matrix(fmt.Sprintf(`{"metric":{"platform":"ios","cdn":"primary"},"values":[[%d.001,"1"]]}`, first.End().Unix())), providers.Invalid, "not on a whole minute"},
		{"the same minute twice", 200, matrix(`{"metric":{"platform":"ios","cdn":"primary"},"values":[` + sample + "," + sample + `]}`), providers.Invalid, "back in time"},
		{"a leg that the plan does not know", 200, matrix(series("ios", "third", "1")), providers.Invalid, `label cdn is "third", the plan's legs know backup, primary`},
		{"no leg", 200, matrix(`{"metric":{"platform":"ios"},"values":[` + sample + `]}`), providers.Invalid, `label cdn is ""`},
		{"no platform", 200, matrix(`{"metric":{"cdn":"primary"},"values":[` + sample + `]}`), providers.Invalid, "has no label platform: the query must sum by (platform, cdn)"},
		{"two series for one", 200, matrix(series("ios", "primary", "1"), series("ios", "primary", "", "2")), providers.Invalid, `two series for platform "ios" on the primary`},
		{"a histogram", 200, matrix(fmt.Sprintf(`{"metric":{"platform":"ios","cdn":"primary"},"histograms":[[%d,{"count":"1","sum":"1","buckets":[]}]]}`, first.End().Unix())), providers.Invalid, "is a histogram"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(t)
			f.status, f.replies["requests"] = test.status, test.body
			got, err := open(t, f.source("requests"), prometheus.Options{}).Fetch(t.Context(), first, first+10)
			wantKind(t, err, test.kind, test.text)
			if got != nil {
				t.Errorf("rows %+v beside an error", got)
			}
			if n := len(f.asked()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func TestOneQueryThatFailsFailsTheWhole(t *testing.T) {
	f := newFake(t)
	f.replies["requests"] = matrix(series("ios", "primary", "1"))
	f.replies["errors"] = "<html>"
	got, err := f.fetch(t, "requests", "errors")
	wantKind(t, err, providers.Transient, "query errors")
	if got != nil {
		t.Errorf("rows %+v beside an error", got)
	}
}

func TestAServerThatTakesGETAlone(t *testing.T) {
	f := newFake(t)
	f.handle = func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		fmt.Fprint(w, matrix(series("ios", "primary", "1")))
	}
	if got, err := f.fetch(t, "requests"); err != nil || len(got) != 1 {
		t.Errorf("rows %+v, error %v, want one", got, err)
	}
}

// A kept connection that ends before a byte of the answer would be reason enough for net/http to send the query again.
func TestAQueryIsSentOnce(t *testing.T) {
	f := newFake(t)
	f.replies["requests"] = matrix(series("ios", "primary", "1"))
	s := open(t, f.source("requests"), prometheus.Options{})
	if _, err := s.Fetch(t.Context(), first, first); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.handle = func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close()
		}
	}
	f.mu.Unlock()
	_, err := s.Fetch(t.Context(), first, first)
	wantKind(t, err, providers.Transient, "query requests")
	if n := len(f.asked()); n != 2 {
		t.Errorf("%d requests for two fetches", n)
	}
}

func TestASlowAnswer(t *testing.T) {
	f := newFake(t)
	f.handle = func(_ http.ResponseWriter, r *http.Request) {
		f.waiting <- struct{}{}
		<-r.Context().Done()
	}
	_, err := open(t, f.source("requests"), prometheus.Options{Timeout: hasty}).Fetch(t.Context(), first, first)
	wantKind(t, err, providers.Transient, "no answer in 200ms")
	<-f.waiting
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-f.waiting
		cancel()
	}()
	started := time.Now()
	_, err = open(t, f.source("requests"), prometheus.Options{}).Fetch(ctx, first, first)
	wantKind(t, err, providers.Transient, "")
	if took := time.Since(started); !errors.Is(err, context.Canceled) || took > patience/2 {
		t.Errorf("after %v error %v, want context.Canceled at once", took, err)
	}
}

func TestNewRefusesWhatIsNoURL(t *testing.T) {
	f := newFake(t)
	for _, raw := range []string{"", "prometheus:9090", "/api", "ftp://prometheus.example.com", "http://", "http://user:hidden@exa mple.com", "http://prometheus.example.com/%zz?hidden"} {
		s := f.source("requests")
		s.URL = raw
		_, err := prometheus.New(s, prometheus.Options{})
		wantKind(t, err, providers.Invalid, "the url of source rum is none")
	}
}
