package plans_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/plans/examples"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file, or rewrites the file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// mustParse parses a plan that has no error.
func mustParse(t testing.TB, source string) *plans.Plan {
	t.Helper()
	p, ps := plans.Parse("plan.yaml", []byte(source))
	if ps.HasErrors() {
		t.Fatalf("the plan is refused:\n%s", ps.Render([]byte(source)))
	}
	return p
}

func example(t testing.TB, name string) string {
	t.Helper()
	source, ok := examples.Source(name)
	if !ok {
		t.Fatalf("no example %s", name)
	}
	return source
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestBadInput(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d bad plans, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			source := readFile(t, file)
			p, ps := plans.Parse(name+".yaml", []byte(source))
			if warns := strings.HasPrefix(name, "warn-"); len(ps) == 0 || ps.HasErrors() == warns || (p == nil) == warns {
				t.Errorf("errors %t, plan %t, %d problems", ps.HasErrors(), p != nil, len(ps))
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".txt", ps.Render([]byte(source)))
		})
	}
}

func TestSecretsAreNeverRepeated(t *testing.T) {
	for _, secret := range []string{"LTAI5tFakeFakeFakeFake01", "aB3xK9pQ2rT7vW4yZ8cD1fG6hJ5k", "hunter2hunter2"} {
		for _, form := range []string{
			"backup: {provider: qiniu, credentials: $}",
			"backup: {provider: qiniu, $: x}",
			"backup: {provider: qiniu, access_key_secret: $}",
			"backup: {provider: qiniu, credentials: $, max_share: 5}",
			"backup: {provider: qiniu, endpoint: 'https://u:$@example.com/'}",
			"backup: {provider: qiniu, endpoint: 'https://example.com/?token=$'}",
			"backup: {provider: qiniu, secret: $",
			"\tsecret: $",
		} {
			if secret == "hunter2hunter2" && strings.Contains(form, "$: x") {
				continue // a key that looks like any word
			}
			source := []byte(strings.Replace("version: tlsroll/v1\n"+form+"\n", "$", secret, 1))
			_, ps := plans.Parse("plan.yaml", source)
			if !ps.HasErrors() {
				t.Errorf("%s is accepted", form)
			}
			if out := ps.Render(source) + ps.Error(); strings.Contains(out, secret) {
				t.Errorf("%s is repeated:\n%s", form, out)
			}
		}
	}
}

func TestExamplesParseCleanly(t *testing.T) {
	var digests strings.Builder
	for _, name := range examples.Names() {
		source := example(t, name)
		p, ps := plans.Parse(name, []byte(source))
		if len(ps) > 0 {
			t.Fatalf("%s has problems:\n%s", name, ps.Render([]byte(source)))
		}
		digests.WriteString(name + " " + plans.Digest(p) + "\n")
	}
	golden(t, "testdata/digests.txt", digests.String())
	golden(t, "testdata/canonical.yaml", string(plans.Encode(mustParse(t, example(t, examples.Names()[0])))))
	if _, ok := examples.Source("none.yaml"); ok {
		t.Error("an example that does not exist is found")
	}
}

func TestEncodeReadsBackEqual(t *testing.T) {
	sources := []string{readFile(t, "testdata/full.yaml")}
	for _, name := range examples.Names() {
		sources = append(sources, example(t, name))
	}
	for _, source := range sources {
		p := mustParse(t, source)
		q := mustParse(t, string(plans.Encode(p)))
		if diff := cmp.Diff(p, q); diff != "" {
			t.Errorf("%s (-first +second):\n%s", p.Name, diff)
		}
	}
}

