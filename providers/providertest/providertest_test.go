package providertest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tlsroll/tlsroll/providers/providertest"
)

// defectVariable hands a defect to this program when it runs itself: a suite that finds one fails its test for good.
const defectVariable = "PROVIDERTEST_DEFECT"

func TestAnHonestAdapterPasses(t *testing.T) {
	runSuites(t, os.Getenv(defectVariable))
}

func TestEachDefectIsFound(t *testing.T) {
	for defect, want := range map[string]string{
		"repeats calls":                  "requests, want 1",
		"takes a lost write for nothing": "kind transient, want one of [unknown]",
		"takes nothing for success":      "error is <nil>",
		"starts after the end":           "requests were made after the end",
		"forgets why it ended":           "does not wrap context.Canceled",
		"blames ctx for its own timeout": "the error blames ctx",
		"shows a secret":                 "an error shows a secret",
		"hides a secret in the cause":    "an error shows a secret",
		"returns plain errors":           "want *providers.Error",
		"gives everything one kind":      "kind invalid, want one of [denied]",
		"does not name the permission":   "the missing permission is not named",
		"writes while it reads":          "reads wrote",
		"tells another state":            "(-want +got)",
		"describes another call":         "(-described +arrived)",
		"writes differences":             "(-once +twice)",
		"returns what nobody asked for":  "rows (-want +got)",
	} {
		t.Run(defect, func(t *testing.T) {
			suite := "DNS"
			if defect == "returns what nobody asked for" {
				suite = "metrics"
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAnHonestAdapterPasses$/^"+suite+"$")
			cmd.Env = append(os.Environ(), defectVariable+"="+defect)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatal("the suites passed")
			}
			if !strings.Contains(string(out), want) {
				t.Errorf("the suites failed, but not with %q:\n%s", want, out)
			}
		})
	}
}

func TestFaultsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range append(providertest.Faults(), providertest.Healthy, providertest.Redirected+1, 0) {
		if name := f.String(); name == "" || seen[name] {
			t.Errorf("fault %d is named %q", int(f), name)
		} else {
			seen[name] = true
		}
	}
}
