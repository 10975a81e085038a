package plans_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/plans"
)

func TestValuesAtTheirLimits(t *testing.T) {
	long := strings.Repeat("a", 63)
	for _, test := range []struct {
		old, form    string
		good, refuse []string
	}{
		{"above: 5%", "above: $", []string{"0.001%", "99.9%", "5 %", "+5%", "5.50%"}, []string{"0%", "100%", "5.%", ".5%", "-5%", "5e1%", "0x5%", "5 5%", "--5%", "%", "+-5%", "5", "5pp", "NaN%", "Inf%", "1_0%"}},
		{"for: 10m", "for: $", []string{"1m", "180m", "3h", "60s", "1h1m60s", "010m"}, []string{"0m", "30s", "181m", "1m30s", "1.5m", "-1m", "m", "10", "10min", "1m1m", "10 m", "1d", "+1m", "99999999999h"}},
		{"for: 10m", "for: 10m, within: $", []string{"10m", "180m"}, []string{"9m", "181m"}},
		{"for: 10m", "for: 10m, min_requests: $", []string{"1", "1000000000"}, []string{"0", "-1", "1000000001", "1.5", "01", "many"}},
		{"moves: 5pp", "moves: $", []string{"0.1pp", "99.9pp", "5 pp"}, []string{"0pp", "100pp", "-5pp", "5", "5%", "5p", "pp"}},
		{"primary: 30%", "primary: $", []string{"0.4%", "100%"}, []string{"100.1%", "-1%", "above 3%"}},
		{"name: small", "name: $", []string{"a", "'9'", "a-b", long}, []string{"-a", "a-", "A", "a_b", long + "a", "ä"}},
		{"domain: cdn.example.com", "domain: $", []string{"cdn.example.com"}, []string{"example.org", "com", "cdn..example.com", strings.Repeat("a.", 130) + "example.com", "cdn.example.com."}},
		{"provider: qiniu", "provider: qiniu, edges: $", []string{"127.0.0.1:1", "edge.example.com:65535", `"[::1]:443"`, "[127.0.0.1:1, 127.0.0.2:2]", "Edge.example.com:1"}, []string{"127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:01", `"[:]:443"`, `"::1:443"`, `"[::1]"`, "a b:1", "[]"}},
		{"provider: qiniu", "provider: qiniu, endpoint: '$'", []string{"https://example.com", "http://127.0.0.1:80/a?b=c", "https://[::1]:443/", "https://EXAMPLE.com"}, []string{"", "example.com", "ftp://example.com", "https://", "https:///a", "https://example.com:0/", "https://example.com/#a", "https://example.com/ä", "https://a@example.com/"}},
		{"provider: qiniu", "provider: qiniu, credentials: '$'", []string{"env", "chain", "file:/etc/keys/alicloud-production-2021.json", "exec:a b", "systemd:x", "file:/a/550e8400-e29b-41d4-a716-446655440000"}, []string{"", "environment", "file:", "exec: ", "ENV", "file:/a/aB3xK9pQ2rT7vW4yZ8cD"}},
		{"tls13: on", "tls13: $", []string{"on", "ON", "yes", "true", "'on'", "\"yes\""}, []string{"1", "enabled", "''", "[on]"}},
		{"tls13: on", "tls13: on, tls12: off, tls11: off, tls10: $", []string{"off", "on"}, []string{"1.0"}},
		{"  - tls: change", "  - tls: change\n  - call: {url: 'https://example.com', expect: $}", []string{"100", "599", "204"}, []string{"99", "600", "0200", "2xx"}},
		{"  - tls: change", "  - tls: change\n  - approve: {by: $, ttl: 1s}", []string{"lead", "'no'", "变更"}, []string{"no", "1.30", "''", "' a'", "'a '", "[a]", strings.Repeat("a", 1025), "\"a\\tb\"", "\"\\u202e\""}},
		{"name: small", "name: small\nschedule: {timezone: Asia/Shanghai, at: '$'}", []string{"2000-01-01T00:00:00", "2021-06-25 02:00"}, []string{"1999-12-31T23:59:59", "2021-02-29T02:00:00", "2021-06-25T24:00:00", "2021-06-25T02:00:00.5", "02:00", "2021-06-25"}},
		{"name: small", "name: small\nschedule: {timezone: UTC, advance_until: '$'}", []string{"00:00", "23:59"}, []string{"24:00", "4:00", "04:60", "04:00:00", "0400", "noon"}},
		{"name: small", "name: small\nschedule: {timezone: '$'}", []string{"UTC", "Europe/Berlin"}, []string{"Local", "", "../etc/passwd", "Mars/Base"}},
		{"queries: {requests: a", "labels: {platform: $}, queries: {requests: a", []string{"_os", "os9", strings.Repeat("a", 128)}, []string{"9os", "a-b", "''", strings.Repeat("a", 129)}},
	} {
		if !strings.Contains(small, test.old) {
			t.Fatalf("the plan has no %q", test.old)
		}
		parse := func(v string) plans.Problems {
			_, ps := plans.Parse("plan.yaml", []byte(strings.Replace(small, test.old, strings.Replace(test.form, "$", v, 1), 1)))
			return ps
		}
		for _, v := range test.good {
			if ps := parse(v); ps.HasErrors() {
				t.Errorf("%s with %s is refused: %v", test.form, v, ps)
			}
		}
		for _, v := range test.refuse {
			if ps := parse(v); !ps.HasErrors() {
				t.Errorf("%s with %s is accepted", test.form, v)
			}
		}
	}
}

