package plans

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Severity says whether a problem stops the plan.
type Severity int

// The severities of a Problem.
const (
	Error   Severity = iota + 1 // the plan is refused
	Warning                     // the plan is accepted; a strict caller refuses it too
)

// String returns "error" or "warning".
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	}
	return "severity " + strconv.Itoa(int(s))
}

// Problem is one thing wrong with a plan file, where it stands, and how to mend it.
type Problem struct {
	File     string // as given to Parse
	Line     int    // 1 is the first; never 0
	Col      int    // in characters, 1 is the first; 0 when only the line is known
	Severity Severity
	Message  string // one line, in the author's words, without the position
	Hint     string // how to mend it, or ""
	Secret   bool   // the line holds what looks like a secret: do not print it
}

// String returns "file:line:col: severity: message".
func (p Problem) String() string {
	where := p.File + ":" + strconv.Itoa(p.Line)
	if p.Col > 0 {
		where += ":" + strconv.Itoa(p.Col)
	}
	return printable(where + ": " + p.Severity.String() + ": " + p.Message)
}

// Problems are all problems of one file in the order of the file. It is an error value, but an empty or warning-only one is not a
// failure: ask HasErrors.
type Problems []Problem //nolint:errname // the word of the field; callers read it as a list first

// HasErrors reports whether at least one problem is an Error.
func (ps Problems) HasErrors() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Severity == Error })
}

// Error returns one line a problem, without source lines.
func (ps Problems) Error() string {
	lines := make([]string, 0, len(ps))
	for _, p := range ps {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// Render returns the problems for a terminal: position and message, the numbered source line, a caret under the column, the hint.
// source is what Parse was given. A line that holds a secret is masked in every problem that stands on it.
func (ps Problems) Render(source []byte) string {
	lines := strings.Split(string(source), "\n")
	secret := map[int]bool{}
	for _, p := range ps {
		if p.Secret {
			secret[p.Line] = true
		}
	}
	var b strings.Builder
	for _, p := range ps {
		b.WriteString(p.String() + "\n")
		if p.Line <= len(lines) {
			line := strings.TrimSuffix(lines[p.Line-1], "\r")
			if secret[p.Line] || holdsKeyID(line) || looksRandom(line) {
				fmt.Fprintf(&b, "%5d | (line hidden: it looks like it holds a secret)\n", p.Line)
			} else {
				b.WriteString(excerpt(line, p.Line, p.Col))
			}
		}
		if p.Hint != "" {
			b.WriteString("  hint: " + printable(p.Hint) + "\n")
		}
	}
	return b.String()
}

// sortProblems orders by position, then by severity and message, so that the same file gives the same answer.
func sortProblems(ps Problems) {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Severity, b.Severity),
			strings.Compare(a.Message, b.Message))
	})
}

// maxProblems bounds the answer to a file that is wrong throughout.
const maxProblems = 200

// capProblems keeps the first maxProblems of a sorted list and says how many were left out; an error among those keeps the list an error.
func capProblems(ps Problems) Problems {
	if len(ps) <= maxProblems {
		return ps
	}
	rest := ps[maxProblems:]
	last := rest[0]
	last.Severity = Warning
	if rest.HasErrors() {
		last.Severity = Error
	}
	last.Message = strconv.Itoa(len(rest)) + " more problems from here on are not shown"
	last.Hint = "mend the ones above first"
	last.Secret = slices.ContainsFunc(rest, func(p Problem) bool { return p.Secret && p.Line == last.Line })
	return append(slices.Clip(ps[:maxProblems]), last)
}
