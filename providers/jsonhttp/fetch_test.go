package jsonhttp_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/jsonhttp"
	"github.com/tlsroll/tlsroll/providers/providertest"
)

const hasty = 200 * time.Millisecond

func counts(requests, bad float64) guardrails.Counts {
	return guardrails.Counts{Requests: requests, Errors: bad, Has: guardrails.HasRequests | guardrails.HasErrors}
}

func TestConforms(t *testing.T) {
	providertest.TestMetrics(t, func(t *testing.T, timeout time.Duration) providertest.MetricsHarness {
		t.Helper()
		var rows []string
		var want []guardrails.Row
		for i := range 4 {
			rows = append(rows, row(i, "ios", "ali", strconv.Itoa(10+i), "1"), row(i, "android", "qiniu", strconv.Itoa(20+i), "2"))
			want = append(
				want,
				guardrails.Row{Platform: "ios", Leg: guardrails.Primary, Minute: first + guardrails.Minute(i), Counts: counts(float64(10+i), 1)},
				guardrails.Row{Platform: "android", Leg: guardrails.Backup, Minute: first + guardrails.Minute(i), Counts: counts(float64(20+i), 2)},
			)
		}
		f := newFake(t, rows...)
		s := f.source()
		s.URL += "&view=" + inURL
		return providertest.MetricsHarness{
			Side: providertest.Side{
				Secrets: func() []string {
					return []string{user, password, base64.StdEncoding.EncodeToString([]byte(user + ":" + password)), inURL}
				},
				Misbehave: func(fault providertest.Fault) { f.mu.Lock(); defer f.mu.Unlock(); f.fault = fault },
				Requests:  func() int { return len(f.asked()) },
				Writes:    func() []providers.Call { return nil },
				Waiting:   f.waiting,
			},
			Metrics: open(t, s, jsonhttp.Options{Credentials: keys, Timeout: timeout}),
			From:    first, To: first + 3, Want: want,
		}
	})
}

