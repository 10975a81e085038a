package csvfile

import (
	"strconv"
	"strings"
)

// maxProblems is how many problems are kept: enough to mend a file in one go, few enough to read.
const maxProblems = 20

// Problem is one thing that is wrong with a file.
type Problem struct {
	File   string
	Line   int    // from 1; 0 is the whole file
	Column string // the name of the column, or ""
	Text   string
}

// String returns "rum.csv:7: column minute: …".
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		b.WriteString(":" + strconv.Itoa(p.Line))
	}
	b.WriteString(": ")
	if p.Column != "" {
		b.WriteString("column " + p.Column + ": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// Problems is all that is wrong with a file, or the first twenty things, in the order of the file. It is an error.
type Problems []Problem //nolint:errname // a list of problems, as in package plans

// Error returns the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, 0, len(ps))
	for _, p := range ps {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// brief returns the first problem and how many follow, on one line.
func (ps Problems) brief() string {
	if len(ps) == 1 {
		return ps[0].String()
	}
	return ps[0].String() + " (and " + strconv.Itoa(len(ps)-1) + " more)"
}

func (d *decoder) problem(line int, column, text string) {
	if d.dropped {
		return
	}
	if len(d.problems) == maxProblems {
		d.dropped = true
		text, column = "more problems from here on are not shown", ""
	}
	d.problems = append(d.problems, Problem{File: d.name, Line: line, Column: column, Text: text})
}