const small = `version: tlsroll/v1
name: small
domain: cdn.example.com
primary: {provider: alicloud}
backup: {provider: qiniu}
dns: {provider: alicloud, zone: example.com, record: cdn}
change: {tls13: on}
sources:
  rum: {type: prometheus, url: "http://127.0.0.1:9090", queries: {requests: a, errors: b}}
  edge: {type: alicloud}
guardrails:
  - {name: errors, source: rum, signal: error_rate, above: 5%, for: 10m}
  - {name: shares, source: edge, signal: status_share, classes: [5xx], moves: 5pp, for: 5m}
steps:
  - shift: {primary: 0%}
  - tls: change
  - shift: {primary: 30%, bake: 30m}
  - shift: {primary: 10%, bake: 30m}
  - shift: {primary: 30%, bake: 30m}
`

func TestDefaultsAreFilledIn(t *testing.T) {
	want := &plans.Plan{
		Name: "small", Domain: "cdn.example.com",
		Schedule: plans.Schedule{Zone: "UTC", StartDeadline: 15 * time.Minute},
		Primary:  plans.CDN{Provider: "alicloud", Credentials: "env", Region: "cn-hangzhou", MaxShare: 100},
		Backup:   plans.CDN{Provider: "qiniu", Credentials: "env", MaxShare: 100},
		DNS: plans.DNS{
			Provider: "alicloud", Credentials: "env", Zone: "example.com", Record: "cdn", Line: "default",
			TTL: time.Minute, Zero: plans.ZeroDisable, Fence: plans.FenceOff,
		},
		Change: plans.Change{On: plans.TLSSetOf(plans.TLS13)},
		Sources: []plans.Source{
			{
				Name: "rum", Type: "prometheus", URL: "http://127.0.0.1:9090", Settle: time.Minute,
				Labels:  map[string]string{"platform": "platform", "cdn": "cdn"},
				Legs:    map[string]guardrails.Leg{"primary": guardrails.Primary, "backup": guardrails.Backup},
				Queries: map[string]string{"requests": "a", "errors": "b"},
			},
			{Name: "edge", Type: "alicloud", Settle: 8 * time.Minute},
		},
		Guardrails: []guardrails.Rule{
			{Name: "errors", Source: "rum", Signal: guardrails.ErrorRate, Above: 5, For: 10 * time.Minute, Within: 12 * time.Minute, Mode: guardrails.Act},
			{Name: "shares", Source: "edge", Signal: guardrails.StatusShare, Classes: []guardrails.Class{guardrails.Class5xx}, Moves: 5, For: 5 * time.Minute, Within: 7 * time.Minute, Mode: guardrails.Act},
		},
		HoldLimit: time.Hour, OnDrift: plans.ReactHold, OnBlind: plans.ReactRollback, CommonCauseLimit: 20 * time.Minute, Rehearse: true,
		Steps: []plans.Step{
			plans.Shift{},
			plans.TLS{},
			plans.Shift{Primary: 30, Bake: 30 * time.Minute},
			plans.Shift{Primary: 10, Bake: 30 * time.Minute},
			plans.Shift{Primary: 30, Bake: 30 * time.Minute},
		},
		Rollback: []plans.Step{
			plans.Together{Steps: []plans.Step{plans.Shift{}, plans.TLS{Restore: true}}},
			plans.Verify{},
			plans.Shift{Primary: 10},
			plans.Shift{Primary: 30},
		},
	}
	if diff := cmp.Diff(want, mustParse(t, small)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEveryKeyReachesThePlan(t *testing.T) {
	golden(t, "testdata/full.canonical.yaml", string(plans.Encode(mustParse(t, readFile(t, "testdata/full.yaml")))))
}

func TestDigestFollowsTheMeaning(t *testing.T) {
	digest := plans.Digest(mustParse(t, small))
	if !strings.HasPrefix(digest, "sha256:") || len(digest) != len("sha256:")+64 {
		t.Fatalf("digest %q", digest)
	}
	same := map[string]string{
		"a comment":            "# why\n" + small,
		"quotes":               strings.Replace(small, "name: small", `name: "small"`, 1),
		"a default written":    small + "hold_limit: 1h\n",
		"another unit":         strings.ReplaceAll(small, "30m", "1800s"),
		"block style":          strings.Replace(small, "backup: {provider: qiniu}", "backup:\n    provider: qiniu", 1),
		"another order":        strings.Replace(small, "primary: {provider: alicloud}\n", "", 1) + "primary: {provider: alicloud}\n",
		"another word for on":  strings.Replace(small, "tls13: on", "tls13: true", 1),
		"the way back written": small + "rollback: [{together: [{shift: {primary: 0%}}, {tls: restore}]}, {verify: tls}, {shift: {primary: 10%}}, {shift: {primary: 30%}}]\n",
		"line ends of Windows": strings.ReplaceAll(small, "\n", "\r\n"),
		"a byte order mark":    "\ufeff" + small,
	}
	for name, source := range same {
		if got := plans.Digest(mustParse(t, source)); got != digest {
			t.Errorf("%s changes the digest", name)
		}
	}
	canonical := string(plans.Encode(mustParse(t, small)))
	for line := range strings.Lines(canonical) {
		other := meaning(line)
		if other == line {
			continue
		}
		p, ps := plans.Parse("plan.yaml", []byte(strings.Replace(canonical, line, other, 1)))
		if p != nil && plans.Digest(p) == digest {
			t.Errorf("%q does not change the digest", other)
		} else if p == nil && len(ps) == 0 {
			t.Errorf("%q is refused without a reason", other)
		}
	}
}

// meaning changes the first value of a line to another one of its kind.
func meaning(line string) string {
	for _, pair := range [][2]string{{"100%", "99%"}, {"1h", "2h"}, {"15m", "16m"}, {"30m", "31m"}, {"10m", "9m"}, {"5m", "4m"}, {"1m", "3m"}, {"8m", "9m"}, {"small", "other"}, {"hold", "rollback"}, {": on", ": off"}, {"disable", "weight"}, {"off", "remark"}, {"\"env\"", "\"chain\""}, {"UTC", "Asia/Shanghai"}, {"default", "telecom"}, {"hangzhou", "beijing"}, {"9090", "9091"}, {"\"a\"", "\"c\""}, {"\"b\"", "\"c\""}} {
		if strings.Contains(line, pair[0]) {
			return strings.Replace(line, pair[0], pair[1], 1)
		}
	}
	return line
}

func TestRefusesWhatIsTooLarge(t *testing.T) {
	for name, source := range map[string]string{
		"a megabyte and more": small + strings.Repeat("#", 1<<20),
		"ten thousand levels": strings.Repeat("[", 20000),
		"a long query":        strings.Replace(small, "requests: a", "requests: "+strings.Repeat("a", 17<<10), 1),
		"a long name":         strings.Replace(small, "name: small", "name: "+strings.Repeat("a", 64), 1),
	} {
		if p, ps := plans.Parse("plan.yaml", []byte(source)); p != nil || !ps.HasErrors() {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestManyProblemsAreCut(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		b.WriteString("x" + strings.Repeat("y", i%7) + strings.Repeat("z", i/7) + ": 1\n")
	}
	_, ps := plans.Parse("plan.yaml", []byte(b.String()))
	last := ps[len(ps)-1]
	if len(ps) != 201 || last.Severity != plans.Error || !strings.HasSuffix(last.Message, "more problems from here on are not shown") {
		t.Errorf("%d problems, the last is %v", len(ps), last)
	}
}

func TestDomainMayBeTheZone(t *testing.T) {
	apex := strings.NewReplacer("domain: cdn.example.com", "domain: example.com", "record: cdn", `record: "@"`).Replace(small)
	if p := mustParse(t, apex); p.DNS.Record != "@" {
		t.Errorf("the record is %q", p.DNS.Record)
	}
	if p, _ := plans.Parse("plan.yaml", []byte(strings.Replace(apex, "domain: example.com", "domain: cdn.example.com", 1))); p != nil {
		t.Error("the zone itself is taken for the domain")
	}
}
