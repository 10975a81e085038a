package guardrails_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tlsroll/tlsroll/guardrails"
)

// minutesDrawn is how long the drawn nights are.
const minutesDrawn = 16

// drawRow draws a minute of one leg. Requests are up to most; now and then the minute is unknown, breaching, or not there.
func drawRow(t *rapid.T, leg guardrails.Leg, m guardrails.Minute, most int) []guardrails.Row {
	n := float64(rapid.IntRange(0, most).Draw(t, "requests"))
	r := row(leg, m, normal(n))
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		r.Unknown = rapid.SampledFrom([]guardrails.Unknown{guardrails.SourceError, guardrails.Partial, guardrails.NotANumber}).Draw(t, "unknown")
	case 2, 3, 4, 5:
		bad := rapid.SampledFrom([]float64{0.06, 0.3, 1}).Draw(t, "bad")
		r.Counts.Errors, r.Counts.TotalMS, r.Counts.TLSMS, r.Counts.Bytes = bad*n, (1+bad)*250*n, (1+bad)*130*n, 15_000*n
		r.Counts.Status5xx, r.Counts.TLS13 = 0.3*n, 0.6*n
	case 6:
		r.Counts.TotalMS, r.Counts.TLSMS, r.Counts.Bytes, r.Counts.TLS13 = 100*n, 20*n, 5_000*n, 0.1*n
	}
	return []guardrails.Row{r}
}

func drawNight(t *rapid.T) []guardrails.Row {
	most := rapid.SampledFrom([]int{4, 15, 40, 300, 3000}).Draw(t, "most")
	var rows []guardrails.Row
	for m := night; m < night+minutesDrawn; m++ {
		rows = append(rows, drawRow(t, guardrails.Primary, m, most)...)
		rows = append(rows, drawRow(t, guardrails.Backup, m, most)...)
	}
	return rows
}

func drawSituation(t *rapid.T) guardrails.Situation {
	return guardrails.Situation{
		Now: settled(night + minutesDrawn - 1), Since: night + guardrails.Minute(rapid.IntRange(-20, 8).Draw(t, "since")), TTL: 60e9,
		Share: guardrails.Percent(rapid.IntRange(0, 100).Draw(t, "share")), Settled: rapid.Bool().Draw(t, "settled"),
	}
}

// judgeEvery returns the verdict of every rule on the primary.
func judgeEvery(t guardrails.Table, s guardrails.Situation) map[string]guardrails.Verdict {
	out := map[string]guardrails.Verdict{}
	for name, r := range rules() {
		out[name] = guardrails.Judge(&t, baseline(), r, "ios", guardrails.Primary, s)
	}
	return out
}

func whole(rows ...guardrails.Row) guardrails.Table {
	return table(night, night+minutesDrawn-1, rows...)
}

func TestDeliveryNeverChangesAVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, s := drawNight(t), drawSituation(t)
		want := judgeEvery(whole(rows...), s)
		mixed := rapid.Permutation(rows).Draw(t, "order")
		doubled := append(slices.Clone(mixed), mixed...)
		if diff := cmp.Diff(want, judgeEvery(whole(doubled...), s)); diff != "" {
			t.Fatalf("shuffled and doubled (-want +got):\n%s", diff)
		}
		pieces := guardrails.Table{}
		for len(mixed) > 0 {
			n := rapid.IntRange(1, len(mixed)).Draw(t, "piece")
			pieces = pieces.Merge(batch(night, night+minutesDrawn-1, mixed[:n]...), s.Now)
			mixed = mixed[n:]
		}
		pieces = pieces.Merge(batch(night, night+minutesDrawn-1, rows...), s.Now)
		if diff := cmp.Diff(want, judgeEvery(pieces, s)); diff != "" {
			t.Fatalf("in pieces (-want +got):\n%s", diff)
		}
	})
}

