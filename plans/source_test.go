package plans_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// withSource is the small plan with another source in the place of rum.
func withSource(source string) string {
	return strings.Replace(small, `{type: prometheus, url: "http://127.0.0.1:9090", queries: {requests: a, errors: b}}`, source, 1)
}

func TestSourcesAreFilledIn(t *testing.T) {
	usual := map[string]guardrails.Leg{"primary": guardrails.Primary, "backup": guardrails.Backup}
	fields := map[string]string{"minute": "ts", "requests": "n", "errors": "e"}
	for source, want := range map[string]plans.Source{
		"{type: csvfile, path: minutes/rum.csv}": {Path: "minutes/rum.csv", Legs: usual},
		"{type: csvfile, path: /a, settle: 5m, legs: {primary: [a, b]}}": {
			Path: "/a", Settle: 5 * time.Minute, Legs: map[string]guardrails.Leg{"a": guardrails.Primary, "b": guardrails.Primary},
		},
		`{type: jsonhttp, url: "http://127.0.0.1/{from}", fields: {minute: ts, requests: n, errors: e}}`: {
			URL: "http://127.0.0.1/{from}", JSON: &plans.JSON{Method: "GET", TimeFormat: plans.UnixSeconds, Fields: fields, MinuteFormat: plans.UnixSeconds},
		},
		`{type: jsonhttp, url: "http://127.0.0.1/", body: "{from}", time_format: rfc3339, minute_format: unix_ms, fields: {minute: ts, cdn: a.b, requests: n, errors: e}}`: {
			URL: "http://127.0.0.1/", Legs: usual, JSON: &plans.JSON{
				Method: "POST", Body: "{from}", TimeFormat: plans.RFC3339, MinuteFormat: plans.UnixMillis,
				Fields: map[string]string{"minute": "ts", "cdn": "a.b", "requests": "n", "errors": "e"},
			},
		},
	} {
		want.Name = "rum"
		want.Type, _, _ = strings.Cut(strings.TrimPrefix(source, "{type: "), ",")
		if want.Settle == 0 {
			want.Settle = time.Minute
		}
		p := mustParse(t, withSource(source))
		if diff := cmp.Diff(want, p.Sources[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
		if diff := cmp.Diff(p, mustParse(t, string(plans.Encode(p)))); diff != "" {
			t.Errorf("%s written and read again (-first +second):\n%s", source, diff)
		}
	}
}

func TestTheDigestFollowsEveryKeyOfASource(t *testing.T) {
	const source = `{type: jsonhttp, url: "http://127.0.0.1/{from}", body: "{to}", rows: a.b, partial: c, time_format: unix, minute_format: unix, fields: {minute: ts, cdn: v, requests: n, errors: e}, legs: {primary: p, backup: b}}`
	seen := map[string]string{plans.Digest(mustParse(t, withSource(source))): "nothing"}
	for _, change := range [][2]string{
		{"/{from}", "/{to}"},
		{`"{to}"`, `"{from}"`},
		{"a.b", "a.c"},
		{"partial: c", "partial: d"},
		{"time_format: unix", "time_format: unix_ms"},
		{"minute_format: unix", "minute_format: rfc3339"},
		{"minute: ts", "minute: time"},
		{"errors: e", "errors: f"},
		{"primary: p", "primary: q"},
		{"cdn: v", "cdn: w"},
	} {
		digest := plans.Digest(mustParse(t, withSource(strings.Replace(source, change[0], change[1], 1))))
		if other, twice := seen[digest]; twice {
			t.Errorf("%s has the digest of %s", change[1], other)
		}
		seen[digest] = change[1]
	}
}

func TestPaths(t *testing.T) {
	for path, want := range map[string]bool{
		"a": true, "a.b.c": true, "0": true, "data.0.n": true, "a b": true, `\@timestamp`: true, `http\.status`: true, `a\\b`: true,
		"用时.值": true, "a_b-c:d": true, `\#`: true,
		"": false, ".": false, "a.": false, ".a": false, "a..b": false, "@this": false, "a.#": false, "a.*": false, "a|b": false, "a?": false,
		"{a,b}": false, "[a]": false, "!x": false, `a\`: false, `\n`: false, `a\ b`: false, "a\tb": false, " a": false, "$.a": false,
		`#(a=="b").c`: false, "a.@reverse": false, `\用`: false, strings.Repeat("a", 1025): false,
	} {
		if got := plans.ValidPath(path); got != want {
			t.Errorf("%q: valid %v, want %v", path, got, want)
		}
	}
}

func TestTheReadmesSourceIsOne(t *testing.T) {
	_, block, _ := strings.Cut(readFile(t, "README.md"), "```yaml\nsources:\n")
	block, _, ok := strings.Cut(block, "```")
	p := mustParse(t, strings.Replace(small, "  rum: ", block+"  rum: ", 1))
	if s := p.Sources[0]; !ok || s.Name != "apm" || s.JSON.Fields["requests"] != "count" || s.Legs["ali"] != guardrails.Primary {
		t.Errorf("source %+v of\n%s", s, block)
	}
}
