package qiniu_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/providertest"
	"github.com/tlsroll/tlsroll/providers/qiniu"
)

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// checkKind checks that err is nil for kind 0 and has the kind otherwise.
func checkKind(t *testing.T, err error, kind providers.Kind) {
	t.Helper()
	switch {
	case kind == 0 && err != nil:
		t.Fatalf("error: %v", err)
	case kind != 0 && err == nil:
		t.Fatalf("no error, want kind %v", kind)
	case kind != 0 && providers.KindOf(err) != kind:
		t.Fatalf("kind %v, want %v: %v", providers.KindOf(err), kind, err)
	}
}

func TestCDNConforms(t *testing.T) {
	providertest.TestCDN(t, func(t *testing.T, timeout time.Duration) providertest.CDNHarness {
		t.Helper()
		c := newCloud(t)
		return providertest.CDNHarness{Side: c.side(), CDN: must(qiniu.NewCDN(domain, c.patient(timeout)))(t), Truth: c.truth}
	})
}

// slots lends ReqCount to the suite for metric sources, a row for each slot's first minute. No such source exists outside this test.
type slots struct{ *qiniu.Analytics }

func (s slots) Fetch(ctx context.Context, from, to guardrails.Minute) ([]guardrails.Row, error) {
	got, err := s.ReqCount(ctx, from.Start(), to.End().Add(35*time.Minute))
	var rows []guardrails.Row
	for _, v := range got {
		rows = append(rows, guardrails.Row{Leg: guardrails.Backup, Minute: guardrails.MinuteOf(v.Start), Counts: guardrails.Counts{Requests: v.Value}})
	}
	return rows, err
}

func TestAnalyticsConform(t *testing.T) {
	providertest.TestMetrics(t, func(t *testing.T, timeout time.Duration) providertest.MetricsHarness {
		t.Helper()
		c := newCloud(t)
		c.replies["/v2/tune/loganalyze/reqcount"] = `{"code":200,"data":{"points":["2021-06-25-01-55","2021-06-25-02-00","2021-06-25-02-05","2021-06-25-02-10","2021-06-25-02-15"],"reqCount":[1,2,3,4,5]}}`
		from := guardrails.MinuteOf(time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC))
		row := func(after guardrails.Minute, n float64) guardrails.Row {
			return guardrails.Row{Leg: guardrails.Backup, Minute: from + after, Counts: guardrails.Counts{Requests: n}}
		}
		return providertest.MetricsHarness{
			Side: c.side(), Metrics: slots{must(qiniu.NewAnalytics(domain, c.patient(timeout)))(t)}, From: from, To: from + 11,
			Want: []guardrails.Row{row(0, 2), row(5, 3), row(10, 4)},
		}
	})
}

func TestSigningVectors(t *testing.T) {
	body := []byte(`{"certId":"x"}`)
	put, err := http.NewRequest(http.MethodPut, "https://api.qiniu.com/domain/a.com/httpsconf", bytes.NewReader(body)) //nolint:noctx // never sent
	if err != nil {
		t.Fatal(err)
	}
	put.Header.Set("Content-Type", "application/json")
	post, err := http.NewRequest(http.MethodPost, "https://fusion.qiniuapi.com/v2/tune/flux", http.NoBody) //nolint:noctx // never sent
	if err != nil {
		t.Fatal(err)
	}
	got := []string{authorization(put, body, "ak", "sk"), authorization(post, nil, "ak", "sk")}
	want := []string{"Qiniu ak:JoiLcWZ7Em_beJOQOwHz9MG-YmI=", "QBox ak:zhGo9Zblc6Eb5pQLrNd2xgXhM08="}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the test server verifies with (-want +got):\n%s", diff)
	}
}

func TestBusinessCodesHaveKinds(t *testing.T) {
	for _, tt := range []struct {
		status, code int
		kind         providers.Kind
	}{
		{400, 400030, providers.Transient},
		{200, 400030, providers.Transient},
		{400, 400013, providers.Conflict},
		{400, 400309, providers.Invalid},
		{400, 400317, providers.Invalid},
		{400, 400323, providers.Invalid},
		{400, 400401, providers.Missing},
		{401, 401001, providers.Denied},
		{401, 401002, providers.Denied},
		{403, 403001, providers.Denied},
		{403, 403024, providers.Throttled},
		{200, 403024, providers.Throttled},
		{404, 404001, providers.Missing},
		{200, 404001, providers.Missing},
		{500, 500000, providers.Transient},
		{200, 500000, providers.Transient},
		{400, 400331, providers.Invalid},
		{400, 400054, providers.Invalid},
		{429, 0, providers.Throttled},
		{401, 0, providers.Denied},
		{408, 0, providers.Transient},
		{200, 500, providers.Transient},
	} {
		t.Run(fmt.Sprintf("%d in a %d", tt.code, tt.status), func(t *testing.T) {
			c := newCloud(t)
			c.status = tt.status
			c.replies["/domain/"+domain] = fmt.Sprintf(`{"code":%d,"error":"why"}`, tt.code)
			_, err := must(qiniu.NewCDN(domain, c.options()))(t).Read(t.Context())
			checkKind(t, err, tt.kind)
			e, _ := errors.AsType[*providers.Error](err)
			if e.Code != strconv.Itoa(tt.code) || e.Err.Error() != "why" || e.RequestID != "reqid-1" {
				t.Errorf("code, cause or request is lost: %+v", e)
			}
		})
	}
}

