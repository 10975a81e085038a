package jsonhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/jsonhttp"
	"github.com/tlsroll/tlsroll/providers/providertest"
)

const (
	user     = "planted-user"
	password = "planted/secret+word=="
	token    = "planted.bearer.token"
	inURL    = "planted.in.url"
	patience = time.Minute
	first    = guardrails.Minute(27_075_960) // 2021-06-24T18:00Z, 02:00 in Shanghai
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func keys(context.Context) (providers.Credentials, error) {
	return providers.Credentials{KeyID: providers.NewSecret(user), Secret: providers.NewSecret(password)}, nil
}

func bearer(context.Context) (providers.Credentials, error) {
	return providers.Credentials{Token: providers.NewSecret(token)}, nil
}

// request is one question as it arrived.
type request struct{ Method, Target, Body, Type, Auth string }

// fake is an API that answers what the tests put into it.
type fake struct {
	url     string
	waiting chan struct{}

	mu       sync.Mutex
	fault    providertest.Fault
	handle   http.HandlerFunc // in place of everything below
	status   int              // default 200
	reply    string
	requests []request
}

func newFake(t *testing.T, rows ...string) *fake {
	t.Helper()
	f := &fake{waiting: make(chan struct{}, 64), reply: answer(rows...)}
	server := httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.requests = append(f.requests, request{r.Method, r.URL.RequestURI(), string(body), r.Header.Get("Content-Type"), r.Header.Get("Authorization")})
	fault, handle, status, reply := f.fault, f.handle, f.status, f.reply
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

// source is a plan's source that reads what row writes.
func (f *fake) source() plans.Source {
	return plans.Source{
		Name: "apm", Type: "jsonhttp", URL: f.url + "/minutes?from={from}&to={to}",
		Legs: map[string]guardrails.Leg{"ali": guardrails.Primary, "qiniu": guardrails.Backup},
		JSON: &plans.JSON{
			Method: http.MethodGet, TimeFormat: plans.UnixSeconds, Rows: "data.items", Partial: "data.partial", MinuteFormat: plans.UnixSeconds,
			Fields: map[string]string{"minute": "ts", "platform": "os", "cdn": "vendor", "requests": "n", "errors": "bad"},
		},
	}
}

// open returns an adapter with its own connections, which end with the test.
func open(t *testing.T, s plans.Source, o jsonhttp.Options) *jsonhttp.Source {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	o.Transport = transport
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	p, err := jsonhttp.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fetch asks the fake for ten minutes.
func (f *fake) fetch(t *testing.T) ([]guardrails.Row, error) {
	t.Helper()
	return open(t, f.source(), jsonhttp.Options{}).Fetch(t.Context(), first, first+9)
}

// answer is an answer with these rows.
func answer(rows ...string) string {
	return `{"data": {"items": [` + strings.Join(rows, ", ") + `], "partial": false}}`
}

// row is one of them: the minute first+i.
func row(i int, platform, cdn, requests, bad string) string {
	return fmt.Sprintf(`{"ts": %d, "os": %q, "vendor": %q, "n": %s, "bad": %s}`, (first + guardrails.Minute(i)).Start().Unix(), platform, cdn, requests, bad)
}

func wantKind(t *testing.T, err error, kind providers.Kind, text string) {
	t.Helper()
	if _, ok := errors.AsType[*providers.Error](err); !ok || providers.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("error is %T (%v), want a *providers.Error of kind %v that says %q", err, err, kind, text)
	}
}

// misbehave answers in place of the API; every body repeats what authorised the request.
func misbehave(w http.ResponseWriter, r *http.Request, f providertest.Fault, waiting chan<- struct{}) bool {
	echo := "asked with " + r.Header.Get("Authorization") + " by " + user + " and " + password + " at " + r.URL.RequestURI()
	failure := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"code": %s, "message": %q}`, code, echo)
	}
	switch f {
	case providertest.PermissionDenied:
		failure(http.StatusForbidden, `"forbidden"`)
	case providertest.TooManyCalls:
		failure(http.StatusTooManyRequests, `"slow down"`)
	case providertest.Unavailable, providertest.AppliedThenUnavailable:
		failure(http.StatusServiceUnavailable, `"later"`)
	case providertest.BrokenJSON:
		fmt.Fprintf(w, `{"data": [%q]}`, echo)
	case providertest.NumericCode:
		failure(http.StatusInternalServerError, "17")
	default:
		return providertest.Misbehave(w, r, f, waiting, echo, `{"data": {`)
	}
	return true
}
