package csvfile

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers"
)

// Format is what a file does not say itself. The zero value reads primary and backup in the column cdn.
type Format struct {
	Name string                    // the file's, for problems; "" is "csv"
	Legs map[string]guardrails.Leg // values of the column cdn; nil is primary and backup
}

// Decode reads a whole file in one pass and returns its rows in the order of the file. The error is a [Problems], or what r failed
// with. It reads to the end of r: a last line without a line feed counts like any other.
func Decode(r io.Reader, f Format) ([]guardrails.Row, error) {
	return f.decode(r, func(guardrails.Minute) bool { return true })
}

// decode returns the rows of the minutes that keep wants. All others are checked as well.
func (f Format) decode(r io.Reader, keep func(guardrails.Minute) bool) ([]guardrails.Row, error) {
	d := decoder{name: f.Name, legs: f.Legs, keep: keep, platforms: map[string]string{}}
	if d.name == "" {
		d.name = "csv"
	}
	if d.legs == nil {
		d.legs = map[string]guardrails.Leg{"primary": guardrails.Primary, "backup": guardrails.Backup}
	}
	in := bufio.NewReader(r)
	if mark, err := in.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = in.Discard(len(byteOrderMark)) // it was just peeked at
	}
	d.csv = csv.NewReader(in)
	d.csv.ReuseRecord, d.csv.FieldsPerRecord = true, -1
	if err := d.run(); err != nil {
		return nil, err
	}
	if n := providers.Spacing(d.rows); n > 1 && len(d.problems) == 0 {
		d.problem(0, "", fmt.Sprintf("the rows of a series lie %d minutes apart: each must be one minute", n))
	}
	if len(d.problems) > 0 {
		return nil, d.problems
	}
	return d.rows, nil
}

const byteOrderMark = "\ufeff"

// decoder is one pass over a file.
type decoder struct {
	name      string
	legs      map[string]guardrails.Leg
	keep      func(guardrails.Minute) bool
	csv       *csv.Reader
	columns   []column
	platforms map[string]string // each platform once, so that a row does not hold on to its line
	last      struct {          // the minute of the row before
		text   string
		minute guardrails.Minute
	}
	rows     []guardrails.Row
	problems Problems
	dropped  bool // problems beyond the last one kept
}

// run reads header and rows. It returns only what ends the reading.
func (d *decoder) run() error {
	for first := true; !d.dropped; first = false {
		cells, err := d.csv.Read()
		switch {
		case errors.Is(err, io.EOF) && first:
			d.problem(1, "", "the file is empty: its first line names the columns")
			return nil
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			if !d.syntax(err) {
				return err
			}
			if first {
				return nil
			}
		case first:
			if !d.header(cells) {
				return nil
			}
		default:
			d.row(cells)
		}
	}
	return nil
}

// syntax reports a misplaced quote; other errors are the reader's.
func (d *decoder) syntax(err error) bool {
	p, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return false
	}
	text := "a quote stands inside a cell: put the whole cell in quotes and double the quotes in it"
	if errors.Is(err, csv.ErrQuote) {
		text = "a quote is not closed, or something stands behind it"
	}
	d.problem(p.StartLine, "", text)
	return true
}

// row takes one line after the header.
func (d *decoder) row(cells []string) {
	line, _ := d.csv.FieldPos(0)
	if len(cells) != len(d.columns) {
		d.problem(line, "", fmt.Sprintf("the line has %d cells, the first line names %d columns", len(cells), len(d.columns)))
		return
	}
	r := guardrails.Row{Leg: guardrails.Primary}
	var tally providers.Tally
	for i, c := range cells {
		c = strings.TrimSpace(c)
		text := ""
		switch column := &d.columns[i]; column.kind {
		case minuteColumn:
			r.Minute, text = d.minute(c)
		case platformColumn:
			r.Platform, text = d.platform(c)
		case cdnColumn:
			r.Leg, text = d.leg(c)
		case numberColumn:
			if c != "" {
				tally.Add(column.number, numberOf(c))
			}
		}
		if text != "" {
			d.problem(line, d.columns[i].name, text)
		}
	}
	if d.keep(r.Minute) {
		tally.Fill(&r)
		d.rows = append(d.rows, r)
	}
}
