package prometheus_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/prometheus"
	"github.com/tlsroll/tlsroll/providers/providertest"
)

const (
	user     = "planted-user"
	password = "planted/secret+word=="
	patience = time.Minute
	first    = guardrails.Minute(27_075_960) // 2021-06-24T18:00Z, 02:00 in Shanghai
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func keys(context.Context) (providers.Credentials, error) {
	return providers.Credentials{KeyID: providers.NewSecret(user), Secret: providers.NewSecret(password)}, nil
}

// request is one query as it arrived.
type request struct {
	method, target string
	form           url.Values
	auth           string
}

// fake is a query API that answers what the tests put into it.
type fake struct {
	url     string
	waiting chan struct{}

	mu       sync.Mutex
	fault    providertest.Fault
	handle   http.HandlerFunc  // in place of everything below
	status   int               // default 200
	replies  map[string]string // query -> body
	requests []request
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{waiting: make(chan struct{}, 64), replies: map[string]string{}}
	server := httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	f.mu.Lock()
	f.requests = append(f.requests, request{r.Method, r.URL.RequestURI(), r.PostForm, r.Header.Get("Authorization")})
	fault, handle, status, reply := f.fault, f.handle, f.status, f.replies[r.Form.Get("query")]
	f.mu.Unlock()
	switch {
	case misbehave(w, r, fault, f.waiting):
	case handle != nil:
		handle(w, r)
	default:
		if status != 0 {
			w.WriteHeader(status)
		}
		fmt.Fprint(w, reply)
	}
}

func (f *fake) asked() []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]request(nil), f.requests...)
}

// source is a plan's source that asks for the given fields, each by a query of the same name.
func (f *fake) source(fields ...string) plans.Source {
	s := plans.Source{
		Name: "rum", Type: "prometheus", URL: f.url, Labels: map[string]string{"platform": "platform", "cdn": "cdn"},
		Legs: map[string]guardrails.Leg{"primary": guardrails.Primary, "backup": guardrails.Backup}, Queries: map[string]string{},
	}
	for _, field := range fields {
		s.Queries[field] = field
	}
	return s
}

// open returns an adapter with its own connections, which end with the test.
func open(t *testing.T, s plans.Source, o prometheus.Options) *prometheus.Source {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	o.Transport = transport
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	p, err := prometheus.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fetch asks the fake for ten minutes.
func (f *fake) fetch(t *testing.T, fields ...string) ([]guardrails.Row, error) {
	t.Helper()
	return open(t, f.source(fields...), prometheus.Options{}).Fetch(t.Context(), first, first+9)
}

// matrix is an answer with these series.
func matrix(series ...string) string {
	return `{"status":"success","data":{"resultType":"matrix","result":[` + strings.Join(series, ",") + `]}}`
}

// series is one of them; the values end the minutes first, first+1 and so on, and "" is no sample.
func series(platform, cdn string, values ...string) string {
	var samples []string
	for i, v := range values {
		if v != "" {
			samples = append(samples, fmt.Sprintf(`[%d,%q]`, (first+guardrails.Minute(i)).End().Unix(), v))
		}
	}
	return fmt.Sprintf(`{"metric":{"platform":%q,"cdn":%q},"values":[%s]}`, platform, cdn, strings.Join(samples, ","))
}

func wantKind(t *testing.T, err error, kind providers.Kind, text string) {
	t.Helper()
	if _, ok := errors.AsType[*providers.Error](err); !ok || providers.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("error is %T (%v), want a *providers.Error of kind %v that says %q", err, err, kind, text)
	}
}

// misbehave answers in place of the API; every body repeats what authorised the request.
func misbehave(w http.ResponseWriter, r *http.Request, f providertest.Fault, waiting chan<- struct{}) bool {
	echo := "asked with " + r.Header.Get("Authorization") + " by " + user + " and " + password
	failure := func(status int, kind string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"status":"error","errorType":%q,"error":%q}`, kind, echo)
	}
	switch f {
	case providertest.PermissionDenied:
		failure(http.StatusForbidden, "forbidden")
	case providertest.TooManyCalls:
		failure(http.StatusTooManyRequests, "too_many")
	case providertest.Unavailable, providertest.AppliedThenUnavailable:
		failure(http.StatusServiceUnavailable, "timeout")
	case providertest.BrokenJSON:
		fmt.Fprintf(w, `{"status":"success","data":[%q]}`, echo)
	case providertest.NumericCode:
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprintf(w, `{"status":"error","errorType":17,"error":%q}`, echo)
	default:
		return providertest.Misbehave(w, r, f, waiting, echo, `{"status":"success",`)
	}
	return true
}
