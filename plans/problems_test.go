package plans_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/plans"
)

func TestRenderPutsTheCaretUnderTheColumn(t *testing.T) {
	long := strings.Repeat("a", 300) + "!" + strings.Repeat("b", 300)
	for _, test := range []struct {
		name, line string
		col        int
		want       string
	}{
		{"plain", "abc", 3, "    1 | abc\n      |   ^\n"},
		{"first", "abc", 1, "    1 | abc\n      | ^\n"},
		{"behind the end", "abc", 9, "    1 | abc\n      |    ^\n"},
		{"tabs stay tabs", "a\tb\tc", 5, "    1 | a\tb\tc\n      |  \t \t^\n"},
		{"wide characters take two cells", "域名: x", 5, "    1 | 域名: x\n      |       ^\n"},
		{"fullwidth and Hangul", "Ａ한x", 3, "    1 | Ａ한x\n      |     ^\n"},
		{"a combining mark takes none", "e\u0301x", 3, "    1 | e\u0301x\n      |  ^\n"},
		{"an ideograph beyond the first plane", "\U00020000x", 2, "    1 | \U00020000x\n      |   ^\n"},
		{"no column, no caret", "abc", 0, "    1 | abc\n"},
		{"control characters do not reach the terminal", "a\x1b[31mb", 1, "    1 | a\ufffd[31mb\n      | ^\n"},
		{"a long line is cut around the column", long, 301, "    1 | …" + strings.Repeat("a", 80) + "!" + strings.Repeat("b", 79) + "…\n      | " + strings.Repeat(" ", 81) + "^\n"},
	} {
		ps := plans.Problems{{File: "f", Line: 1, Col: test.col, Severity: plans.Error, Message: "m", Hint: "h"}}
		got := ps.Render([]byte(test.line + "\nnext"))
		_, got, _ = strings.Cut(got, "\n")
		if diff := cmp.Diff(test.want+"  hint: h\n", got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestProblemsAsText(t *testing.T) {
	ps := plans.Problems{
		{File: "f.yaml", Line: 2, Col: 3, Severity: plans.Warning, Message: "one"},
		{File: "f.yaml", Line: 9, Severity: plans.Warning, Message: "two\x1b"},
	}
	if diff := cmp.Diff("f.yaml:2:3: warning: one\nf.yaml:9: warning: two\ufffd", ps.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if ps.HasErrors() {
		t.Error("two warnings are errors")
	}
	if ps = append(ps, plans.Problem{Severity: plans.Error}); !ps.HasErrors() {
		t.Error("an error is none")
	}
	if got := ps[:2].Render([]byte("only one line")); !strings.Contains(got, "f.yaml:9") {
		t.Errorf("a line beyond the source is lost: %q", got)
	}
}

func TestProblemsComeInTheOrderOfTheFile(t *testing.T) {
	source := []byte("steps: [{tls: chnge}]\nbogus: 1\nname: -\nversion: 2\n")
	_, ps := plans.Parse("f", source)
	for i := 1; i < len(ps); i++ {
		if a, b := ps[i-1], ps[i]; a.Line > b.Line || a.Line == b.Line && a.Col > b.Col {
			t.Errorf("%v before %v", a, b)
		}
	}
	for range 20 {
		_, again := plans.Parse("f", source)
		if diff := cmp.Diff(ps, again); diff != "" {
			t.Fatalf("the same file gives another answer (-first +second):\n%s", diff)
		}
	}
}
