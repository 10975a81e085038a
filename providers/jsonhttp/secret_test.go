package jsonhttp_test

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
	"github.com/tlsroll/tlsroll/providers/jsonhttp"
	"github.com/tlsroll/tlsroll/providers/providertest"
)

func TestCredentialsThatFail(t *testing.T) {
	f := newFake(t)
	source := f.source()
	source.URL += "&key=" + inURL
	denied := &providers.Error{Provider: "env", Op: "read", Kind: providers.Denied, Err: errors.New("no variable")}
	for _, test := range []struct {
		keys providers.Credentials
		err  error
		kind providers.Kind
		text string
	}{
		{err: denied, kind: providers.Denied, text: "no variable"},
		{err: errors.New("a file is gone"), kind: providers.Transient, text: "read the credentials: a file is gone"},
		{err: errors.New("asked with " + inURL), kind: providers.Transient, text: "what failed cannot be shown"},
		{kind: providers.Denied, text: "neither a user nor a token (denied, needs a user and password, or a token)"},
	} {
		s := open(t, source, jsonhttp.Options{Credentials: func(context.Context) (providers.Credentials, error) { return test.keys, test.err }})
		_, err := s.Fetch(t.Context(), first, first)
		wantKind(t, err, test.kind, test.text)
	}
	if n := len(f.asked()); n != 0 {
		t.Errorf("%d requests without credentials", n)
	}
}

// A redirect to another host must not carry the credentials there.
func TestARedirectIsNotFollowed(t *testing.T) {
	elsewhere := newFake(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		f := newFake(t)
		f.handle = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.url, status) }
		_, err := open(t, f.source(), jsonhttp.Options{Credentials: bearer}).Fetch(t.Context(), first, first)
		wantKind(t, err, providers.Transient, fmt.Sprintf("HTTP %d", status))
	}
	if n := len(elsewhere.asked()); n != 0 {
		t.Errorf("%d requests arrived elsewhere", n)
	}
}

// Whatever goes wrong, and however the server repeats it, no text shows what the URL's query or the credentials hold.
func TestNoTextShowsASecret(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	shared := []string{inURL, inURL[:9]}
	asUser := append([]string{user, password, basic, password[:9]}, shared...)
	echoes := map[string]func(r *http.Request) string{
		"the URL":           func(r *http.Request) string { return r.URL.RequestURI() },
		"a part of the URL": func(*http.Request) string { return inURL },
		"the header":        func(r *http.Request) string { return r.Header.Get("Authorization") },
		"the key alone": func(r *http.Request) string {
			return strings.TrimPrefix(strings.TrimPrefix(r.Header.Get("Authorization"), "Basic "), "Bearer ")
		},
		"half of the URL": func(*http.Request) string { return inURL[:9] },
		"half a key":      half,
	}
	ways := map[string]func(w http.ResponseWriter, echo string){
		"a CDN":         func(w http.ResponseWriter, echo string) { fmt.Fprint(w, answer(row(0, "ios", echo, "1", "0"))) },
		"a platform":    func(w http.ResponseWriter, echo string) { fmt.Fprint(w, answer(row(0, echo+"\n", "ali", "1", "0"))) },
		"a time":        func(w http.ResponseWriter, echo string) { fmt.Fprintf(w, `{"data": {"items": [{"ts": %q}]}}`, echo) },
		"a broken body": func(w http.ResponseWriter, echo string) { fmt.Fprint(w, echo) },
		"a flag":        func(w http.ResponseWriter, echo string) { fmt.Fprintf(w, `{"data": {"partial": %q}}`, echo) },
		"a status": func(w http.ResponseWriter, echo string) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, echo)
		},
		"the status line": func(w http.ResponseWriter, echo string) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				fmt.Fprintf(conn, "HTTP/1.1 %s\r\n%s\r\n\r\n", echo, echo)
				_ = conn.Close()
			}
		},
	}
	for kind, with := range map[string]struct {
		keys    providers.CredentialsFunc
		secrets []string
	}{
		"a user":  {keys, asUser},
		"a token": {bearer, append([]string{token, token[:9]}, shared...)},
	} {
		for what, echo := range echoes {
			for where, way := range ways {
				t.Run(what+" in "+where+" with "+kind, func(t *testing.T) {
					f := newFake(t)
					f.handle = func(w http.ResponseWriter, r *http.Request) { way(w, echo(r)) }
					s := f.source()
					s.URL += "&key=" + inURL
					_, err := open(t, s, jsonhttp.Options{Credentials: with.keys}).Fetch(t.Context(), first, first)
					sealed(t, with.secrets, err)
					if asked := f.asked(); len(asked) != 1 || !strings.Contains(asked[0].Target, inURL) || asked[0].Auth == "" {
						t.Errorf("requests %+v, want one with key and authorization", asked)
					}
				})
			}
		}
	}
	for _, fault := range []providertest.Fault{providertest.Cut, providertest.CutBody} {
		f := newFake(t)
		f.fault = fault
		s := f.source()
		s.URL += "&key=" + inURL
		_, err := open(t, s, jsonhttp.Options{Credentials: keys}).Fetch(t.Context(), first, first)
		sealed(t, asUser, err)
	}
}

// half is a part of what authorised a request, as somebody may shorten it for a log.
func half(r *http.Request) string {
	if _, word, ok := r.BasicAuth(); ok {
		return word[:9]
	}
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")[:9]
}

// sealed looks for secrets in everything that could be printed of an error and of all it wraps.
func sealed(t *testing.T, secrets []string, err error) {
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
