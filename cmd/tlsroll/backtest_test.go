package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/guardrails/backtest"
	"github.com/tlsroll/tlsroll/plans"
)

// fiveDays is a record of five nights of the default plan: errors on the second, a slow quarter of an hour on the third, and the fourth
// without anything before the start.
func fiveDays(t *testing.T) (plan, data string) {
	t.Helper()
	dir := t.TempDir()
	p, problems := plans.Parse("plan.yaml", []byte(exampleText(t, "tls13-canary.yaml")))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	generated(t, dir, p, 5, false, func(day int, clock time.Duration, c *guardrails.Counts) {
		switch at := clock - 2*time.Hour; {
		case day == 1 && at >= 30*time.Minute && at < 50*time.Minute:
			c.Errors = 0.08 * c.Requests
		case day == 2 && at >= 20*time.Minute && at < 27*time.Minute:
			c.TotalMS *= 1.4
		case day == 3 && at < 0:
			*c = guardrails.Counts{}
		}
	})
	plan = filepath.Join(dir, "plan.yaml")
	write(t, plan, exampleText(t, "tls13-canary.yaml"))
	return plan, dir
}

func backtested(t *testing.T, plan, data string, args ...string) string {
	t.Helper()
	var out, talk strings.Builder
	args = append([]string{"backtest", plan, "--data", data, "--for", "2h"}, args...)
	if code := run(t.Context(), args, stdio{out: &out, err: &talk}); code != exitOK {
		t.Fatalf("exit %d\n%s", code, talk.String())
	}
	return out.String()
}

