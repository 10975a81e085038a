package guardrails_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
)

// A clock that is two minutes fast asks for minutes that are not there yet: they may yet come, and neither hide a breach nor make
// blindness. One that is two minutes slow sees the night two minutes later, and nothing else.
func TestAClockThatIsTwoMinutesOff(t *testing.T) {
	const last = 20
	for name, level := range map[string]float64{"healthy": 5, "breaching": 60} {
		var rows []guardrails.Row
		for m := night; m <= night+last; m++ {
			rows = append(rows, row(guardrails.Primary, m, failing(1000, level)), row(guardrails.Backup, m, normal(1000)))
		}
		judged := func(off time.Duration) guardrails.Verdict {
			now := settled(night + last).Add(off)
			b := batch(night, guardrails.MinuteOf(now.Add(-settle))-1, rows...)
			tab := guardrails.Table{}.Merge(b, now)
			return guardrails.Judge(&tab, baseline(), rules()["errors"], "ios", guardrails.Primary, quiet(now))
		}
		right, fast, slow := judged(0), judged(2*time.Minute), judged(-2*time.Minute)
		if fast.State != right.State || fast.Through != right.Through {
			t.Errorf("%s, two minutes fast: %+v, want %+v", name, fast, right)
		}
		right.From, right.Through = right.From-2, right.Through-2
		if diff := cmp.Diff(right, slow); diff != "" {
			t.Errorf("%s, two minutes slow (-want +got):\n%s", name, diff)
		}
	}
}
