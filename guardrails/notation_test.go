package guardrails_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tlsroll/tlsroll/guardrails"
)

// tellings are a minute's rows: one list for each answer that told it, the latest last.
type tellings [][]guardrails.Row

// parseMinutes reads the notation of README.md. Minute i of the result is night+i.
func parseMinutes(t *testing.T, rule, text string) []tellings {
	t.Helper()
	var out []tellings
	for word := range strings.FieldsSeq(text) {
		word, repeat, times := strings.Cut(word, "*")
		n := 1
		if times {
			n = number(t, repeat)
		}
		for range n {
			var minute tellings
			m := night + guardrails.Minute(len(out))
			for telling := range strings.SplitSeq(word, ">") {
				var rows []guardrails.Row
				for w := range strings.SplitSeq(telling, "|") {
					rows = append(rows, parseMinute(t, rule, w, m)...)
				}
				minute = append(minute, rows)
			}
			out = append(out, minute)
		}
	}
	return out
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

var (
	counted = regexp.MustCompile(`^(\d+)/(\d+)$`)
	legs    = regexp.MustCompile(`^(\d+|[-EPN]):(\d+|[-EPN])$`)
	level   = regexp.MustCompile(`^(\d+)?([.=#xyXd]|[245][+-])$`)
	unknown = map[string]guardrails.Unknown{"E": guardrails.SourceError, "P": guardrails.Partial, "N": guardrails.NotANumber}
)

func parseMinute(t *testing.T, rule, word string, m guardrails.Minute) []guardrails.Row {
	t.Helper()
	if own, other, both := strings.Cut(word, "~"); both {
		rows := parseMinute(t, rule, own, m)
		for _, r := range parseMinute(t, rule, other, m) {
			r.Leg = guardrails.Backup
			rows = append(rows, r)
		}
		return rows
	}
	if word == "-" {
		return nil
	}
	if u := unknown[word]; u != 0 {
		return []guardrails.Row{{Platform: "ios", Leg: guardrails.Primary, Minute: m, Unknown: u}}
	}
	if f := counted.FindStringSubmatch(word); f != nil {
		return []guardrails.Row{row(guardrails.Primary, m, failing(float64(number(t, f[1])), float64(number(t, f[2]))))}
	}
	if f := legs.FindStringSubmatch(word); f != nil {
		var rows []guardrails.Row
		for i, leg := range []guardrails.Leg{guardrails.Primary, guardrails.Backup} {
			if u := unknown[f[i+1]]; u != 0 {
				rows = append(rows, guardrails.Row{Platform: "ios", Leg: leg, Minute: m, Unknown: u})
			} else if f[i+1] != "-" {
				rows = append(rows, row(leg, m, normal(float64(number(t, f[i+1])))))
			}
		}
		return rows
	}
	f := level.FindStringSubmatch(word)
	if f == nil {
		t.Fatalf("%q is not in the notation", word)
	}
	n := 1000
	if f[1] != "" {
		n = number(t, f[1])
	}
	return []guardrails.Row{row(guardrails.Primary, m, levelOf(t, rule, f[2], float64(n)))}
}

// levelOf returns n requests at a level that a word names, for the signal of a rule.
func levelOf(t *testing.T, rule, word string, n float64) guardrails.Counts {
	t.Helper()
	c := normal(n)
	if word == "." {
		return c
	}
	values := map[string]map[string]float64{
		"errors": {"=": 0.05, "x": 0.06, "X": 0.25}, "errors-strict": {"=": 0.05, "x": 0.06, "X": 0.25},
		"total": {"=": 240, "x": 250, "y": 290, "X": 370, "#": 360, "d": 130}, "tls": {"=": 120, "x": 125, "X": 190, "#": 180, "d": 25},
		"size": {"=": 12_000, "x": 12_500, "X": 20_000, "d": 7_000}, "tls13": {"=": 0.55, "x": 0.56, "d": 0.44},
		"status": {"=": 0.13, "2+": 0.76, "2-": 0.64, "4+": 0.16, "4-": 0.04, "5+": 0.14, "5-": 0.02},
	}
	v, ok := values[rule][word]
	if !ok {
		t.Fatalf("rule %s has no level %q", rule, word)
	}
	switch v *= n; {
	case word[0] == '2':
		c.Status2xx = v
	case word[0] == '4':
		c.Status4xx = v
	case word[0] == '5', rule == "status":
		c.Status5xx = v
	case rule == "total":
		c.TotalMS = v
	case rule == "tls":
		c.TLSMS = v
	case rule == "size":
		c.Bytes = v
	case rule == "tls13":
		c.TLS13 = v
	default:
		c.Errors = v
	}
	return c
}

// parseSituation reads the third column of the published cases.
func parseSituation(t *testing.T, text string, last guardrails.Minute) (guardrails.Situation, *guardrails.Baseline) {
	t.Helper()
	s, b := guardrails.Situation{Now: settled(last), Since: night - 100, TTL: 60e9, Share: 60, Settled: true}, baseline()
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		var n int
		switch {
		case word == "":
		case word == "moving":
			s.Settled = false
		case word == "no baseline":
			b = &guardrails.Baseline{}
		case word == "alike":
			for _, r := range rules() {
				b.Alike = append(b.Alike, guardrails.Alike{Rule: r.Name, Platform: "ios"})
			}
		case scans(word, "week %d%%", &n):
			for i := range b.Series {
				knots := slices.Repeat([]float32{1 + float32(n)/100}, 10)
				b.Series[i].Shape = guardrails.Shape{First: night, Days: make([]guardrails.ShapeDay, 7), TotalMS: knots, TLSMS: knots, Bytes: knots}
			}
		case scans(word, "change %d", &n):
			s.Since = night + guardrails.Minute(n)
		case scans(word, "%d%%", &n):
			s.Share = guardrails.Percent(n)
		default:
			t.Fatalf("%q is not a situation", word)
		}
	}
	return s, b
}

func scans(word, format string, n *int) bool {
	_, err := fmt.Sscanf(word, format, n)
	return err == nil
}