func TestBacktestPrintsWhatTheRulesWouldHaveDone(t *testing.T) {
	t.Parallel()
	plan, data := fiveDays(t)
	out := backtested(t, plan, data)
	for _, want := range []string{
		"nights   5 from 02:00: 4 judged, 1 with too little data, 0 skipped",
		"  error-rate                         4          1      0        25.0 %\n",
		"  total-time                         4          0      1         0.0 %\n",
		"  all rules                          4          1      1        25.0 %\n",
		"assumed: every recorded night without a change was healthy",
		"2021-05-26  ok         02:00 to 04:00, primary at 60.",
		"2021-05-27  ROLL BACK  02:00 to 04:00, primary at ",
		"    02:36:01  minutes 02:23-02:34  error-rate android SUSPECT: ",
		"    02:41:01  minutes 02:28-02:39  error-rate android FIRE: ",
		"2021-05-28  HOLD       02:00 to 04:00, primary at ",
		"    02:26:01  minutes 02:13-02:24  total-time android SUSPECT: ",
		"2021-05-29  not judged the primary carries nothing at the start",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	// With the night's change on record it is no false alarm.
	write(t, filepath.Join(data, "changes.csv"), "at,share\n2021-05-26T18:05:00Z,60\n")
	out = backtested(t, plan, data)
	if !strings.Contains(out, "  all rules                          3          0      1         0.0 %\n") ||
		!strings.Contains(out, "1 more with a change in them are not counted: 1 would have rolled back") {
		t.Errorf("with a change\n%s", out)
	}
}

func TestBacktestJSON(t *testing.T) {
	t.Parallel()
	plan, data := fiveDays(t)
	out := backtested(t, plan, data, "-o", "json")
	if !strings.HasPrefix(out, "{\n  \"schema\": \"tlsroll/backtest.v1\"") {
		t.Errorf("begins with %.60s", out)
	}
	var doc view.BacktestDoc
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Judged != 4 || doc.Thin != 1 || len(doc.Nights) != 5 || doc.All.FalseAlarms == nil || *doc.All.FalseAlarms != 25 {
		t.Errorf("judged %d, thin %d, %d nights, %+v", doc.Judged, doc.Thin, len(doc.Nights), doc.All)
	}
	for _, f := range doc.Nights[1].Findings {
		if want := f.Rule == "error-rate"; f.RolledBack != want || (f.Fire != nil) != want {
			t.Errorf("%s %s rolled back: %v, fire %+v", f.Rule, f.Platform, f.RolledBack, f.Fire)
		}
		if f.Fire != nil && (f.Fire.Verdict.Breach != 10 || f.Fire.At.Sub(f.Fire.Verdict.Through) != 2*time.Minute+time.Second) {
			t.Errorf("the deciding minutes of %s: %+v", f.Platform, f.Fire)
		}
	}
}

// The page asks for nothing from elsewhere, runs nothing, is well formed, and has a plot for each rule and platform of each judged night.
func TestBacktestPageStandsAlone(t *testing.T) {
	t.Parallel()
	plan, data := fiveDays(t)
	page := backtested(t, plan, data, "-o", "html")
	for _, bad := range []string{"http://", "https://", "<script", "src=", "href=", "url(", "@import", "NaN", "ZgotmplZ"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if n := strings.Count(page, "<svg"); n != 4*11 {
		t.Errorf("want 11 plots in each of 4 nights, got %d", n)
	}
	if fire := strings.Count(page, `<rect class="fire"`); fire != 2 {
		t.Errorf("want the minutes of FIRE marked on 2 platforms, got %d", fire)
	}
	in := xml.NewDecoder(bytes.NewReader([]byte(page)))
	in.Strict, in.AutoClose, in.Entity = false, []string{"meta"}, xml.HTMLEntity
	for {
		if _, err := in.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the page is not well formed: %v", err)
		}
	}
}

// Nights lie on civil days; one whose clock does not show the start once is skipped, with the reason, and none outlasts the record.
func TestNightsOverChangesOfTheClock(t *testing.T) {
	t.Parallel()
	text := strings.Replace(exampleText(t, "tls13-canary.yaml"), "timezone: Asia/Shanghai", "timezone: Europe/Berlin", 1)
	p, problems := plans.Parse("plan.yaml", []byte(text))
	if problems.HasErrors() {
		t.Fatal(problems.Render([]byte(text)))
	}
	at := func(s string) time.Time {
		when, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	tests := []struct {
		name, first, last string
		want              []string
		skipped           string
	}{
		{"put forward", "2026-03-28T00:00:00Z", "2026-03-30T23:00:00Z", []string{"2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"}, "2026-03-29 the clock of Europe/Berlin is put forward over 02:30:00"},
		{"put back", "2026-10-24T00:00:00Z", "2026-10-26T23:00:00Z", []string{"2026-10-24T00:30:00Z", "2026-10-26T01:30:00Z"}, "2026-10-25 the clock of Europe/Berlin shows 02:30:00 twice"},
		{"the record begins after the start", "2026-05-01T03:00:00Z", "2026-05-03T00:45:00Z", []string{"2026-05-02T00:30:00Z", "2026-05-03T00:30:00Z"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			last := at(test.last)
			nights, skipped := nightly{clock: "02:30:00", length: time.Hour}.nights(p, whole(at(test.first), last))
			var starts []string
			for _, n := range nights {
				starts = append(starts, n.Start.UTC().Format(time.RFC3339))
				if want := min(time.Hour, last.Sub(n.Start)); n.End.Sub(n.Start) != want {
					t.Errorf("the night of %s lasts %s, want %s", n.Start, n.End.Sub(n.Start), want)
				}
			}
			if diff := cmp.Diff(test.want, starts); diff != "" {
				t.Errorf("nights mismatch (-want +got):\n%s", diff)
			}
			var said []string
			for _, s := range skipped {
				said = append(said, s.Day+" "+s.Why)
			}
			if why := strings.Join(said, "; "); why != test.skipped {
				t.Errorf("skipped: want %q, got %q", test.skipped, why)
			}
		})
	}
}

func TestRecordedChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := guardrails.MinuteOf(time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC))
	if changes, err := folder(dir).Changes(); err != nil || len(changes) > 0 {
		t.Errorf("no changes.csv: %v %v", changes, err)
	}
	write(t, filepath.Join(dir, "changes.csv"), "at,share,verified\n2021-06-24T18:00:07.3Z,10 %,\n1624557700,30,2021-06-24T18:20:00Z\n")
	changes, err := folder(dir).Changes()
	if err != nil {
		t.Fatal(err)
	}
	wantChanges := []backtest.Change{
		{At: m.Start().Add(7300 * time.Millisecond), Share: 10},
		{At: m.Start().Add(100 * time.Second), Share: 30, Verified: m.Start().Add(20 * time.Minute)},
	}
	if diff := cmp.Diff(wantChanges, changes); diff != "" {
		t.Errorf("changes mismatch (-want +got):\n%s", diff)
	}
}

// whole is a record of every minute between two instants.
func whole(first, last time.Time) minutes {
	out := minutes{first: guardrails.MinuteOf(first), last: guardrails.MinuteOf(last) - 1, rows: 1, known: map[guardrails.Minute]bool{}}
	for m := out.first; m <= out.last; m++ {
		out.known[m] = true
	}
	return out
}
