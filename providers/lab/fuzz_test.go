package lab_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/providers/lab"
)

// FuzzFunctions holds the decoder of the Functions parameter to its law: what is accepted reads back, and setting what was read back
// changes nothing.
func FuzzFunctions(f *testing.F) {
	f.Add(`[{"functionName":"https_tls_version","functionArgs":[{"argName":"tls13","argValue":"on"},{"argName":"x","argValue":"y"}]}]`)
	f.Add(`[{"functionName":"https_tls_version","configId":222728944812032,"functionArgs":[]}]`)
	f.Add(`[{"functionName":"https_tls_version","configId":"7"}]`)
	f.Add(`[{}]`)
	l, err := lab.Start(f.Context(), lab.Options{Plan: plan})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(l.Close)
	f.Fuzz(func(t *testing.T, functions string) {
		set := func(s string) answer {
			return call(t, l, params{"Action": "BatchSetCdnDomainConfig", "DomainNames": "cdn.example.com", "Functions": s})
		}
		read := func() any {
			a := call(t, l, params{"Action": "DescribeCdnDomainConfigs", "DomainName": "cdn.example.com", "FunctionNames": "https_tls_version"})
			return at(a.body, "DomainConfigs", "DomainConfig", 0, "FunctionArgs", "FunctionArg")
		}
		before := read()
		if a := set(functions); a.status != 200 {
			if after := read(); !cmp.Equal(before, after) {
				t.Fatalf("a refused set (%s) changed %v to %v", a.raw, before, after)
			}
			return
		}
		want := read()
		var args []map[string]any
		for i := range length(want) {
			args = append(args, map[string]any{"argName": at(want, i, "ArgName"), "argValue": at(want, i, "ArgValue")})
		}
		again, err := json.Marshal([]any{map[string]any{"functionName": "https_tls_version", "functionArgs": args}})
		if err != nil {
			t.Fatal(err)
		}
		if a := set(string(again)); a.status != 200 {
			t.Fatalf("what was read back is refused: %s", a.raw)
		}
		if diff := cmp.Diff(want, read()); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	})
}

// FuzzPlan: a lab that starts from a plan starts from the plan that it hands out, with the same name served.
func FuzzPlan(f *testing.F) {
	f.Add(plan)
	f.Add("domain: a.example.com\ndns: {zone: example.com, record: a}\nprimary: 7\nsources: {x: {type: prometheus}}\n")
	f.Fuzz(func(t *testing.T, source string) {
		l, err := lab.Start(t.Context(), lab.Options{Plan: source})
		if err != nil {
			return
		}
		l.Close()
		again, err := lab.Start(t.Context(), lab.Options{Plan: l.PlanSource()})
		if err != nil {
			t.Fatalf("the plan handed out is refused: %v\n%s", err, l.PlanSource())
		}
		again.Close()
		if e := again.Endpoints(); !strings.Contains(again.PlanSource(), e.CA) {
			t.Errorf("the plan handed out lacks the CA:\n%s", again.PlanSource())
		}
	})
}
