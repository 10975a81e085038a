package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/sim"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// A night that was carried out, written to CSV with its changes and judged again, leads to the decisions of its journal, byte for byte,
// in every minute whose windows hold no row that was revised after it had settled: one in a hundred is in this world.
func TestBacktestDecidesWhatTheRunDecided(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fault world.Fault
		quiet bool
		want  rollout.Phase
		least float64 // of the minutes can be compared
	}{
		{"a quiet night", world.None, true, rollout.Succeeded, 0.98},
		{"a night with noise and revisions", world.None, false, rollout.Succeeded, 0.6},
		{"errors without noise", world.Errors10, true, rollout.RolledBack, 0.85},
		{"errors with noise", world.Errors10, false, rollout.RolledBack, 0.6},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, night := simulated(t, sim.Options{Fault: test.fault, Quiet: test.quiet, Seed: 11})
			if night.Run.End.Phase != test.want {
				t.Fatalf("ended as %+v", *night.Run.End)
			}
			dir := t.TempDir()
			writeRows(t, dir, p, night.Records)
			writeChanges(t, dir, night.Records)
			run := night.Run
			b := backtesting{data: dir, from: run.Baseline.At.In(p.Location()).Format(clockLayout), length: run.At.Sub(run.Baseline.At)}
			_, report, err := b.judge(p, folder(dir))
			if err != nil || len(report.Nights) != 1+guardrails.WeekDays { // the week before was asked for, and is on record
				t.Fatalf("backtest: %v, %d nights", err, len(report.Nights))
			}
			judged := report.Nights[guardrails.WeekDays]
			if judged.Thin != "" {
				t.Fatal(judged.Thin)
			}
			decided, writing := decisions(t, night.Records)
			late, compared := revised(night.Records), 0
			for _, d := range judged.Decisions {
				m := guardrails.MinuteOf(d.At)
				want, ok := decided[m]
				if !ok || writing[m] || rests(d.Verdicts, late) {
					continue
				}
				compared++
				if got := lines(t, d.Verdicts); got != want {
					t.Fatalf("%s\nrun:\n%s\nbacktest:\n%s", m.Start().In(p.Location()).Format("15:04"), want, got)
				}
			}
			if all := int(run.At.Sub(run.Baseline.At) / time.Minute); float64(compared) < test.least*float64(all) || len(writing) > 2*len(night.Writes) {
				t.Errorf("compared %d of %d minutes; a write was under way in %d, after %d writes", compared, all, len(writing), len(night.Writes))
			}
		})
	}
}

// simulated plays the default plan from the state of the lab.
func simulated(t *testing.T, o sim.Options) (*plans.Plan, sim.Night) {
	t.Helper()
	p, problems := plans.Parse("plan.yaml", []byte(exampleText(t, "tls13-canary.yaml")))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	start, _, err := p.StartAt()
	if err != nil {
		t.Fatal(err)
	}
	night, err := sim.Play(t.Context(), sim.New(p, observedState(), start, o), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p, night
}

func observedState() plans.State {
	return plans.State{
		Primary: plans.CDNState{
			Domain: "cdn.example.com", CNAME: "cdn.example.com.w.example.net", Status: "online", Online: true, Certificate: true, TLSReadable: true,
			TLS: plans.TLSSettings{Explicit: true, Enabled: plans.TLSSetOf(plans.TLS12), ConfigID: "7", Status: plans.ConfigLive},
		},
		Backup: plans.CDNState{Domain: "cdn.example.com", CNAME: "cdn-example-com.q.example.net", Status: "success", Online: true, Certificate: true},
		DNS: plans.DNSState{Weighted: true, MinTTL: time.Second, Records: []plans.Record{
			{ID: "1", Name: "cdn", Type: "CNAME", Value: "cdn.example.com.w.example.net", Line: "default", TTL: time.Minute, Weight: 60, WeightKnown: true, Enabled: true},
			{ID: "2", Name: "cdn", Type: "CNAME", Value: "cdn-example-com.q.example.net", Line: "default", TTL: time.Minute, Weight: 40, WeightKnown: true, Enabled: true},
		}},
	}
}

// decisions are the last verdicts that the run reached in each minute, and the minutes in which a write was under way.
func decisions(t *testing.T, records []rollout.Record) (decided map[guardrails.Minute]string, writing map[guardrails.Minute]bool) {
	t.Helper()
	decided, writing = map[guardrails.Minute]string{}, map[guardrails.Minute]bool{}
	var run rollout.Run
	for _, rec := range records {
		before := run
		run, _ = rollout.Next(run, rec)
		m := guardrails.MinuteOf(rec.At)
		if run.Stage > rollout.StageChecking && run.ShareAt.IsZero() {
			writing[m] = true
		}
		if len(run.Verdicts) > 0 && (len(before.Verdicts) == 0 || &before.Verdicts[0] != &run.Verdicts[0]) {
			decided[m] = lines(t, run.Verdicts)
		}
	}
	return decided, writing
}

// revised lists the minutes of which a source told something else after it had told them as settled.
func revised(records []rollout.Record) map[guardrails.Minute]bool {
	type key struct {
		source, platform string
		leg              guardrails.Leg
		minute           guardrails.Minute
	}
	first, out := map[key]guardrails.Row{}, map[guardrails.Minute]bool{}
	for _, rec := range records {
		if m, ok := rec.Event.(rollout.MinutesArrived); ok {
			for _, r := range m.Batch.Rows {
				k := key{m.Batch.Source, r.Platform, r.Leg, r.Minute}
				if was, known := first[k]; known && was != r {
					out[r.Minute] = true
				} else if !known {
					first[k] = r
				}
			}
		}
	}
	return out
}

// rests reports whether a verdict's window holds one of the minutes.
func rests(vs []guardrails.Verdict, on map[guardrails.Minute]bool) bool {
	for _, v := range vs {
		for m := v.From; m <= v.Through; m++ {
			if on[m] {
				return true
			}
		}
	}
	return false
}

func lines(t *testing.T, vs []guardrails.Verdict) string {
	t.Helper()
	var b strings.Builder
	for _, v := range vs {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(data, '\n'))
	}
	return b.String()
}

