package guardrails_test

import (
	"runtime"
	"testing"

	"github.com/tlsroll/tlsroll/guardrails"
)

// full is three hours of two platforms on both legs, as a run keeps them.
func full() guardrails.Table {
	var rows []guardrails.Row
	for _, p := range []string{"android", "ios"} {
		rows = append(rows, span(p, guardrails.Primary, night+179, 180, normal(600))...)
		rows = append(rows, span(p, guardrails.Backup, night+179, 180, normal(400))...)
	}
	return table(night, night+179, rows...)
}

// BenchmarkJudge is one rule on one series for one minute.
func BenchmarkJudge(b *testing.B) {
	tab := full()
	base := guardrails.Freeze(tab, nil, nil, settled(night+60))
	s := quiet(settled(night + 179))
	for _, name := range []string{"errors", "total", "status", "silence"} {
		rule := rules()[name]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v := guardrails.Judge(&tab, &base, rule, "ios", guardrails.Primary, s); v.State != guardrails.Clear {
					b.Fatalf("%+v", v)
				}
			}
		})
	}
}

// BenchmarkMerge is one tick's answer: the last quarter of an hour of four series.
func BenchmarkMerge(b *testing.B) {
	tab := full()
	var rows []guardrails.Row
	for _, p := range []string{"android", "ios"} {
		rows = append(rows, span(p, guardrails.Primary, night+180, 15, normal(600))...)
		rows = append(rows, span(p, guardrails.Backup, night+180, 15, normal(400))...)
	}
	tick, now := batch(night+166, night+180, rows...), settled(night+180)
	b.ReportAllocs()
	for b.Loop() {
		if merged := tab.Merge(tick, now); merged.Through("rum", now) != night+180 {
			b.Fatal("not merged")
		}
	}
}

// BenchmarkVerifyShare is one question about the total and two platforms.
func BenchmarkVerifyShare(b *testing.B) {
	tab := full()
	base := guardrails.Freeze(tab, nil, nil, settled(night+60))
	q := moved(30, 60, night+179)
	b.ReportAllocs()
	for b.Loop() {
		if a := guardrails.VerifyShare(&tab, &base, q); !a.Verified {
			b.Fatalf("%+v", a)
		}
	}
}

// BenchmarkJudgeWithAWeek is BenchmarkJudge for a mean whose baseline has the shape of seven days, and a control leg.
func BenchmarkJudgeWithAWeek(b *testing.B) {
	tab := full()
	week := guardrails.Week{Until: night + 180}
	for d := 1; d <= guardrails.WeekDays; d++ {
		week.Days = append(week.Days, earlier(d, 600, 1, never))
	}
	rule := rules()["total"]
	base := guardrails.Freeze(tab, &week, []guardrails.Rule{rule}, settled(night+60))
	s := quiet(settled(night + 179))
	b.ReportAllocs()
	for b.Loop() {
		if v := guardrails.Judge(&tab, &base, rule, "ios", guardrails.Primary, s); v.State != guardrails.Clear {
			b.Fatalf("%+v", v)
		}
	}
}

// BenchmarkTableOfAWeek merges seven days of twenty series in one answer; B/op is what the table holds, and a little more.
func BenchmarkTableOfAWeek(b *testing.B) {
	const series, minutes = 20, 7 * 24 * 60
	var rows []guardrails.Row
	for i := range series / 2 {
		platform := string(rune('a' + i))
		rows = append(rows, span(platform, guardrails.Primary, night+minutes-1, minutes, normal(600))...)
		rows = append(rows, span(platform, guardrails.Backup, night+minutes-1, minutes, normal(400))...)
	}
	answer, now := batch(night, night+minutes-1, rows...), settled(night+minutes-1)
	b.ReportAllocs()
	for b.Loop() {
		if t := (guardrails.Table{}).Merge(answer, now); len(t.Platforms("rum")) != series/2 {
			b.Fatal("not merged")
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := (guardrails.Table{}).Merge(answer, now)
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB-kept")
	runtime.KeepAlive(kept)
	runtime.KeepAlive(answer)
}
