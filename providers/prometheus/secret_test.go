package prometheus_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/prometheus"
	"github.com/tlsroll/tlsroll/providers/providertest"
)

// basic is what a request carries of a user and a password.
func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

func TestCredentialsAreSent(t *testing.T) {
	f := newFake(t)
	f.replies["requests"], f.replies["errors"] = matrix(), matrix()
	want := "Basic " + basic(user, password)
	if _, err := open(t, f.source("requests", "errors"), prometheus.Options{Credentials: keys}).Fetch(t.Context(), first, first); err != nil {
		t.Fatal(err)
	}
	for _, r := range f.asked() {
		if r.auth != want {
			t.Errorf("authorization %q, want %q", r.auth, want)
		}
	}
	if len(f.asked()) != 2 {
		t.Errorf("%d requests, want 2", len(f.asked()))
	}
}

func TestCredentialsThatFail(t *testing.T) {
	f := newFake(t)
	denied := &providers.Error{Provider: "env", Op: "read", Kind: providers.Denied, Err: errors.New("no variable")}
	for _, test := range []struct {
		err  error
		kind providers.Kind
	}{{denied, providers.Denied}, {errors.New("a file is gone"), providers.Transient}} {
		s := open(t, f.source("requests"), prometheus.Options{Credentials: func(context.Context) (providers.Credentials, error) { return providers.Credentials{}, test.err }})
		_, err := s.Fetch(t.Context(), first, first)
		wantKind(t, err, test.kind, "")
	}
	if n := len(f.asked()); n != 0 {
		t.Errorf("%d requests without credentials", n)
	}
}

// A redirect to another host must not carry the credentials there.
func TestARedirectIsNotFollowed(t *testing.T) {
	elsewhere := newFake(t)
	f := newFake(t)
	f.handle = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.url+"/api/v1/query_range", http.StatusTemporaryRedirect)
	}
	_, err := open(t, f.source("requests"), prometheus.Options{Credentials: keys}).Fetch(t.Context(), first, first)
	wantKind(t, err, providers.Transient, "HTTP 307")
	if n := len(elsewhere.asked()); n != 0 {
		t.Errorf("%d requests arrived elsewhere", n)
	}
}

// Whatever goes wrong, and however the server repeats it, no text shows what the URL or the credentials hold.
func TestNoTextShowsASecret(t *testing.T) {
	const token = "planted-token+1"
	secrets := []string{token, "planted-token%2B1", "url-user", "url-pass", user, password, basic("url-user", "url-pass"), basic(user, password)}
	check := func(t *testing.T, err error) {
		t.Helper()
		if err == nil {
			t.Fatal("no error")
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			raw, _ := json.Marshal(e)
			text := fmt.Sprintf("%v %+v %#v %q %s", e, e, e, e, raw)
			for _, s := range secrets {
				if strings.Contains(text, s) {
					t.Errorf("an error shows %s: %s", s, text)
				}
			}
		}
	}
	reply := func(status int) func(w http.ResponseWriter, r *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			sent, word, _ := r.BasicAuth()
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"status":"error","errorType":"bad_data","error":"%s %s %s %s %s"}`, r.URL, r.Header.Get("Authorization"), "url-user:url-pass", sent+":"+word, token)
		}
	}
	warn := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"status":"success","warnings":["%s"],"data":{"resultType":"matrix","result":[]}}`, r.URL)
	}
	label := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, matrix(series("ios", r.URL.String(), "1")))
	}
	for name, handle := range map[string]http.HandlerFunc{"200": reply(200), "400": reply(400), "422": reply(422), "401": reply(401), "500": reply(500), "a warning": warn, "a label": label} {
		for with, o := range map[string]prometheus.Options{"the URL's": {}, "credentials": {Credentials: keys}} {
			t.Run(name+" with "+with, func(t *testing.T) {
				f := newFake(t)
				f.handle = handle
				s := f.source("requests")
				s.URL = strings.Replace(f.url, "http://", "http://url-user:url-pass@", 1) + "/?token=planted-token%2B1"
				_, err := open(t, s, o).Fetch(t.Context(), first, first)
				check(t, err)
				asked := f.asked()
				if len(asked) != 1 || !strings.Contains(asked[0].target, "token=planted-token%2B1") || !strings.HasPrefix(asked[0].auth, "Basic ") {
					t.Errorf("requests %+v, want one with token and authorization", asked)
				}
			})
		}
	}
	for name, fault := range map[string]providertest.Fault{"cut": providertest.Cut, "cut body": providertest.CutBody} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.fault = fault
			s := f.source("requests")
			s.URL = strings.Replace(f.url, "http://", "http://url-user:url-pass@", 1) + "/?token=planted-token%2B1"
			_, err := open(t, s, prometheus.Options{}).Fetch(t.Context(), first, first)
			check(t, err)
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		s := newFake(t).source("requests")
		s.URL = "http://url-user:url-pass@127.0.0.1:1/?token=planted-token%2B1"
		_, err := open(t, s, prometheus.Options{}).Fetch(t.Context(), first, first)
		check(t, err)
		wantKind(t, err, providers.Transient, "connection refused")
		if strings.Contains(err.Error(), "http://") {
			t.Errorf("the error repeats the URL: %v", err)
		}
	})
}

func TestALongTextIsCut(t *testing.T) {
	f := newFake(t)
	f.status = 400
	f.replies["requests"] = `{"status":"error","errorType":"bad_data","error":"` + strings.Repeat("long\\n", 100_000) + `"}`
	_, err := f.fetch(t, "requests")
	wantKind(t, err, providers.Invalid, "long long")
	if n := len(err.Error()); n > 500 || strings.Contains(err.Error(), "\n") {
		t.Errorf("the text has %d bytes, or several lines", n)
	}
}