func TestDeniedNamesThePermissionButNotForBadKeys(t *testing.T) {
	for code, want := range map[int]string{403001: "cdn/GetDomainList", 401001: ""} {
		c := newCloud(t)
		c.status = http.StatusForbidden
		c.replies["/domain/"+domain] = fmt.Sprintf(`{"code":%d,"error":"why"}`, code)
		_, err := must(qiniu.NewCDN(domain, c.options()))(t).Read(t.Context())
		e, ok := errors.AsType[*providers.Error](err)
		if !ok || e.Kind != providers.Denied || e.Action != want {
			t.Errorf("%d: got %+v, want action %q", code, e, want)
		}
	}
}

func TestARedirectIsNoAnswerWhateverItSays(t *testing.T) {
	c := newCloud(t)
	c.status = http.StatusFound
	_, err := must(qiniu.NewCDN(domain, c.options()))(t).Read(t.Context())
	checkKind(t, err, providers.Transient)
}

func TestReadDomain(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(string) string
		kind   providers.Kind
		want   string
	}{
		"in service":     {func(s string) string { return s }, 0, "success true true"},
		"still busy":     {func(s string) string { return strings.Replace(s, `"success"`, `"processing"`, 1) }, 0, "processing false true"},
		"no certificate": {func(s string) string { return strings.Replace(s, `"c1"`, `""`, 1) }, 0, "success true false"},
		"plain HTTP":     {func(s string) string { return strings.Replace(s, `"https",`, `"http",`, 1) }, 0, "success true false"},
		"another domain": {func(s string) string { return strings.Replace(s, domain, "img.example.com", 1) }, providers.Invalid, ""},
		"no state":       {func(s string) string { return strings.Replace(s, "operatingState", "state", 1) }, providers.Invalid, ""},
		"a bare 200":     {func(string) string { return `{"code":200}` }, providers.Invalid, ""},
		"a list":         {func(string) string { return `[]` }, providers.Invalid, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.replies["/domain/"+domain] = tt.change(c.replies["/domain/"+domain])
			got, err := must(qiniu.NewCDN(domain, c.options()))(t).Read(t.Context())
			checkKind(t, err, tt.kind)
			if err == nil && fmt.Sprint(got.Status, " ", got.Online, " ", got.Certificate) != tt.want {
				t.Errorf("state %+v, want %s", got, tt.want)
			}
			if got.TLSReadable {
				t.Error("TLS versions are said to be readable")
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestEndpoints(t *testing.T) {
	now := time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct{ endpoint, analytics, wantCDN, wantAnalytics string }{
		"the vendor by HTTPS": {"", "", "https://api.qiniu.com", "https://fusion.qiniuapi.com"},
		"one for both":        {"http://127.0.0.1:1/", "", "http://127.0.0.1:1", "http://127.0.0.1:1"},
		"one each":            {"https://127.0.0.1:1", "http://127.0.0.1:2", "https://127.0.0.1:1", "http://127.0.0.1:2"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			o := qiniu.Options{Endpoint: tt.endpoint, AnalyticsEndpoint: tt.analytics, Credentials: keys, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				asked = append(asked, r.URL.Scheme+"://"+r.URL.Host)
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("")), Header: http.Header{}, Request: r}, nil
			})}
			_, err := must(qiniu.NewCDN(domain, o))(t).Read(t.Context())
			checkKind(t, err, providers.Transient)
			_, err = must(qiniu.NewAnalytics(domain, o))(t).ReqCount(t.Context(), now.Add(-time.Hour), now)
			checkKind(t, err, providers.Transient)
			if diff := cmp.Diff([]string{tt.wantCDN, tt.wantAnalytics}, asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for name, o := range map[string]qiniu.Options{
		"no credentials": {},
		"no scheme":      {Credentials: keys, Endpoint: "127.0.0.1:8080"},
		"another scheme": {Credentials: keys, Endpoint: "ftp://127.0.0.1"},
		"no host":        {Credentials: keys, Endpoint: "http://"},
		"a path":         {Credentials: keys, Endpoint: "http://127.0.0.1/api"},
		"a password":     {Credentials: keys, Endpoint: "http://u:" + secretKey + "@127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{second(qiniu.NewCDN(domain, o)), second(qiniu.NewAnalytics(domain, o))} {
				checkKind(t, err, providers.Invalid)
				if strings.Contains(err.Error(), secretKey) {
					t.Errorf("the text shows a secret: %v", err)
				}
			}
		})
	}
	for _, name := range []string{"", "a.example.com;b.example.com", "../tune", "a.example.com?x"} {
		checkKind(t, second(qiniu.NewCDN(name, qiniu.Options{Credentials: keys})), providers.Invalid)
		checkKind(t, second(qiniu.NewAnalytics(name, qiniu.Options{Credentials: keys})), providers.Invalid)
	}
}

func second[T any](_ T, err error) error { return err }

func TestCredentialsThatCannotBeHad(t *testing.T) {
	c := newCloud(t)
	o := c.options()
	for name, f := range map[string]providers.CredentialsFunc{
		"an error": func(context.Context) (providers.Credentials, error) {
			return providers.Credentials{}, errors.New("no such file")
		},
		"empty": func(context.Context) (providers.Credentials, error) { return providers.Credentials{}, nil },
	} {
		o.Credentials = f
		_, err := must(qiniu.NewCDN(domain, o))(t).Read(t.Context())
		if providers.KindOf(err) != providers.Denied {
			t.Errorf("%s: error %v, want denied", name, err)
		}
	}
	if n := c.side().Requests(); n != 0 {
		t.Errorf("%d requests without credentials", n)
	}
}
