// Package mutant is support for tests: it runs a package's tests with one place of one source file changed. A law that no change of the
// code can break proves nothing.
package mutant

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Mutation is a place in a file, and what stands there instead.
type Mutation struct {
	Name string
	File string // from the folder of the test
	Old  string // stands in the file once
	New  string
	Tail string // stands at the end of the file, for what New needs
	By   string // a pattern of the tests of which one has to notice; "" for any
}

// Noticed fails unless go test, with args, fails in one of the tests of the folder once the mutation is made. It returns what go test
// printed. failure is what a failing test prints that got as far as the laws.
func Noticed(t *testing.T, m Mutation, failure string, args ...string) string {
	t.Helper()
	source, err := os.ReadFile(m.File)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.Old); n != 1 {
		t.Fatalf("%s holds the text of this mutation %d times; name the place anew", m.File, n)
	}
	overlay := write(t, m.File, strings.Replace(string(source), m.Old, m.New, 1)+m.Tail)
	args = append([]string{"test", "-count=1", "-overlay", overlay}, args...)
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput() //nolint:gosec // a test names its own arguments
	switch {
	case err == nil:
		t.Error("no law noticed")
	case !strings.Contains(string(out), failure):
		t.Errorf("the mutant did not get as far as the laws:\n%s", out)
	}
	return string(out)
}

// write puts the changed file, and the list that go test replaces files by, into a temporary folder, and returns the list's path.
func write(t *testing.T, file, text string) string {
	t.Helper()
	dir := t.TempDir()
	changed, list := filepath.Join(dir, filepath.Base(file)), filepath.Join(dir, "overlay.json")
	original, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{changed: []byte(text), list: data} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return list
}