// TestLosingAGoodMinuteNeverHelps replaces an OK minute, on its own full minimum, by one that the source failed on.
func TestLosingAGoodMinuteNeverHelps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		s.Share = 60
		var rows []guardrails.Row
		for m := night; m < night+minutesDrawn; m++ {
			r := drawRow(t, guardrails.Primary, m, 3000)
			if len(r) > 0 && r[0].Unknown == 0 && r[0].Counts.Requests < 200 {
				r[0].Counts = normal(200)
			}
			rows = append(rows, r...)
		}
		if len(rows) == 0 {
			return
		}
		i := rapid.IntRange(0, len(rows)-1).Draw(t, "lost")
		rows[i].Counts, rows[i].Unknown = normal(rows[i].Counts.Requests+200), 0
		before := judgeEvery(whole(rows...), s)
		failed := slices.Clone(rows)
		failed[i].Unknown = guardrails.SourceError
		gone := slices.Delete(slices.Clone(rows), i, i+1)
		for name, v := range judgeEvery(whole(failed...), s) {
			if name != "silence" && v.State < before[name].State {
				t.Fatalf("%s was %s, and is %s when an OK minute becomes unknown", name, before[name].State, v.State)
			}
		}
		for name, v := range judgeEvery(whole(gone...), s) {
			if name == "silence" {
				continue
			}
			b := before[name]
			if v.Passes() && !b.Passes() || (b.Holds() || b.RollsBack()) && !v.Holds() && !v.RollsBack() {
				t.Fatalf("%s was %s, and is %s when an OK minute is not there", name, b.State, v.State)
			}
		}
	})
}

func TestVerdictsRestOnTheirEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		tab := whole(drawNight(t)...)
		for name, v := range judgeEvery(tab, s) {
			var requests, bad float64
			for m := v.From; m <= v.Through; m++ {
				c, _ := tab.Counts("rum", "ios", guardrails.Primary, m)
				requests, bad = requests+c.Requests, bad+c.Errors
				if name == "silence" {
					c, _ = tab.Counts("rum", "ios", guardrails.Backup, m)
					requests += c.Requests
				}
			}
			unknown := 0
			for m := night + minutesDrawn - 10; m < night+minutesDrawn; m++ {
				if _, u := tab.Counts("rum", "ios", guardrails.Primary, m); u != 0 {
					unknown++
				}
			}
			need := map[guardrails.State]float64{guardrails.Fire: 200, guardrails.FireFast: 50}[v.State]
			switch {
			case requests < need:
				t.Fatalf("%s %s on %g requests", name, v.State, requests)
			case v.Signal == guardrails.ErrorRate && v.State == guardrails.Fire && bad < 10-1e-9:
				t.Fatalf("%s %s on %g failed requests", name, v.State, bad)
			case v.State == guardrails.Clear && name != "silence" && unknown > 2:
				t.Fatalf("%s CLEAR with %d of the last 10 minutes unknown", name, unknown)
			case v.State == guardrails.Clear && (v.Through-v.From < 9 || v.From < s.Since):
				t.Fatalf("%s CLEAR on %d..%d, since %d", name, v.From, v.Through, s.Since)
			}
		}
	})
}

// TestJudgeAgreesWithThePlainReading compares the judge with the conditions, written down again without any care for speed.
func TestJudgeAgreesWithThePlainReading(t *testing.T) {
	words := []string{".", "x", "X", "E", "-"}
	rapid.Check(t, func(t *rapid.T) {
		var marks []string
		var rows []guardrails.Row
		lean := rapid.IntRange(0, 2).Draw(t, "lean")
		for m := night; m < night+minutesDrawn; m++ {
			w := rapid.SampledFrom(append(slices.Clone(words), words[lean], words[lean], words[lean], words[lean])).Draw(t, "minute")
			marks = append(marks, w)
			r := row(guardrails.Primary, m, normal(1000))
			switch w {
			case "-":
				continue
			case "E":
				r.Unknown = guardrails.SourceError
			case "x":
				r.Counts.Errors = 60
			case "X":
				r.Counts.Errors = 400
			}
			rows = append(rows, r)
		}
		s := guardrails.Situation{Now: settled(night + minutesDrawn - 1), Since: night, Share: 60, Settled: true}
		tab := whole(rows...)
		got := guardrails.Judge(&tab, baseline(), rules()["errors"], "ios", guardrails.Primary, s)
		if want := plainReading(marks); got.State != want {
			t.Fatalf("%q: want %s, got %+v", marks, want, got)
		}
	})
}

