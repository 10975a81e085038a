package guardrails_test

import (
	"math"
	"testing"

	"github.com/tlsroll/tlsroll/guardrails"
)

// moves is a night whose handshakes took before ms until the change and take after ms from then on, with a wave of some percent on top.
func moves(before, after, wave float64, minutes int) (guardrails.Table, guardrails.Minute) {
	var rows []guardrails.Row
	last := night + guardrails.Minute(minutes) - 1
	for m := night - 60; m <= last; m++ {
		c := normal(1000)
		ms := before
		if m >= night {
			ms = after
		}
		c.TLSMS = c.TLS * ms * (1 + wave/100*math.Sin(float64(m)))
		rows = append(rows, row(guardrails.Primary, m, c))
	}
	return table(night-60, last, rows...), last
}

func measured(t *testing.T, tab guardrails.Table, last guardrails.Minute, week *guardrails.Week) (guardrails.Effect, bool) {
	t.Helper()
	cut := tab
	early := guardrails.Freeze(cut, week, nil, settled(night-1))
	return guardrails.Measure(&tab, &early, []guardrails.Rule{rules()["tls"]}, guardrails.TLSTime, "rum", "ios", night, quiet(settled(last)))
}

// The change that the product automates: 210 to 137 ms is −34.8 %, which its report printed as −34.
func TestTheEffectIsComputedAndNotTruncated(t *testing.T) {
	tab, last := moves(210, 137, 3, 40)
	e, ok := measured(t, tab, last, nil)
	if !ok || math.Abs(e.Raw+34.8) > 0.3 || e.Minutes != 30 || e.Requests != 30_000 || e.Adjusted {
		t.Errorf("%v: %+v", ok, e)
	}
	if !(e.Low < e.Change && e.Change < e.High) || e.High-e.Low > 5 || e.AfterLow > 137 || e.AfterTop < 137 {
		t.Errorf("the interval is %v to %v around %v, after %v to %v", e.Low, e.High, e.Change, e.AfterLow, e.AfterTop)
	}
	again, _ := measured(t, tab, last, nil)
	if again != e {
		t.Errorf("a second time it is %+v, not %+v", again, e)
	}
}

func TestTheEffectTakesTheTimeOfDayOut(t *testing.T) {
	tab, last := moves(200, 240, 0, 60) // 20 % slower, as every night
	week := guardrails.Week{Until: night + 120}
	for d := 1; d <= 7; d++ {
		week.Days = append(week.Days, earlier(d, 600, 1.2, never))
	}
	e, ok := measured(t, tab, last, &week)
	if !ok || math.Abs(e.Raw-20) > 0.1 || math.Abs(e.Change) > 0.1 || !e.Adjusted {
		t.Errorf("%v: %+v", ok, e)
	}
}

func TestAnEffectNeedsTwentyMinutes(t *testing.T) {
	for minutes, want := range map[int]bool{19: false, 20: true} {
		tab, last := moves(200, 240, 0, minutes)
		if _, ok := measured(t, tab, last, nil); ok != want {
			t.Errorf("%d minutes: %v", minutes, ok)
		}
	}
}

func TestAnImprovementBeyondTheDropIsTooGood(t *testing.T) {
	for after, want := range map[float64]bool{61: false, 59: true} { // the rule drops at 70 %
		tab, last := moves(200, after, 0, 40)
		if e, _ := measured(t, tab, last, nil); e.TooGood != want {
			t.Errorf("%v ms after 200: too good is %v", after, e.TooGood)
		}
	}
}
