package plans_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/plans/examples"
)

// The earliest end of the default plan from 02:00: draining, three shares verified in 9 minutes each (TTL 1, five of data, settle 1, two
// ticks) and baked for 20, 20 and 30, then until 19:00 the same day.
func TestEndAfterAddsUpWaits(t *testing.T) {
	tests := []struct {
		name string
		last []plans.Step
		want time.Duration
	}{
		{"no observation", nil, 4*9*time.Minute + 70*time.Minute},
		{"until a clock time", []plans.Step{plans.Observe{Until: "19:00"}}, 17 * time.Hour},
		{"longer than a day", []plans.Step{plans.Observe{For: 30 * time.Hour}}, 4*9*time.Minute + 70*time.Minute + plans.ObserveCap},
	}
	text, ok := examples.Source("tls13-canary.yaml")
	if !ok {
		t.Fatal("no example")
	}
	p, problems := plans.Parse("plan.yaml", []byte(text))
	if problems.HasErrors() {
		t.Fatal(problems.Render([]byte(text)))
	}
	start, _, err := p.StartAt()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			q := *p
			q.Steps = slices.Concat(p.Steps[:len(p.Steps)-1], test.last)
			if got := q.EndAfter(start.UTC()).Sub(start); got != test.want {
				t.Errorf("want %s, got %s", test.want, got)
			}
		})
	}
}

func TestOnClockOverChangesOfTheClock(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for civil, want := range map[string]int{"2026-03-29 02:30": 0, "2026-10-25 02:30": 2, "2026-03-30 02:30": 1} {
		at, err := time.Parse("2006-01-02 15:04", civil)
		if err != nil {
			t.Fatal(err)
		}
		if got := plans.OnClock(at, berlin); len(got) != want {
			t.Errorf("%s: want %d instants, got %v", civil, want, got)
		}
	}
}
