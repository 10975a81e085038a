package jsonhttp

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

// answer is what was asked, for reading what came.
type answer struct {
	source   plans.Source
	from, to guardrails.Minute
	shown    func(string) string // a value for a message, or "" when it may be anything
}

// rows reads an answer.
func (a answer) rows(body string) ([]guardrails.Row, error) {
	list, err := a.list(body)
	if err != nil {
		return nil, err
	}
	var all []guardrails.Row
	list.ForEach(func(_, item gjson.Result) bool {
		r, text := a.row(item)
		if text != "" {
			err = invalid(fmt.Sprintf("row %d of the answer, counted from 0: %s", len(all), text))
			return false
		}
		all = append(all, r)
		return true
	})
	if err != nil {
		return nil, err
	}
	if n := providers.Spacing(all); n > 1 {
		return nil, invalid(fmt.Sprintf("the rows of a series lie %d minutes apart: the API answers in another granularity, ask it for minutes", n))
	}
	return slices.DeleteFunc(all, func(r guardrails.Row) bool { return r.Minute < a.from || r.Minute > a.to }), nil
}

// list finds the list of rows.
func (a answer) list(body string) (gjson.Result, error) {
	switch start := strings.TrimLeft(body, " \t\r\n"); {
	case start == "":
		return gjson.Result{}, &badError{providers.Transient, "the answer is empty"}
	case start[0] == '<':
		return gjson.Result{}, &badError{providers.Transient, "the answer is a web page, not JSON"}
	case !json.Valid([]byte(body)): // not gjson's: it follows any depth, until the stack ends
		return gjson.Result{}, &badError{providers.Transient, "the answer is not JSON, or not all of it came"}
	case !utf8.ValidString(body):
		return gjson.Result{}, invalid("the answer is not UTF-8")
	}
	if p := a.source.JSON.Partial; p != "" && flagged(gjson.Get(body, p)) {
		return gjson.Result{}, &badError{providers.Transient, "the answer is partial: " + p + " says so"}
	}
	list := gjson.Parse(body)
	where := "the answer"
	if p := a.source.JSON.Rows; p != "" {
		list, where = list.Get(p), "rows: "+p
	}
	switch {
	case !list.Exists():
		return list, invalid(where + " is not in the answer")
	case !list.IsArray():
		return list, invalid(where + " is not a list")
	}
	return list, nil
}

// flagged reports whether a flag is up: anything but false, null, 0 and empty.
func flagged(r gjson.Result) bool {
	switch r.Type {
	case gjson.True:
		return true
	case gjson.Number:
		return r.Num != 0
	case gjson.String:
		return r.Str != ""
	case gjson.JSON:
		return strings.Trim(r.Raw, "[]{} \t\r\n") != ""
	case gjson.Null, gjson.False:
	}
	return false
}

// row reads one row; text says what is wrong with it.
func (a answer) row(item gjson.Result) (r guardrails.Row, text string) {
	fields := a.source.JSON.Fields
	if item.Type != gjson.JSON {
		return r, "it is neither an object nor a list"
	}
	var flaws [3]string
	r.Minute, flaws[0] = a.minute(item.Get(fields["minute"]))
	r.Platform, flaws[1] = a.platform(item)
	r.Leg, flaws[2] = a.leg(item)
	for _, f := range flaws {
		if f != "" {
			return r, f
		}
	}
	var tally providers.Tally
	for _, n := range providers.Numbers() {
		path := fields[n.String()]
		if path == "" {
			continue
		}
		if v := item.Get(path); v.Exists() && v.Type != gjson.Null {
			tally.Add(n, numberOf(v))
		}
	}
	tally.Fill(&r)
	return r, ""
}

// numberOf reads a number; NaN is what is none.
func numberOf(v gjson.Result) float64 {
	text := v.Raw
	if v.Type == gjson.String {
		text = v.Str
		whole, fraction, dot := strings.Cut(strings.TrimPrefix(text, "-"), ".")
		if !digits(whole) || dot && !digits(fraction) { // not a plain decimal
			return math.NaN()
		}
	}
	if v.Type != gjson.String && v.Type != gjson.Number {
		return math.NaN()
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// The largest time that a row may have, in seconds: the year 9999.
const maxUnix = 253_402_300_799

// minute reads the start of a minute, as a JSON number or a text.
func (a answer) minute(v gjson.Result) (m guardrails.Minute, text string) {
	path := a.source.JSON.Fields["minute"]
	s, ok := word(v)
	if !ok {
		return 0, path + " holds no time"
	}
	ms, ok := millis(s, a.source.JSON.MinuteFormat)
	switch {
	case !ok:
		return 0, path + a.shown(s) + " is not a time written as " + a.source.JSON.MinuteFormat.String()
	case ms%60_000 != 0:
		return 0, path + a.shown(s) + " is not the start of a minute"
	}
	return guardrails.Minute(ms / 60_000), ""
}

// millis reads an instant from 1970 to 9999, in milliseconds. One that lies between two milliseconds is on no minute.
func millis(s string, f plans.TimeFormat) (ms int64, ok bool) {
	if f == plans.RFC3339 {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil || t.Unix() < 0 || t.Unix() > maxUnix {
			return 0, false
		}
		if t.Nanosecond()%int(time.Millisecond) != 0 {
			return 1, true
		}
		return t.UnixMilli(), true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || !digits(s) {
		return 0, false
	}
	if f == plans.UnixMillis {
		return n, n/1000 <= maxUnix
	}
	return n * 1000, n <= maxUnix
}

const maxPlatform = 64

func (a answer) platform(item gjson.Result) (platform, text string) {
	path := a.source.JSON.Fields["platform"]
	if path == "" {
		return "", ""
	}
	s, ok := word(item.Get(path))
	if !ok || s == "" || len(s) > maxPlatform || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", path + " is not the name of a platform: a text or number of at most 64 bytes"
	}
	return s, ""
}

func (a answer) leg(item gjson.Result) (leg guardrails.Leg, text string) {
	path := a.source.JSON.Fields["cdn"]
	if path == "" {
		return guardrails.Primary, ""
	}
	s, _ := word(item.Get(path))
	if leg = a.source.Legs[s]; leg == 0 {
		return 0, path + a.shown(s) + " is not a CDN that the plan knows: its legs are " + strings.Join(slices.Sorted(maps.Keys(a.source.Legs)), ", ")
	}
	return leg, ""
}

// word returns a text as it is, and a number as it is written.
func word(v gjson.Result) (s string, ok bool) {
	switch v.Type {
	case gjson.String:
		return v.Str, true
	case gjson.Number:
		return v.Raw, true
	case gjson.Null, gjson.False, gjson.True, gjson.JSON:
	}
	return "", false
}
