package guardrails_test

import (
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// The canary's rows arrive, the numbers of the rule do not.
func TestBlindOfAField(t *testing.T) {
	var rows []guardrails.Row
	for m := night; m < night+30; m++ {
		c := normal(1000)
		if m >= night+5 {
			c.Has &^= guardrails.HasErrors
		}
		rows = append(rows, row(guardrails.Primary, m, c), row(guardrails.Backup, m, normal(1000)))
	}
	tab := table(night, night+29, rows...)
	v := guardrails.Judge(&tab, baseline(), rules()["errors"], "ios", guardrails.Primary, quiet(settled(night+29)))
	if v.State != guardrails.Blind || v.Decision() != guardrails.RollBack {
		t.Errorf("25 minutes blind on the canary alone: %s for %d, both %v: %s", v.State, v.BlindFor, v.BlindBoth, v.Decision())
	}
}

// FAST is weakened by older minutes of the window.
func TestFastIsNotWeak(t *testing.T) {
	r := rules()["total"]
	r.For, r.Within = 20*time.Minute, 30*time.Minute
	var rows []guardrails.Row
	for m := night; m < night+30; m++ {
		c := normal(1000)
		c.TotalMS *= 1.21
		if m >= night+25 {
			c = normal(1000)
			c.TotalMS *= 1.85
		}
		rows = append(rows, row(guardrails.Primary, m, c))
	}
	tab := table(night, night+29, rows...)
	v := guardrails.Judge(&tab, baseline(), r, "ios", guardrails.Primary, quiet(settled(night+29)))
	if v.Decision() != guardrails.RollBack {
		t.Errorf("+85 %% for five minutes, %s weak %v: %s", v.State, v.Weak, v.Decision())
	}
}

// A SUSPECT of another rule on another platform speaks for 50 % errors.
func TestOthersPlatform(t *testing.T) {
	b := baseline()
	b.Series = append(b.Series, usual("android", guardrails.Primary), usual("android", guardrails.Backup))
	b.Alike = []guardrails.Alike{{Rule: "total_time", Platform: "android"}}
	var rows []guardrails.Row
	for m := night; m < night+30; m++ {
		for _, leg := range []guardrails.Leg{guardrails.Primary, guardrails.Backup} {
			c := normal(1000)
			if m >= night+24 {
				c.TotalMS *= 1.21 // on both, six minutes
			}
			rows = append(rows, guardrails.Row{Platform: "android", Leg: leg, Minute: m, Counts: c})
			e := normal(1000)
			if leg == guardrails.Primary && m >= night+15 {
				e.Errors = 500
			}
			rows = append(rows, row(leg, m, e))
		}
	}
	tab := table(night, night+29, rows...)
	for _, v := range guardrails.JudgeAll(&tab, b, []guardrails.Rule{rules()["errors"], rules()["total"]}, guardrails.Primary, quiet(settled(night+29))) {
		t.Logf("%s %s %s %s: %s", v.Rule, v.Platform, v.State, v.Control, v.Decision())
		if v.Rule == "error_rate" && v.Platform == "ios" && v.Decision() != guardrails.RollBack {
			t.Errorf("50 %% errors on ios for 15 minutes: %s", v.Decision())
		}
	}
}

// What the time of day does, it does to both legs: without a week it is no reason to roll back after a while.
func TestWeakDenied(t *testing.T) {
	v := guardrails.Verdict{Mode: guardrails.Act, State: guardrails.Fire, Weak: true, Control: guardrails.ControlDenies}
	if v.Decision() != guardrails.HoldHere {
		t.Errorf("weak and denied: %s", v.Decision())
	}
}

// A source that counts only status classes.
func TestSelfTestStatusOnly(t *testing.T) {
	c := guardrails.Counts{Status2xx: 590, Status4xx: 5, Status5xx: 5, Has: guardrails.HasStatus}
	tab := table(night-60, night-1, append(span("ios", guardrails.Primary, night-1, 60, c), span("ios", guardrails.Backup, night-1, 60, c)...)...)
	if got := doubts(tab, 50, rules()["status"]); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// 1 % of a thin platform: minutes without a request are left out by the source.
func TestBlindWhereNothingIsExpected(t *testing.T) {
	var rows []guardrails.Row
	for m := night; m < night+30; m++ {
		if m < night+18 {
			rows = append(rows, row(guardrails.Primary, m, guardrails.Counts{Requests: 1, TotalMS: 200, Has: all}))
		}
		rows = append(rows, row(guardrails.Backup, m, normal(25)))
	}
	tab := table(night, night+29, rows...)
	s := quiet(settled(night + 29))
	s.Share = 1
	v := guardrails.Judge(&tab, baseline(), rules()["errors"], "ios", guardrails.Primary, s)
	if v.Decision() == guardrails.RollBack {
		t.Errorf("a quarter of a request a minute is expected, and it rolls back: %s for %d", v.State, v.BlindFor)
	}
}

// Tls time falls to nothing without a week: the drop is always weak, and the control cannot be asked.
func TestTLSTimeGone(t *testing.T) {
	b := baseline()
	b.Alike = []guardrails.Alike{{Rule: "tls_time", Platform: "ios"}}
	var rows []guardrails.Row
	for m := night; m < night+30; m++ {
		c := normal(1000)
		if m >= night+10 {
			c.TLSMS = 0
		}
		rows = append(rows, row(guardrails.Primary, m, c), row(guardrails.Backup, m, normal(1000)))
	}
	tab := table(night, night+29, rows...)
	v := guardrails.Judge(&tab, b, rules()["tls"], "ios", guardrails.Primary, quiet(settled(night+29)))
	if v.Decision() != guardrails.RollBack {
		t.Errorf("TLS time of 0 ms, the backup 100 ms: %s %s weak %v: %s", v.State, v.Control, v.Weak, v.Decision())
	}
}
