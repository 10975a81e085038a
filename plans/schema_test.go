package plans_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tlsroll/tlsroll/plans"
)

func TestSchemaIsTheCommittedOne(t *testing.T) {
	golden(t, "plan.schema.json", string(plans.Schema()))
}

// node is as much of a schema as the tests need.
type node struct {
	Schema               string          `json:"$schema"`
	Description          string          `json:"description"`
	Properties           map[string]node `json:"properties"`
	AdditionalProperties json.RawMessage `json:"additionalProperties"`
	Items                *node           `json:"items"`
	OneOf                []node          `json:"oneOf"`
	Pattern              string          `json:"pattern"`
	Required             []string        `json:"required"`
}

// keys lists every dotted path of the schema with its description.
func (n node) keys(prefix string, into map[string]string) {
	for name, p := range n.Properties {
		into[prefix+name] = p.Description
		p.keys(prefix+name+".", into)
	}
	if n.Items != nil {
		n.Items.keys(prefix, into)
	}
	for _, o := range n.OneOf {
		o.keys(prefix, into)
	}
	var more node
	if json.Unmarshal(n.AdditionalProperties, &more) == nil {
		more.keys(prefix, into)
	}
}

func schemaKeys(t *testing.T) map[string]string {
	t.Helper()
	var root node
	if err := json.Unmarshal(plans.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	if root.Schema != "http://json-schema.org/draft-07/schema#" {
		t.Errorf("the schema is %s", root.Schema)
	}
	keys := map[string]string{}
	root.keys("", keys)
	return keys
}

func TestSchemaExplainAndReadmeKnowTheSameKeys(t *testing.T) {
	readme := readFile(t, "README.md")
	full := readFile(t, "testdata/full.yaml") + weekly
	keys := schemaKeys(t)
	if len(keys) < 100 {
		t.Fatalf("only %d keys", len(keys))
	}
	for _, path := range slices.Sorted(maps.Keys(keys)) {
		text, ok := plans.Explain(path)
		meaning, _, _ := strings.Cut(keys[path], " Default: ")
		if !ok || meaning == "" || !strings.HasPrefix(text, path+": "+meaning) {
			t.Errorf("%s: the schema says %q, Explain %q", path, keys[path], text)
		}
		name := path[strings.LastIndexByte(path, '.')+1:]
		if !strings.Contains(readme, "`"+name+"`") {
			t.Errorf("README.md does not name %s", path)
		}
		if !regexp.MustCompile(`(?m)[\s{]` + name + `:`).MatchString("\n" + full) {
			t.Errorf("testdata/full.yaml does not have %s", path)
		}
	}
}

func TestExplainTakesPathsAsPeopleWriteThem(t *testing.T) {
	for path, want := range map[string]string{
		"dns.zero":                     "disable, weight, floor",
		"steps.shift.bake":             "default: 0s",
		"steps[3].shift.bake":          "default: 0s",
		"sources.rum.queries.tls13":    "negotiated TLS 1.3",
		"sources.settle":               "default: 1m, or 8m for alicloud",
		"sources.rows":                 "written as: data.items",
		"sources.fields.minute":        "required",
		"sources.path":                 "relative to the directory in which tlsroll runs",
		"guardrails.for":               "required",
		"schedule.advance_until":       "in quotes",
		"rollback.together.shift":      "keys: primary",
		"sources":                      "keys: type, url",
		"steps.together.tls":           "change, restore",
		"rollback.verify":              "one of: tls",
		"expect.tls13_share":           "above 80%",
		"guardrails[0].falls_below":    "60% of expected",
		"primary.analytics_endpoint":   "default: endpoint",
		"steps.observe.until":          "in quotes",
		"sources.requests.queries.tls": "TLS handshakes",
	} {
		if text, ok := plans.Explain(path); !ok || !strings.Contains(text, want) {
			t.Errorf("%s: %t %q", path, ok, text)
		}
	}
	for _, path := range []string{"", "nothing", "dns.nothing", "dns.zero.more", "sources.a.b.settle", "steps.verify"} {
		if text, ok := plans.Explain(path); ok {
			t.Errorf("%q is explained: %s", path, text)
		}
	}
}

// Every pattern of the schema is one that Go and ECMAScript read alike, but for the look-ahead of durations.
func TestSchemaPatternsCompile(t *testing.T) {
	var walk func(path string, v any)
	seen := 0
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if p, ok := v["pattern"].(string); ok {
				seen++
				if _, err := regexp.Compile(strings.Replace(p, "(?=.)", "", 1)); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
			for k, inner := range v {
				walk(path+"/"+k, inner)
			}
		case []any:
			for i, inner := range v {
				walk(fmt.Sprintf("%s/%d", path, i), inner)
			}
		}
	}
	var root any
	if err := json.Unmarshal(plans.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	walk("", root)
	if seen == 0 {
		t.Error("no pattern was seen")
	}
}
