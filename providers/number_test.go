package providers_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers"
)

func TestEachNumberFillsItsField(t *testing.T) {
	var all providers.Tally
	for i, n := range providers.Numbers() {
		if back, ok := providers.NumberOf(n.String()); !ok || back != n {
			t.Errorf("%v is read back as %v, %v", n, back, ok)
		}
		all.Add(n, float64(i+1))
	}
	got := guardrails.Row{Platform: "ios", Leg: guardrails.Backup, Minute: 7}
	all.Fill(&got)
	want := guardrails.Row{Platform: "ios", Leg: guardrails.Backup, Minute: 7, Counts: guardrails.Counts{
		Requests: 1, Errors: 2, TotalMS: 3, TLSMS: 4, TLS: 5, Bytes: 6, TLS13: 7, Status2xx: 8, Status4xx: 9, Status5xx: 10,
		Has: guardrails.HasRequests | guardrails.HasErrors | guardrails.HasTotalMS | guardrails.HasTLSMS | guardrails.HasTLS |
			guardrails.HasBytes | guardrails.HasTLS13 | guardrails.HasStatus,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	for _, name := range []string{"", "minute", "Requests", "number ?"} {
		if n, ok := providers.NumberOf(name); ok {
			t.Errorf("%q is the number %v", name, n)
		}
	}
}

func TestWhatIsNoCountMakesTheRowUnknown(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, -1e-300} {
		for _, n := range providers.Numbers() {
			var tally providers.Tally
			tally.Add(providers.Requests, 1)
			tally.Add(n, v)
			tally.Add(providers.Bytes, 2)
			var got guardrails.Row
			tally.Fill(&got)
			if want := (guardrails.Row{Unknown: guardrails.NotANumber}); got != want {
				t.Errorf("%v of %v: %+v", n, v, got)
			}
		}
	}
	var zero providers.Tally
	zero.Add(providers.Requests, math.Copysign(0, -1))
	var got guardrails.Row
	zero.Fill(&got)
	if got.Unknown != 0 || math.Signbit(got.Counts.Requests) || got.Counts.Has != guardrails.HasRequests {
		t.Errorf("-0 is %+v, want 0", got)
	}
}

// Shares of some classes would be shares of something else.
func TestStatusClassesCountTogetherOrNotAtAll(t *testing.T) {
	classes := []providers.Number{providers.Status2xx, providers.Status4xx, providers.Status5xx}
	for _, missing := range classes {
		var tally providers.Tally
		for _, n := range classes {
			if n != missing {
				tally.Add(n, 5)
			}
		}
		var got guardrails.Row
		tally.Fill(&got)
		if got != (guardrails.Row{}) {
			t.Errorf("without %v: %+v", missing, got)
		}
	}
}

func TestSpacingTellsAGridFromGaps(t *testing.T) {
	for name, test := range map[string]struct {
		minutes []guardrails.Minute
		want    int
	}{
		"none":                  {nil, 1},
		"every minute":          {[]guardrails.Minute{0, 1, 2, 3, 4}, 1},
		"gaps":                  {[]guardrails.Minute{0, 2, 4, 6, 7}, 1},
		"wider gaps at the end": {[]guardrails.Minute{0, 5, 10, 15, 25}, 1},
		"five minutes":          {[]guardrails.Minute{0, 5, 10, 15}, 5},
		"out of order, twice":   {[]guardrails.Minute{30, 0, 20, 10, 10}, 10},
		"too few to tell":       {[]guardrails.Minute{0, 5, 10, 10}, 1},
	} {
		var rows []guardrails.Row
		for _, m := range test.minutes {
			rows = append(rows, guardrails.Row{Platform: "ios", Leg: guardrails.Backup, Minute: m})
		}
		for m := range guardrails.Minute(4) { // another series says nothing about this one
			rows = append(rows, guardrails.Row{Platform: "ios", Leg: guardrails.Primary, Minute: m}, guardrails.Row{Platform: "web", Leg: guardrails.Backup, Minute: 2*m + m/3})
		}
		if got := providers.Spacing(rows); got != test.want {
			t.Errorf("%s: %d minutes apart, want %d", name, got, test.want)
		}
	}
}
