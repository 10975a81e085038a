package csvfile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers"
)

// columnKind is what a column holds.
type columnKind int

const (
	minuteColumn columnKind = iota + 1
	platformColumn
	cdnColumn
	numberColumn
)

// column is one column of the file; number says which when its kind is numberColumn.
type column struct {
	name   string
	kind   columnKind
	number providers.Number
}

func columnOf(name string) (column, bool) {
	switch name {
	case "minute":
		return column{name, minuteColumn, 0}, true
	case "platform":
		return column{name, platformColumn, 0}, true
	case "cdn":
		return column{name, cdnColumn, 0}, true
	}
	n, ok := providers.NumberOf(name)
	return column{name, numberColumn, n}, ok
}

// header takes the first line and reports all that is wrong with it; ok is false when anything is.
func (d *decoder) header(cells []string) (ok bool) {
	line, _ := d.csv.FieldPos(0)
	numbers := 0
	for i, c := range cells {
		c = strings.TrimSpace(c)
		col, known := columnOf(c)
		switch {
		case !known && strings.ContainsAny(c, ";\t"):
			d.problem(line, "", "cells must be separated by commas")
		case !known:
			d.problem(line, "", fmt.Sprintf("column %d is unknown%s: the columns are %s", i+1, shown(c), columnNames()))
		case slices.ContainsFunc(d.columns, func(o column) bool { return o.name == c }):
			d.problem(line, c, "the column stands twice")
		case col.kind == numberColumn:
			numbers++
		}
		d.columns = append(d.columns, col)
	}
	if !slices.ContainsFunc(d.columns, func(c column) bool { return c.kind == minuteColumn }) {
		d.problem(line, "minute", "the column is missing")
	}
	if numbers == 0 && len(d.problems) == 0 {
		d.problem(line, "", "there is no column with numbers, as requests")
	}
	return len(d.problems) == 0
}

func columnNames() string {
	names := []string{"minute", "platform", "cdn"}
	for _, n := range providers.Numbers() {
		names = append(names, n.String())
	}
	return strings.Join(names, ", ")
}

// The largest time that a file may hold, in seconds: the year 9999. Milliseconds are beyond it.
const maxUnix = 253_402_300_799

// minute reads the start of a minute; text says what is wrong. The rows of one minute mostly follow each other.
func (d *decoder) minute(s string) (m guardrails.Minute, text string) {
	if s == d.last.text && s != "" {
		return d.last.minute, ""
	}
	m, text = minuteOf(s)
	if text == "" {
		d.last.text, d.last.minute = s, m
	}
	return m, text
}

func minuteOf(s string) (m guardrails.Minute, text string) {
	var seconds int64
	if rest := strings.TrimLeft(s, "+-"); rest != "" && strings.Trim(rest, "0123456789") == "" {
		n, err := strconv.ParseInt(s, 10, 64)
		switch {
		case len(rest) < len(s):
			return 0, "the time has a sign"
		case err != nil || n > maxUnix:
			return 0, "the time is after the year 9999: seconds are meant, not milliseconds"
		}
		seconds = n
	} else {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil || t.Unix() < 0 || t.Unix() > maxUnix {
			return 0, "this is not a time" + shown(s) + ": write it as 2021-06-25T02:00:00+08:00, or in seconds since 1970"
		}
		if t.Nanosecond() != 0 {
			return 0, "this is not the start of a minute" + shown(s)
		}
		seconds = t.Unix()
	}
	if seconds%60 != 0 {
		return 0, "this is not the start of a minute" + shown(s)
	}
	return guardrails.Minute(seconds / 60), ""
}

// platform reads a platform's name.
func (d *decoder) platform(s string) (platform, text string) {
	if known, ok := d.platforms[s]; ok {
		return known, ""
	}
	switch {
	case s == "":
		return "", "the cell is empty: leave the column out when platforms are not told apart"
	case len(s) > maxPlatform || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", "this is not the name of a platform: it has control characters, is not UTF-8, or is longer than 64 bytes"
	}
	s = strings.Clone(s)
	d.platforms[s] = s
	return s, ""
}

const maxPlatform = 64

func (d *decoder) leg(s string) (leg guardrails.Leg, text string) {
	if leg = d.legs[s]; leg == 0 {
		return 0, "this is not a CDN that the plan knows" + shown(s) + ": it knows " + strings.Join(slices.Sorted(maps.Keys(d.legs)), ", ")
	}
	return leg, ""
}

// numberOf reads a decimal number with or without an exponent; NaN is what is none.
func numberOf(s string) float64 {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == '.', c == 'e', c == 'E', c == '+', c == '-':
		default: // words, hexadecimal numbers, underscores
			return math.NaN()
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// shown returns a cell for a message when it is a time or a short word, and nothing when it may be anything else.
func shown(s string) string {
	const word = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_- "
	digits := len(s) <= 40 && strings.Trim(s, "0123456789-+:.,/TZ ") == ""
	letters := len(s) <= 24 && strings.Trim(strings.TrimRight(s, "0123456789"), word) == ""
	if s == "" || !digits && !letters {
		return ""
	}
	return " (" + strconv.Quote(s) + ")"
}
