package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
)

func simulate(t *testing.T, args ...string) (code int, out, talk string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), append([]string{"simulate", "../../plans/examples/tls13-canary.yaml"}, args...), stdio{in: strings.NewReader(""), out: &o, err: &e})
	return code, o.String(), e.String()
}

func TestSimulatePrintsTheSameTwice(t *testing.T) {
	for _, format := range []string{"table", "json"} {
		code, first, talk := simulate(t, "--nights", "15", "--seed", "3", "-o", format)
		_, again, _ := simulate(t, "--nights", "15", "--seed", "3", "-o", format)
		if code != exitOK || talk != "" || first != again {
			t.Errorf("%s: exit %d, said %q, the same twice: %v\n%s", format, code, talk, first == again, first)
		}
	}
}

func TestSimulateForMachinesNamesItsSchemaFirst(t *testing.T) {
	code, out, talk := simulate(t, "--nights", "5", "-o", "json")
	var doc view.SimulateDoc
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK {
		t.Fatalf("exit %d, %v, said %q", code, err, talk)
	}
	if first, _, _ := strings.Cut(strings.TrimLeft(out, "{ \n"), ","); first != `"schema": "tlsroll/simulate/v1"` && first != `"schema":"tlsroll/simulate/v1"` {
		t.Errorf("the first key is %s", first)
	}
	ended := 0
	for _, e := range doc.Ends {
		ended += e.Nights
	}
	if doc.Nights != 5 || ended != 5 || doc.Broken == nil || doc.Records < 5*10 {
		t.Errorf("5 nights: %+v", doc.SimulateCounts)
	}
}

func TestSimulateOneNightPrintsItsEvents(t *testing.T) {
	code, out, talk := simulate(t, "--seed", "3", "--night", "2")
	for _, want := range []string{" 1 started", "minutes_arrived rum", "1 random nights"} {
		if !strings.Contains(out, want) {
			t.Errorf("exit %d, %q is missing in\n%s%s", code, want, out, talk)
		}
	}
}

func TestSimulateRefusesWhatItCannotPlay(t *testing.T) {
	if code, _, talk := simulate(t, "--nights", "0"); code != exitUsage || !strings.Contains(talk, "--nights 0") {
		t.Errorf("exit %d: %s", code, talk)
	}
}