func plainReading(marks []string) guardrails.State {
	late := 0
	for late < 3 && marks[len(marks)-1-late] == "-" {
		late++
	}
	late %= 3
	marks = marks[:len(marks)-late]
	last := func(n int, of ...string) int {
		found := 0
		for _, m := range marks[len(marks)-n:] {
			if slices.Contains(of, m) {
				found++
			}
		}
		return found
	}
	switch {
	case last(5, "X") == 5:
		return guardrails.FireFast
	case last(12, "x", "X") >= 10:
		return guardrails.Fire
	case last(3, "E", "-") == 3:
		return guardrails.Blind
	case last(6, "x", "X") >= 5:
		return guardrails.Suspect
	case last(10, "E", "-")+late <= 2 && last(10, "x", "X") <= 1 && last(2, "x", "X") == 0:
		return guardrails.Clear
	}
	return guardrails.Pending
}

// TestNothingLeavesThePackageThatIsNoNumber feeds it with what sources may send.
func TestNothingLeavesThePackageThatIsNoNumber(t *testing.T) {
	wild := rapid.OneOf(
		rapid.Float64(), rapid.SampledFrom([]float64{0, 1, 1e15, 1e300, math.NaN(), math.Inf(1), math.Inf(-1), -1, 5e-324, 1000}), rapid.Float64Range(0, 5000))
	rapid.Check(t, func(t *rapid.T) {
		var rows []guardrails.Row
		for m := night; m < night+40; m++ {
			for _, leg := range []guardrails.Leg{guardrails.Primary, guardrails.Backup} {
				c := normal(1000)
				if rapid.IntRange(0, 3).Draw(t, "wild") == 0 {
					c = guardrails.Counts{
						Requests: wild.Draw(t, "requests"), Errors: wild.Draw(t, "errors"), TotalMS: wild.Draw(t, "ms"), TLSMS: wild.Draw(t, "tls ms"),
						TLS: wild.Draw(t, "tls"), Bytes: wild.Draw(t, "bytes"), TLS13: wild.Draw(t, "tls13"), Status2xx: wild.Draw(t, "2xx"),
						Status4xx: wild.Draw(t, "4xx"), Status5xx: wild.Draw(t, "5xx"), Has: guardrails.Field(rapid.Uint16().Draw(t, "has")),
					}
				}
				rows = append(rows, row(leg, m, c))
			}
		}
		now := settled(night + 39)
		tab := guardrails.Table{}.Merge(batch(night, night+39, rows...), now)
		b := guardrails.Freeze(tab, nil, nil, now)
		for _, s := range b.Series {
			finite(t, s.Requests, s.ErrorRate, s.TotalMS, s.TLSMS, s.Bytes, s.Share[0], s.Share[1], s.Share[2], s.TLS13)
		}
		for _, s := range b.Shares {
			finite(t, float64(s.Share), s.NEff)
		}
		s := drawSituation(t)
		s.Now = now
		for _, v := range append(guardrails.JudgeAll(&tab, &b, everyRule(), guardrails.Primary, s), guardrails.JudgeRestored(&tab, &b, everyRule(), s)...) {
			finite(t, v.Value, v.Limit, v.Expected)
		}
		a := guardrails.VerifyShare(&tab, &b, guardrails.ShareQuestion{Source: "rum", Now: now, Asked: s.Share, Before: 60, Since: night.Start()})
		finite(t, float64(a.Carried), float64(a.Tolerance))
	})
}

func everyRule() []guardrails.Rule {
	var out []guardrails.Rule
	for _, r := range rules() {
		out = append(out, r)
	}
	return out
}

func finite(t *rapid.T, values ...float64) {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("%g is no number", v)
		}
	}
}
