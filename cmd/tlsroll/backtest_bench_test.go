package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/guardrails/backtest"
	"github.com/tlsroll/tlsroll/plans"
)

// generated writes a record of days for the default plan from a seed: two platforms on both legs at 60 % and the primary's statuses, each
// night from 00:30 to 05:00 or, with whole, around the clock. incident changes the primary's counts of a minute; nil does not.
func generated(t testing.TB, dir string, p *plans.Plan, days int, whole bool, incident func(day int, clock time.Duration, c *guardrails.Counts)) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, 11))
	noisy := func(mean, spread float64) float64 { return math.Round(mean * (1 + spread*rnd.NormFloat64())) }
	first := time.Date(2021, 5, 26, 0, 0, 0, 0, p.Location())
	var rum, edge strings.Builder
	rum.WriteString("minute,platform,cdn,requests,errors,total_ms,tls_ms,tls,bytes,tls13\n")
	edge.WriteString("minute,requests,status_2xx,status_4xx,status_5xx\n")
	for day := range days {
		begins := first.AddDate(0, 0, day)
		for clock := time.Duration(0); clock < 24*time.Hour; clock += time.Minute {
			if !whole && (clock < 30*time.Minute || clock > 5*time.Hour) {
				continue
			}
			minute := begins.Add(clock).UTC().Format(time.RFC3339)
			busy := 2000 * (1.2 - math.Cos(2*math.Pi*(clock.Hours()-2)/24)) * (1 + 0.02*rnd.NormFloat64())
			for _, platform := range []string{"android", "ios"} {
				for _, leg := range []guardrails.Leg{guardrails.Primary, guardrails.Backup} {
					n := noisy(busy*map[guardrails.Leg]float64{guardrails.Primary: 0.6, guardrails.Backup: 0.4}[leg], 0.01)
					c := guardrails.Counts{
						Requests: n, Errors: noisy(0.006*n, 0.1), TotalMS: noisy(280*n, 0.03), TLSMS: noisy(60*n, 0.03), TLS: noisy(0.5*n, 0.005), Bytes: noisy(50_000*n, 0.03),
					}
					if incident != nil && leg == guardrails.Primary {
						incident(day, clock, &c)
					}
					fmt.Fprintf(&rum, "%s,%s,%s,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f\n", minute, platform, leg, c.Requests, c.Errors, c.TotalMS, c.TLSMS, c.TLS, c.Bytes, 0.1*c.TLS)
				}
			}
			n := noisy(1.2*busy, 0.01)
			fmt.Fprintf(&edge, "%s,%.0f,%.0f,%.0f,%.0f\n", minute, n, 0.97*n, noisy(0.02*n, 0.05), noisy(0.005*n, 0.1))
		}
	}
	write(t, filepath.Join(dir, "rum.csv"), rum.String())
	write(t, filepath.Join(dir, "edge.csv"), edge.String())
}

// BenchmarkBacktest30Nights is thirty nights of two and a half hours, two platforms and the six rules of the default plan, reading the CSV
// included. The data are generated from a seed: nights alone, and around the clock.
func BenchmarkBacktest30Nights(b *testing.B) {
	p, problems := plans.Parse("plan.yaml", []byte(exampleText(b, "tls13-canary.yaml")))
	if problems.HasErrors() {
		b.Fatal(problems)
	}
	for _, whole := range []bool{false, true} {
		name := map[bool]string{false: "nights", true: "days"}[whole]
		dir := b.TempDir()
		generated(b, dir, p, 30, whole, nil)
		bt := backtesting{data: dir, length: 150 * time.Minute}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				doc, report, err := bt.judge(p, folder(dir))
				if err != nil || doc.Judged != 30 || len(report.Nights[29].Decisions) != 150 {
					b.Fatalf("%v, %d nights judged, %d decisions in the last", err, doc.Judged, len(report.Nights[29].Decisions))
				}
			}
		})
		b.Run(name+", without reading", func(b *testing.B) {
			in := loaded(b, p, dir)
			b.ReportAllocs()
			for b.Loop() {
				if r := backtest.Run(in); len(r.Nights) != 30 {
					b.Fatal("not judged")
				}
			}
		})
	}
}

// loaded is a record in memory, with thirty nights from 02:00.
func loaded(t testing.TB, p *plans.Plan, dir string) backtest.Input {
	t.Helper()
	in := backtest.Input{Rules: p.Guardrails, TTL: p.DNS.TTL}
	for _, s := range p.Sources {
		rows, err := folder(dir).Rows(s)
		if err != nil {
			t.Fatal(err)
		}
		in.Sources = append(in.Sources, backtest.Source{Name: s.Name, Settle: s.Settle, Rows: rows})
	}
	for day := range 30 {
		start := time.Date(2021, 5, 26+day, 2, 0, 0, 0, p.Location())
		in.Nights = append(in.Nights, backtest.Night{Start: start, End: start.Add(150 * time.Minute)})
	}
	return in
}
