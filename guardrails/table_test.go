package guardrails_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tlsroll/tlsroll/guardrails"
)

// dump is everything that a table tells about the primary and the backup of ios.
func dump(t guardrails.Table) map[string]any {
	out := map[string]any{"platforms": t.Platforms("rum"), "legs": t.Legs("rum"), "through": t.Through("rum", settled(night+minutesDrawn-1))}
	for m := night - 20; m < night+2*minutesDrawn; m++ {
		for _, leg := range []guardrails.Leg{guardrails.Primary, guardrails.Backup} {
			c, u := t.Counts("rum", "ios", leg, m)
			out[leg.String()+" "+m.Start().String()] = []any{c, u}
		}
	}
	return out
}

func TestNeitherMergeNorTrimChangesTheTableItWasGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := drawNight(t)
		n := rapid.IntRange(0, len(rows)).Draw(t, "first")
		old := whole(rows[:n]...)
		before, given := dump(old), append([]guardrails.Row(nil), rows...)
		merged := old.Merge(batch(night-20, night+minutesDrawn-1, append(revised(rows), row(guardrails.Backup, night-9, normal(7)))...), settled(night+minutesDrawn-1))
		after := dump(merged)
		merged.Trim(night+5).Merge(batch(night, night+minutesDrawn-1, row(guardrails.Primary, night+6, normal(3))), settled(night+minutesDrawn-1))
		if diff := cmp.Diff(before, dump(old)); diff != "" {
			t.Fatalf("the old table (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(after, dump(merged)); diff != "" {
			t.Fatalf("the merged table (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(given, rows); diff != "" {
			t.Fatalf("the rows (-before +after):\n%s", diff)
		}
	})
}

// revised returns other numbers for the same minutes.
func revised(rows []guardrails.Row) []guardrails.Row {
	out := append([]guardrails.Row(nil), rows...)
	for i := range out {
		out[i].Counts, out[i].Unknown = normal(11), 0
	}
	return out
}

func TestTrimBeyondTheWindowChangesNoVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab, s := whole(drawNight(t)...), drawSituation(t)
		want := judgeEvery(tab, s)
		if diff := cmp.Diff(want, judgeEvery(tab.Trim(min(s.Since-11, night+2)), s)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestTrimKeepsWhatItIsAskedFor(t *testing.T) {
	tab := table(night, night+9, row(guardrails.Primary, night+2, normal(2)), row(guardrails.Primary, night+8, normal(8)))
	for _, cut := range []guardrails.Minute{math.MinInt64, night - 5, night + 3, night + 8, night + 9, night + 500, math.MaxInt64} {
		got := tab.Trim(cut)
		for m := night; m < night+10; m++ {
			want, wantUnknown := tab.Counts("rum", "ios", guardrails.Primary, m)
			if m < cut {
				want, wantUnknown = guardrails.Counts{}, guardrails.Missing
			}
			if c, u := got.Counts("rum", "ios", guardrails.Primary, m); c != want || u != wantUnknown {
				t.Errorf("trimmed at night%+d, minute %d: want %v %s, got %v %s", cut-night, m-night, want, wantUnknown, c, u)
			}
		}
		if diff := cmp.Diff([]string{"ios"}, got.Platforms("rum")); diff != "" {
			t.Errorf("platforms after a trim at night%+d (-want +got):\n%s", cut-night, diff)
		}
	}
}

func TestMergeChecksWhatItIsGiven(t *testing.T) {
	with := func(set func(*guardrails.Counts)) guardrails.Counts {
		c := normal(1000)
		set(&c)
		return c
	}
	tests := []struct {
		name  string
		given guardrails.Row
		want  guardrails.Row
	}{
		{"good counts stay", row(1, night, normal(1000)), row(1, night, normal(1000))},
		{"zero is a count", row(1, night, normal(0)), row(1, night, normal(0))},
		{"not a number", row(1, night, with(func(c *guardrails.Counts) { c.Bytes = math.NaN() })), guardrails.Row{Unknown: guardrails.NotANumber}},
		{"infinite", row(1, night, with(func(c *guardrails.Counts) { c.TLS = math.Inf(1) })), guardrails.Row{Unknown: guardrails.NotANumber}},
		{"negative", row(1, night, with(func(c *guardrails.Counts) { c.Errors = -1 })), guardrails.Row{Unknown: guardrails.NotANumber}},
		{"too great to be a minute", row(1, night, with(func(c *guardrails.Counts) { c.Bytes = 1.01e15 })), guardrails.Row{Unknown: guardrails.NotANumber}},
		{"far more errors than requests", row(1, night, failing(100, 111)), guardrails.Row{Unknown: guardrails.NotANumber}},
		{"errors a little above the requests", row(1, night, failing(100, 104)), row(1, night, failing(100, 100))},
		{"errors without requests", row(1, night, guardrails.Counts{Errors: 5, Has: guardrails.HasErrors}), row(1, night, guardrails.Counts{Errors: 5, Has: guardrails.HasErrors})},
		{
			"far more handshakes of 1.3 than handshakes", row(1, night, with(func(c *guardrails.Counts) { c.TLS13 = 1101 })),
			guardrails.Row{Unknown: guardrails.NotANumber},
		},
		{
			"handshakes of 1.3 a little above all", row(1, night, with(func(c *guardrails.Counts) { c.TLS13 = 1001 })),
			row(1, night, with(func(c *guardrails.Counts) { c.TLS13 = 1000 })),
		},
		{"more 2xx than answers", row(1, night, with(func(c *guardrails.Counts) { c.Status2xx = 1200 })), guardrails.Row{Unknown: guardrails.NotANumber}},
		{"a source's word with counts", guardrails.Row{Unknown: guardrails.Partial, Counts: normal(5)}, guardrails.Row{Unknown: guardrails.Partial}},
		{"a word that is not a source's", guardrails.Row{Unknown: guardrails.LowN, Counts: normal(5)}, guardrails.Row{Unknown: guardrails.SourceError}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, r := range []*guardrails.Row{&test.given, &test.want} {
				r.Platform, r.Leg, r.Minute = "ios", guardrails.Primary, night
			}
			tab := table(night, night, test.given)
			got := test.want
			got.Counts, got.Unknown = tab.Counts("rum", "ios", guardrails.Primary, night)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMergeLeavesOutWhatItMayNotUse(t *testing.T) {
	now := settled(night + 9)
	over := guardrails.MinuteOf(now) - 1
	for _, r := range []guardrails.Row{
		row(guardrails.Primary, night-1, normal(1)),                                     // not asked for
		row(guardrails.Primary, over+1, normal(1)),                                      // not over
		row(guardrails.Primary, math.MaxInt64, normal(1)),                               // never over
		row(guardrails.Primary, math.MaxInt64/60+1, normal(1)),                          // its end overflows
		row(guardrails.Primary, math.MinInt64, normal(1)),                               // as old as can be
		row(guardrails.Primary, over-35*24*60, normal(1)),                               // older than any use
		{Platform: "ios", Leg: 0, Minute: night, Counts: normal(1)},                     // no leg
		{Platform: "ios", Leg: guardrails.Backup + 1, Minute: night, Counts: normal(1)}, // no leg either
	} {
		b := batch(night, over+5, r)
		if r.Minute != night-1 {
			b.From, b.To = math.MinInt64, math.MaxInt64
		}
		if tab := (guardrails.Table{}).Merge(b, now); tab.Legs("rum") != 0 {
			t.Errorf("minute %d of %s is in the table", r.Minute, r.Leg)
		}
	}
	b := batch(math.MinInt64, math.MaxInt64, row(guardrails.Primary, over-35*24*60+1, normal(1)), row(guardrails.Primary, over, normal(2)))
	tab := guardrails.Table{}.Merge(b, now)
	for m, want := range map[guardrails.Minute]float64{over - 35*24*60 + 1: 1, over: 2} {
		if c, u := tab.Counts("rum", "ios", guardrails.Primary, m); c.Requests != want || u != 0 {
			t.Errorf("minute %d: want %g requests, got %g %s", m, want, c.Requests, u)
		}
	}
}

func TestResolvedTwiceIsResolvedOnceAndMergesTheSame(t *testing.T) {
	wild := rapid.SampledFrom([]float64{0, 3, 100, 104, 200, math.NaN(), math.Inf(-1), 1e300})
	rapid.Check(t, func(t *rapid.T) {
		b := batch(night, night+3)
		for range rapid.IntRange(0, 12).Draw(t, "rows") {
			r := row(guardrails.Leg(rapid.IntRange(0, 3).Draw(t, "leg")), night+guardrails.Minute(rapid.IntRange(-2, 6).Draw(t, "minute")), normal(100))
			r.Platform = rapid.SampledFrom([]string{"", "ios", "android"}).Draw(t, "platform")
			r.Counts.Errors, r.Unknown = wild.Draw(t, "errors"), guardrails.Unknown(rapid.IntRange(-1, 9).Draw(t, "unknown"))
			b.Rows = append(b.Rows, r)
		}
		now := settled(night + 3)
		once := b.Resolved(now)
		data, err := json.Marshal(once.Rows)
		if err != nil {
			t.Fatal(err)
		}
		var stored []guardrails.Row
		if err := json.Unmarshal(data, &stored); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(once.Rows, stored); diff != "" {
			t.Fatalf("encoded and decoded (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(once, once.Resolved(now)); diff != "" {
			t.Fatalf("resolved twice (-once +twice):\n%s", diff)
		}
		if diff := cmp.Diff(dump(guardrails.Table{}.Merge(b, now)), dump(guardrails.Table{}.Merge(once, now))); diff != "" {
			t.Fatalf("merged (-as given +resolved):\n%s", diff)
		}
	})
}

func TestThrough(t *testing.T) {
	tab := table(night, night+9, row(guardrails.Primary, night+9, normal(1)))
	early := guardrails.Table{}.Merge(batch(night, night+9), (night + 9).End()) // asked before minute 9 settled
	negative := guardrails.Table{}.Merge(guardrails.Batch{Source: "rum", Settle: -time.Hour, From: night, To: night + 9}, settled(night+9))
	tests := []struct {
		name string
		tab  guardrails.Table
		now  time.Time
		want guardrails.Minute
	}{
		{"just settled", tab, settled(night + 9), night + 9},
		{"not settled yet", tab, settled(night + 9).Add(-1), night + 8},
		{"settled by the clock, not asked for", tab, settled(night + 10), night + 9},
		{"late by almost three minutes", tab, settled(night + 12).Add(-1), night + 9},
		{"idle for three minutes", tab, settled(night + 12), night + 12},
		{"idle for an hour", tab, settled(night + 60), night + 60},
		{"asked too early", early, settled(night + 9), night + 8},
		{"never answered", guardrails.Table{}, settled(night + 9), night + 10},
		{"a negative settle time is none", negative, (night + 9).End(), night + 9},
	}
	for _, test := range tests {
		if got := test.tab.Through("rum", test.now); got != test.want {
			t.Errorf("%s: want night%+d, got night%+d", test.name, test.want-night, got-night)
		}
	}
}

func TestMinuteOf(t *testing.T) {
	for s, want := range map[int64]guardrails.Minute{0: 0, 59: 0, 60: 1, -1: -1, -60: -1, -61: -2} {
		if got := guardrails.MinuteOf(time.Unix(s, 999)); got != want {
			t.Errorf("%d s: want %d, got %d", s, want, got)
		}
	}
	if got := night.End().Sub(night.Start()); got != time.Minute {
		t.Errorf("a minute lasts %s", got)
	}
}