// writeRows writes what the sources had answered in the end, a file for each.
func writeRows(t *testing.T, dir string, p *plans.Plan, records []rollout.Record) {
	t.Helper()
	type key struct {
		source, platform string
		leg              guardrails.Leg
		minute           guardrails.Minute
	}
	last, order := map[key]guardrails.Row{}, []key{}
	for _, rec := range records {
		m, ok := rec.Event.(rollout.MinutesArrived)
		if !ok {
			continue
		}
		for _, r := range m.Batch.Rows {
			k := key{m.Batch.Source, r.Platform, r.Leg, r.Minute}
			if _, known := last[k]; !known {
				order = append(order, k)
			}
			last[k] = r
		}
	}
	for _, s := range p.Sources {
		var b strings.Builder
		platform := ""
		if s.Type == "prometheus" {
			platform = "platform,"
		}
		b.WriteString("minute," + platform + "cdn,requests,errors,total_ms,tls_ms,tls,bytes,tls13,status_2xx,status_4xx,status_5xx\n")
		for _, k := range order {
			if k.source == s.Name {
				b.WriteString(csvLine(t, last[k]))
			}
		}
		write(t, filepath.Join(dir, s.Name+".csv"), b.String())
	}
}

func csvLine(t *testing.T, r guardrails.Row) string {
	t.Helper()
	if r.Unknown != 0 {
		t.Fatalf("a row that a file cannot hold: %+v", r)
	}
	c := r.Counts
	cells := []string{r.Minute.Start().Format(time.RFC3339), r.Leg.String()}
	if r.Platform != "" {
		cells = slices.Insert(cells, 1, r.Platform)
	}
	for _, n := range []struct {
		value float64
		field guardrails.Field
	}{
		{c.Requests, guardrails.HasRequests},
		{c.Errors, guardrails.HasErrors},
		{c.TotalMS, guardrails.HasTotalMS},
		{c.TLSMS, guardrails.HasTLSMS},
		{c.TLS, guardrails.HasTLS},
		{c.Bytes, guardrails.HasBytes},
		{c.TLS13, guardrails.HasTLS13},
		{c.Status2xx, guardrails.HasStatus},
		{c.Status4xx, guardrails.HasStatus},
		{c.Status5xx, guardrails.HasStatus},
	} {
		cell := ""
		if c.Has&n.field != 0 {
			cell = strconv.FormatFloat(n.value, 'g', -1, 64)
		}
		cells = append(cells, cell)
	}
	return strings.Join(cells, ",") + "\n"
}

// writeChanges writes when a share or the settings were read back, and when the traffic was seen to follow.
func writeChanges(t *testing.T, dir string, records []rollout.Record) {
	t.Helper()
	type change struct {
		at, verified time.Time
		share        plans.Percent
	}
	var changes []change
	var run rollout.Run
	for _, rec := range records {
		before := run
		run, _ = rollout.Next(run, rec)
		if run.Since != before.Since {
			changes = append(changes, change{at: rec.At, share: run.InForce})
		}
		if n := len(changes); n > 0 && changes[n-1].verified.IsZero() && !run.ShareOK.IsZero() {
			changes[n-1].verified = rec.At
		}
	}
	var b strings.Builder
	b.WriteString("at,share,verified\n")
	for _, c := range changes {
		verified := ""
		if !c.verified.IsZero() {
			verified = c.verified.Format(time.RFC3339Nano)
		}
		fmt.Fprintf(&b, "%s,%g,%s\n", c.at.Format(time.RFC3339Nano), float64(c.share), verified)
	}
	if len(changes) < 4 {
		t.Fatalf("only %d changes: %v", len(changes), changes)
	}
	write(t, filepath.Join(dir, "changes.csv"), b.String())
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
