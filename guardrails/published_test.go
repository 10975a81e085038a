package guardrails_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
)

// published returns the rows of the table in README.md whose first column is "case".
func published(t *testing.T) [][]string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	inside := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "\x00"), "|"), "|")
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(strings.Trim(strings.TrimSpace(c), "`"), "\x00", "|")
		}
		switch {
		case cells[0] == "case":
			inside = true
		case inside && !strings.HasPrefix(cells[0], "---"):
			rows = append(rows, cells)
		}
	}
	return rows
}

func TestPublishedCases(t *testing.T) {
	rows := published(t)
	if len(rows) < 100 {
		t.Fatalf("README.md has %d cases: its table is not found", len(rows))
	}
	seen := map[string]bool{}
	for _, cells := range rows {
		if len(cells) != 5 || seen[cells[0]] {
			t.Fatalf("not one case: %q", cells)
		}
		seen[cells[0]] = true
		t.Run(cells[0], func(t *testing.T) {
			rule, ok := rules()[cells[1]]
			if !ok {
				t.Fatalf("no rule %q", cells[1])
			}
			minutes := parseMinutes(t, cells[1], cells[3])
			last := night + guardrails.Minute(len(minutes)) - 1
			s, b := parseSituation(t, cells[2], last)
			for name, delivered := range deliveries(minutes) {
				v := guardrails.Judge(&delivered, b, rule, "ios", guardrails.Primary, s)
				verdict, _, decided := strings.Cut(cells[4], ": ")
				got := v.State.String()
				if strings.Contains(verdict, " ") {
					got += " " + v.Side
				}
				if decided {
					got += ": " + v.Decision().String()
				}
				if diff := cmp.Diff(cells[4], got); diff != "" {
					t.Errorf("delivered %s (-want +got):\n%s%+v", name, diff, v)
				}
			}
		})
	}
}

// deliveries returns the table after each way of delivering the same minutes.
func deliveries(minutes []tellings) map[string]guardrails.Table {
	last := night + guardrails.Minute(len(minutes)) - 1
	merge := func(t guardrails.Table, told func(guardrails.Minute, tellings) []guardrails.Row, from, to guardrails.Minute, mix bool) guardrails.Table {
		b := batch(from, to)
		for i, m := range minutes {
			b.Rows = append(b.Rows, told(night+guardrails.Minute(i), m)...)
		}
		if mix {
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(b.Rows), func(i, k int) { b.Rows[i], b.Rows[k] = b.Rows[k], b.Rows[i] })
		}
		return t.Merge(b, settled(to))
	}
	first := func(_ guardrails.Minute, m tellings) []guardrails.Row { return m[0] }
	latest := func(_ guardrails.Minute, m tellings) []guardrails.Row { return m[len(m)-1] }
	out := map[string]guardrails.Table{}
	once := merge(merge(guardrails.Table{}, first, night, last, false), latest, night, last, false)
	out["at once"] = once
	out["twice"] = merge(once, latest, night, last, false)
	out["shuffled"] = merge(merge(guardrails.Table{}, first, night, last, true), latest, night, last, true)
	var pieces, again guardrails.Table
	for m := night; m <= last; m++ {
		pieces = merge(pieces, first, m, m, false)
		again = merge(again, first, max(night, m-14), m, false) // the controller asks for the last quarter of an hour again
	}
	out["minute by minute"] = merge(pieces, latest, night, last, false)
	out["again and again"] = merge(again, latest, night, last, false)
	reversed := guardrails.Table{}
	for m := last; m >= night; m-- {
		reversed = merge(reversed, first, m, m, false)
	}
	out["newest first"] = merge(reversed, latest, night, last, false)
	return out
}