func TestQuestions(t *testing.T) {
	for name, test := range map[string]struct {
		change func(s *plans.Source)
		keys   providers.CredentialsFunc
		want   request
	}{
		"seconds": {func(*plans.Source) {}, nil, request{http.MethodGet, "/minutes?from=1624557600&to=1624558200", "", "", ""}},
		"milliseconds, as a user": {
			func(s *plans.Source) { s.JSON.TimeFormat = plans.UnixMillis }, keys,
			request{http.MethodGet, "/minutes?from=1624557600000&to=1624558200000", "", "", "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))},
		},
		"text, in the path, with a token": {
			func(s *plans.Source) {
				s.JSON.TimeFormat, s.URL = plans.RFC3339, strings.Replace(s.URL, "/minutes?from={from}&to={to}", "/{from}/{to}", 1)
			}, bearer, request{http.MethodGet, "/2021-06-24T18%3A00%3A00Z/2021-06-24T18%3A10%3A00Z", "", "", "Bearer " + token},
		},
		"a body": {
			func(s *plans.Source) {
				s.JSON.Method, s.JSON.Body, s.JSON.TimeFormat = http.MethodPost, `{"from": "{from}", "to": "{to}", "again": "{from}", "by": {"os": 1}}`, plans.RFC3339
			}, nil, request{
				http.MethodPost, "/minutes?from=2021-06-24T18%3A00%3A00Z&to=2021-06-24T18%3A10%3A00Z",
				`{"from": "2021-06-24T18:00:00Z", "to": "2021-06-24T18:10:00Z", "again": "2021-06-24T18:00:00Z", "by": {"os": 1}}`, "application/json", "",
			},
		},
		"a POST without a body": {
			func(s *plans.Source) { s.JSON.Method = http.MethodPost }, nil,
			request{http.MethodPost, "/minutes?from=1624557600&to=1624558200", "", "", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, row(0, "ios", "ali", "1", "0"))
			s := f.source()
			test.change(&s)
			if rows, err := open(t, s, jsonhttp.Options{Credentials: test.keys}).Fetch(t.Context(), first, first+9); err != nil || len(rows) != 1 {
				t.Errorf("rows %+v, error %v, want one", rows, err)
			}
			if diff := cmp.Diff([]request{test.want}, f.asked()); diff != "" {
				t.Errorf("questions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswersThatAreRefused(t *testing.T) {
	good := row(0, "ios", "ali", "1", "0")
	for _, test := range []struct {
		name   string
		status int
		body   string
		kind   providers.Kind
		text   string
	}{
		{"a partial answer", 200, `{"data": {"items": [` + good + `], "partial": true}}`, providers.Transient, "the answer is partial: data.partial says so"},
		{"HTML", 200, "\n <html>Sign in</html>", providers.Transient, "a web page, not JSON"},
		{"nothing", 200, "", providers.Transient, "the answer is empty"},
		{"blanks", 200, " \n", providers.Transient, "the answer is empty"},
		{"half an answer", 200, answer(good)[:60], providers.Transient, "not JSON, or not all of it came"},
		{"NaN", 200, answer(row(0, "ios", "ali", "NaN", "0")), providers.Transient, "not JSON"},
		{"two answers", 200, answer(good) + answer(good), providers.Transient, "not JSON"},
		{"nested without end", 200, strings.Repeat("[", jsonhttp.MaxAnswer), providers.Transient, "not JSON"},
		{"too long", 200, answer(good) + strings.Repeat(" ", jsonhttp.MaxAnswer), providers.Invalid, "the answer is longer than 8 MiB"},
		{"not UTF-8", 200, answer(row(0, "ios", "ali", "1", `"`+"\xff"+`"`)), providers.Invalid, "not UTF-8"},
		{"no rows", 200, `{"data": {}}`, providers.Invalid, "rows: data.items is not in the answer"},
		{"null rows", 200, `{"data": {"items": null}}`, providers.Invalid, "rows: data.items is not a list"},
		{"rows by name", 200, `{"data": {"items": {"a": ` + good + `}}}`, providers.Invalid, "rows: data.items is not a list"},
		{"a row that is none", 200, answer(good, "7"), providers.Invalid, "row 1 of the answer, counted from 0: it is neither an object nor a list"},
		{"no minute", 200, answer(`{"os": "ios", "vendor": "ali", "n": 1}`), providers.Invalid, "row 0 of the answer, counted from 0: ts holds no time"},
		{"a null minute", 200, answer(`{"ts": null}`), providers.Invalid, "ts holds no time"},
		{"a minute of another form", 200, answer(`{"ts": "2021-06-24T18:00:00Z"}`), providers.Invalid, `ts ("2021-06-24T18:00:00Z") is not a time written as unix`},
		{"milliseconds", 200, answer(`{"ts": 1624557600000}`), providers.Invalid, `ts ("1624557600000") is not a time written as unix`},
		{"a negative minute", 200, answer(`{"ts": -60}`), providers.Invalid, `ts ("-60") is not a time`},
		{"half a minute", 200, answer(`{"ts": 1624557630}`), providers.Invalid, `ts ("1624557630") is not the start of a minute`},
		{"no platform", 200, answer(`{"ts": 1624557600, "vendor": "ali"}`), providers.Invalid, "os is not the name of a platform"},
		{"an empty platform", 200, answer(row(0, "", "ali", "1", "0")), providers.Invalid, "os is not the name of a platform"},
		{"two lines of platform", 200, answer(row(0, "a\nb", "ali", "1", "0")), providers.Invalid, "os is not the name of a platform"},
		{"a long platform", 200, answer(row(0, strings.Repeat("p", 65), "ali", "1", "0")), providers.Invalid, "os is not the name of a platform"},
		{"no CDN", 200, answer(`{"ts": 1624557600, "os": "ios"}`), providers.Invalid, "vendor is not a CDN that the plan knows: its legs are ali, qiniu"},
		{"a third CDN", 200, answer(row(0, "ios", "third", "1", "0")), providers.Invalid, `vendor ("third") is not a CDN that the plan knows`},
		{"five minutes", 200, answer(row(-10, "ios", "ali", "1", "0"), row(5, "ios", "ali", "1", "0"), row(0, "ios", "ali", "1", "0"), row(-5, "ios", "ali", "1", "0")), providers.Invalid, "the rows of a series lie 5 minutes apart"},
		{"204", 204, "", providers.Transient, "HTTP 204"},
		{"400", 400, "no such view", providers.Invalid, "HTTP 400"},
		{"401", 401, "", providers.Denied, "needs read access"},
		{"403", 403, "", providers.Denied, "needs read access"},
		{"404", 404, "no such page", providers.Missing, "HTTP 404"},
		{"408", 408, "", providers.Transient, "HTTP 408"},
		{"429", 429, "", providers.Throttled, "HTTP 429"},
		{"500", 500, "", providers.Transient, "HTTP 500"},
		{"502", 502, "<html>", providers.Transient, "HTTP 502"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(t)
			f.status, f.reply = test.status, test.body
			got, err := f.fetch(t)
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

func TestMinutesNobodyAskedForAreLeftOut(t *testing.T) {
	f := newFake(t, row(-1, "ios", "ali", "1", "0"), row(0, "ios", "ali", "2", "0"), row(9, "ios", "ali", "3", "0"), row(10, "ios", "ali", "4", "0"))
	got, err := f.fetch(t)
	if err != nil || len(got) != 2 || got[0].Minute != first || got[1].Minute != first+9 {
		t.Errorf("rows %+v, error %v, want two", got, err)
	}
}

func TestASlowAnswer(t *testing.T) {
	f := newFake(t)
	f.handle = func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"data":`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	_, err := open(t, f.source(), jsonhttp.Options{Timeout: hasty}).Fetch(t.Context(), first, first)
	wantKind(t, err, providers.Transient, "no answer in 200ms")
}

func TestSourcesThatAreNone(t *testing.T) {
	for name, change := range map[string]func(s *plans.Source){
		"no url":              func(s *plans.Source) { s.URL = "" },
		"another scheme":      func(s *plans.Source) { s.URL = "ftp://127.0.0.1/planted" },
		"a user":              func(s *plans.Source) { s.URL = "http://planted:planted@127.0.0.1/" },
		"half an escape":      func(s *plans.Source) { s.URL = "http://127.0.0.1/planted%z" },
		"no fields":           func(s *plans.Source) { s.JSON.Fields = nil },
		"nothing of JSON":     func(s *plans.Source) { s.JSON = nil },
		"another method":      func(s *plans.Source) { s.JSON.Method = "PUT" },
		"a query for a path":  func(s *plans.Source) { s.JSON.Rows = `planted.#(a=="b")` },
		"a modifier in a row": func(s *plans.Source) { s.JSON.Fields["tls"] = "@planted" },
	} {
		s := newFake(t).source()
		change(&s)
		_, err := jsonhttp.New(s, jsonhttp.Options{})
		wantKind(t, err, providers.Invalid, "jsonhttp: configure source apm: ")
		if err == nil || strings.Contains(err.Error(), "planted") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A kept connection that ends before a byte of the answer would be reason enough for net/http to send a GET again.
func TestAQuestionIsSentOnce(t *testing.T) {
	f := newFake(t, row(0, "ios", "ali", "1", "0"))
	s := open(t, f.source(), jsonhttp.Options{})
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
	wantKind(t, err, providers.Transient, "EOF")
	if n := len(f.asked()); n != 2 {
		t.Errorf("%d requests for two fetches", n)
	}
}

func TestNobodyThere(t *testing.T) {
	s := newFake(t).source()
	s.URL = "http://127.0.0.1:1/?key=" + inURL
	_, err := open(t, s, jsonhttp.Options{}).Fetch(t.Context(), first, first)
	wantKind(t, err, providers.Transient, "connection refused")
	if strings.Contains(err.Error(), "http://") {
		t.Errorf("the error repeats the URL: %v", err)
	}
}
