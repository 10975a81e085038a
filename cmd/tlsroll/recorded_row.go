package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tlsroll/tlsroll/guardrails"
)

// The columns of a source's file, in the order of rowColumns.
const (
	columnMinute = iota
	columnPlatform
	columnCDN
	columnRequests
	columnErrors
	columnTotalMS
	columnTLSMS
	columnTLS
	columnBytes
	columnTLS13
	column2xx
	column4xx
	column5xx
)

func rowColumns() []string {
	return []string{
		"minute", "platform", "cdn", "requests", "errors", "total_ms", "tls_ms", "tls", "bytes", "tls13", "status_2xx", "status_4xx", "status_5xx",
	}
}

// rowReader reads a source's lines.
type rowReader struct {
	legs map[string]guardrails.Leg // of the plan's source

	text   string // the last minute, which the next line mostly repeats
	minute guardrails.Minute
	names  []string // platforms
}

// row reads one line. An empty number is absent, which is not zero; without a cdn the row is the primary's.
func (r *rowReader) row(line []string, columns []int) (guardrails.Row, error) {
	row := guardrails.Row{Leg: guardrails.Primary}
	statuses := 0
	for i, cell := range line {
		switch columns[i] {
		case columnMinute:
			if err := r.at(cell); err != nil {
				return row, err
			}
			row.Minute = r.minute
		case columnPlatform:
			row.Platform = r.name(cell)
		case columnCDN:
			leg, ok := legOf(cell, r.legs)
			if !ok {
				return row, fmt.Errorf("cdn %q is none of the plan's legs", cell)
			}
			row.Leg = leg
		default:
			if cell == "" {
				continue
			}
			n, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return row, fmt.Errorf("%s: %q is not a number", rowColumns()[columns[i]], cell)
			}
			if put(&row.Counts, columns[i], n) {
				statuses++
			}
		}
	}
	if statuses == 3 {
		row.Counts.Has |= guardrails.HasStatus
	}
	return row, nil
}

// name keeps one copy of a platform's name: a cell is a part of its whole line.
func (r *rowReader) name(cell string) string {
	for _, known := range r.names {
		if known == cell {
			return known
		}
	}
	r.names = append(r.names, strings.Clone(cell))
	return r.names[len(r.names)-1]
}

// at reads a minute.
func (r *rowReader) at(cell string) error {
	if cell == r.text && cell != "" {
		return nil
	}
	at, err := instantOf(cell)
	if err != nil {
		return err
	}
	m := guardrails.MinuteOf(at)
	if !at.Equal(m.Start()) {
		return fmt.Errorf("minute %q does not begin with second 0", cell)
	}
	r.text, r.minute = strings.Clone(cell), m
	return nil
}

// legOf reads a cdn: as the plan's source calls it, or by the name of the leg.
func legOf(cell string, legs map[string]guardrails.Leg) (guardrails.Leg, bool) {
	if leg, ok := legs[cell]; ok {
		return leg, true
	}
	switch cell {
	case "", guardrails.Primary.String():
		return guardrails.Primary, true
	case guardrails.Backup.String():
		return guardrails.Backup, true
	}
	return 0, false
}

// put stores a number, and reports whether it is one of the three statuses, which count together.
func put(c *guardrails.Counts, column int, n float64) (status bool) {
	at, has := (*float64)(nil), guardrails.Field(0)
	switch column {
	case columnRequests:
		at, has = &c.Requests, guardrails.HasRequests
	case columnErrors:
		at, has = &c.Errors, guardrails.HasErrors
	case columnTotalMS:
		at, has = &c.TotalMS, guardrails.HasTotalMS
	case columnTLSMS:
		at, has = &c.TLSMS, guardrails.HasTLSMS
	case columnTLS:
		at, has = &c.TLS, guardrails.HasTLS
	case columnBytes:
		at, has = &c.Bytes, guardrails.HasBytes
	case columnTLS13:
		at, has = &c.TLS13, guardrails.HasTLS13
	case column2xx:
		at = &c.Status2xx
	case column4xx:
		at = &c.Status4xx
	case column5xx:
		at = &c.Status5xx
	default:
		panic("column " + strconv.Itoa(column) + " holds no number")
	}
	*at = n
	c.Has |= has
	return has == 0
}