func TestOneSlipIsOneProblem(t *testing.T) {
	for name, change := range map[string][2]string{
		"a query with a wrong key":    {"errors: b", "errrors: b"},
		"a source without a type":     {"type: prometheus, ", ""},
		"a signal misspelt":           {"signal: error_rate", "signal: error_rat"},
		"a rule without a name":       {"name: errors, ", ""},
		"a window without a unit":     {"for: 10m", "for: 10"},
		"a limit without a unit":      {"above: 5%", "above: 5"},
		"a step misspelt":             {"tls: change", "tsl: change"},
		"a step of two keys":          {"- tls: change", "- tls: change\n    observe: {for: 1h}"},
		"a step without a value":      {"- tls: change", "- tls:"},
		"a zone misspelt":             {"zone: example.com", "zone: example..com"},
		"a shift without a share":     {"{primary: 0%}", "{}"},
		"a key without a value":       {"name: small", "name:"},
		"a version that is no switch": {"tls13: on", "tls13: 1.3"},
	} {
		source := strings.Replace(small, change[0], change[1], 1)
		if _, ps := plans.Parse("plan.yaml", []byte(source)); len(ps) != 1 {
			t.Errorf("%s gives %d problems:\n%v", name, len(ps), ps)
		}
	}
}

func TestWarningsComeExactlyWhereTheyBelong(t *testing.T) {
	for _, test := range []struct {
		name, old, new string
		want           []string
	}{
		{"a sound plan", "", "", nil},
		{"shares that rise before the change without a drain", "  - shift: {primary: 0%}\n  - tls: change", "  - shift: {primary: 5%}\n  - shift: {primary: 30%}\n  - tls: change\n  - bake: 15m", nil},
		{"a bake of exactly the window and settling", "- shift: {primary: 10%, bake: 30m}", "- shift: {primary: 10%, bake: 15m}", nil},
		{"a bake a second short", "- shift: {primary: 10%, bake: 30m}", "- shift: {primary: 10%, bake: 14m59s}", []string{"the plan waits 14m59s here, and the rule shares needs 15m to see a breach"}},
		{"a bake in two parts", "- shift: {primary: 10%, bake: 30m}", "- shift: {primary: 10%, bake: 5m}\n  - bake: 5m\n  - observe: {for: 5m}", nil},
		{"an observation until a clock time without a zone", "- shift: {primary: 10%, bake: 30m}", "- shift: {primary: 10%}\n  - observe: {until: '19:00'}", []string{"this is a time of day, and schedule.timezone does not say where"}},
		{"a TTL as long as the shortest step", "record: cdn", "record: cdn, ttl: 30m", []string{"the way back takes 1h54m at least, longer than hold_limit (1h)"}},
		{"a TTL longer than a bake of its own", "- tls: change", "- bake: 1m\n  - tls: change", nil},
		{"a TTL longer than it", "- tls: change", "- bake: 59s\n  - tls: change", []string{"the TTL of 1m is longer than the shortest step, 59s"}},
		{"drained twice", "  - tls: change", "  - shift: {primary: 0%}\n  - tls: change", nil},
		{"without at no clock can be compared", "name: small", "name: small\nschedule: {timezone: UTC, advance_until: '00:30'}", nil},
		{"one rule that acts is enough", "for: 10m}", "for: 10m, mode: shadow}", nil},
		{"an expectation uses a source", "  - {name: shares, source: edge, signal: status_share, classes: [5xx], moves: 5pp, for: 5m}\n", "expect: {requests: 0%}\n", nil},
	} {
		source := small
		if test.old != "" {
			source = strings.Replace(small, test.old, test.new, 1)
		}
		p, ps := plans.Parse("plan.yaml", []byte(source))
		var got []string
		for _, problem := range ps {
			got = append(got, problem.Message)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || (p == nil) != ps.HasErrors() {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	for wrote, meant := range map[string]string{
		"guardrials": "guardrails", "analitics_endpont": "", "hold-limit": "hold_limit", "on_drfit": "on_drift", "Rollback": "rollback",
		"rehears": "rehearse", "scheddule": "schedule", "shedul": "schedule", "xyz": "", "nam": "name", "nm": "",
	} {
		_, ps := plans.Parse("plan.yaml", []byte(small+wrote+": 1\n"))
		want := "the keys here are"
		if meant != "" {
			want = "did you mean " + meant + "?"
		}
		if len(ps) != 1 || !strings.HasPrefix(ps[0].Hint, want) {
			t.Errorf("%s: %v", wrote, ps.Render(nil))
		}
	}
}
