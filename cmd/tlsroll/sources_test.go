package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

// apm is a source of type jsonhttp at url, as a plan has it.
func apm(url, credentials string) plans.Source {
	return plans.Source{Name: "my-apm", Type: "jsonhttp", URL: url, Credentials: credentials, JSON: &plans.JSON{
		Method: http.MethodGet, TimeFormat: plans.UnixSeconds, MinuteFormat: plans.UnixSeconds, Fields: map[string]string{"minute": "ts", "requests": "n"},
	}}
}

func keyFileOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "file:" + path
}

func TestEachTypeOfSourceIsConnected(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rum.csv")
	if err := os.WriteFile(file, []byte("minute,requests\n60,5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`[{"ts": 60, "n": 5}]`))
	}))
	t.Cleanup(api.Close)
	for _, s := range []plans.Source{{Name: "file", Type: "csvfile", Path: file}, apm(api.URL, "")} {
		m, err := source(stdio{}, &plans.Plan{}, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := m.Fetch(t.Context(), 1, 1)
		want := guardrails.Row{Leg: guardrails.Primary, Minute: 1, Counts: guardrails.Counts{Requests: 5, Has: guardrails.HasRequests}}
		if err != nil || len(rows) != 1 || rows[0] != want {
			t.Errorf("%s: rows %+v, error %v", s.Type, rows, err)
		}
	}
	if _, err := source(stdio{}, &plans.Plan{}, plans.Source{Type: "csv"}, nil); err == nil {
		t.Error("a source of another type is connected")
	}
}

// The keys of a source go to whatever URL a plan names: they must never be the cloud's.
func TestASourceHasItsOwnKeys(t *testing.T) {
	const cloud = "planted-cloud-key"
	vendor := []string{envAliKey + "=" + cloud, envAliSecret + "=" + cloud, envAliToken + "=" + cloud, envQiniuKey + "=" + cloud, envQiniuSecret + "=" + cloud}
	for _, test := range []struct {
		name, credentials string
		env               []string
		want              string // the header, or ""
		kind              providers.Kind
	}{
		{"none", "", nil, "", 0},
		{"a token", "env", []string{"TLSROLL_MY_APM_TOKEN=tok"}, "Bearer tok", 0},
		{"a user", "env", []string{"TLSROLL_MY_APM_USER=u", "TLSROLL_MY_APM_PASSWORD=p"}, "Basic dTpw", 0},
		{"nothing of its own", "env", nil, "", providers.Denied},
		{"half a user", "env", []string{"TLSROLL_MY_APM_USER=u"}, "", providers.Denied},
		{"both", "env", []string{"TLSROLL_MY_APM_USER=u", "TLSROLL_MY_APM_PASSWORD=p", "TLSROLL_MY_APM_TOKEN=tok"}, "", providers.Denied},
		{"a token's file", keyFileOf(t, `{"bearer_token": "tok"}`), nil, "Bearer tok", 0},
		{"a user's file", keyFileOf(t, `{"access_key_id": "u", "access_key_secret": "p"}`), nil, "Basic dTpw", 0},
		{"an empty file", keyFileOf(t, `{}`), nil, "", providers.Denied},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = append(got, r.Header.Get("Authorization"))
				_, _ = w.Write([]byte(`[]`))
			}))
			t.Cleanup(api.Close)
			m, err := source(stdio{env: append(test.env, vendor...)}, &plans.Plan{}, apm(api.URL, test.credentials), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Fetch(t.Context(), 1, 1)
			switch {
			case test.kind == 0 && (err != nil || len(got) != 1 || got[0] != test.want):
				t.Errorf("sent %q, error %v, want %q", got, err, test.want)
			case test.kind != 0 && (providers.KindOf(err) != test.kind || len(got) != 0 || strings.Contains(err.Error(), cloud)):
				t.Errorf("sent %q, error %v, want kind %v and nothing sent", got, err, test.kind)
			}
		})
	}
	// A bearer token is nothing that a cloud could use.
	if keys, err := credentials(stdio{}, keyFileOf(t, `{"bearer_token": "tok"}`), "alicloud"); err != nil {
		t.Fatal(err)
	} else if _, err := keys(t.Context()); providers.KindOf(err) != providers.Denied {
		t.Errorf("error %v, want a denial", err)
	}
	if _, err := source(stdio{}, &plans.Plan{}, apm("http://127.0.0.1/", "chain"), nil); err == nil || !strings.Contains(err.Error(), "this release knows env") {
		t.Errorf("error %v, want one that names the ways", err)
	}
}

func TestASourceElsewhereMakesNoLab(t *testing.T) {
	lab := func(sources ...plans.Source) *plans.Plan {
		cdn := plans.CDN{Endpoint: "http://127.0.0.1:8080", Edges: []string{"127.0.0.1:443"}}
		return &plans.Plan{
			Primary: cdn, Backup: cdn, Sources: sources,
			DNS: plans.DNS{Endpoint: "http://127.0.0.1:8081", Nameservers: []string{"127.0.0.1:53"}},
		}
	}
	for name, test := range map[string]struct {
		source plans.Source
		want   bool
	}{
		"a monitoring API":         {plans.Source{Type: "alicloud"}, true},
		"a file":                   {plans.Source{Type: "csvfile", Path: "rum.csv"}, true},
		"JSON here":                {apm("http://127.0.0.1:9000/{from}?to={to}", ""), true},
		"JSON elsewhere":           {apm("http://192.0.2.1/?to={to}", ""), false},
		"JSON at a name":           {apm("http://apm.example.com/127.0.0.1", ""), false},
		"a Prometheus elsewhere":   {plans.Source{Type: "prometheus", URL: "http://192.0.2.1:9090"}, false},
		"a source without address": {plans.Source{Type: "jsonhttp"}, false},
	} {
		if got := loopback(lab(test.source)); got != test.want {
			t.Errorf("%s: loopback %v, want %v", name, got, test.want)
		}
	}
}
