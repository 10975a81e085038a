package plans_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/plans/examples"
)

func FuzzParse(f *testing.F) {
	for _, name := range examples.Names() {
		f.Add(example(f, name))
	}
	f.Add(readFile(f, "testdata/full.yaml"))
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		f.Add(readFile(f, file))
	}
	f.Fuzz(func(t *testing.T, source string) { holdsLaws(t, source) })
}

// FuzzValue puts any text in the place of one value of a plan that has every key: most of these plans differ in that value only, so
// that accepted ones are common.
func FuzzValue(f *testing.F) {
	canonical := string(plans.Encode(mustParse(f, readFile(f, "testdata/full.yaml"))))
	var values []string // every word that stands behind a colon
	for field := range strings.FieldsFuncSeq(canonical, func(r rune) bool { return strings.ContainsRune("\n{}[],", r) }) {
		if _, v, ok := strings.Cut(field, ": "); ok && v != "" {
			values = append(values, ": "+v)
		}
	}
	for i, v := range values {
		f.Add(uint8(i), strings.TrimPrefix(v, ": "))
		f.Add(uint8(i), values[(i*7+3)%len(values)][2:])
	}
	for j, v := range []string{"0.1%", "-0%", "1e3%", "007", "+5%", "\"\\u00a0\"", "\"\\U0001F600\"", "10m0s", "1h0m", "~", "|-\n  a\n  b", "100.000%", "2021-06-25 02:00", "'a''b'"} {
		for i := j % 5; i < len(values); i += 5 {
			f.Add(uint8(i), v)
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, value string) {
		old := values[int(i)%len(values)]
		holdsLaws(t, strings.Replace(canonical, old, ": "+value, 1))
	})
}

// holdsLaws checks what Parse owes for any source: a plan exactly when there is no error, and a canonical form that reads back equal.
func holdsLaws(t *testing.T, source string) {
	t.Helper()
	p, ps := plans.Parse("plan.yaml", []byte(source))
	ps.Render([]byte(source))
	if (p == nil) != ps.HasErrors() {
		t.Fatalf("a plan %t and errors %t", p != nil, ps.HasErrors())
	}
	if p == nil {
		return
	}
	canonical := plans.Encode(p)
	again, qs := plans.Parse("plan.yaml", canonical)
	if again == nil {
		t.Fatalf("the canonical form is refused:\n%s", qs.Render(canonical))
	}
	if diff := cmp.Diff(p, again); diff != "" {
		t.Fatalf("(-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(string(canonical), string(plans.Encode(again))); diff != "" {
		t.Fatalf("the canonical form is not its own (-first +second):\n%s", diff)
	}
}
