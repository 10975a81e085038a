package plans_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/plans"
)

// The cases are those that guardrails/README.md publishes.
func TestMinutesBackFollowTheClockOfTheZone(t *testing.T) {
	text, err := os.ReadFile("../guardrails/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| night | zone | start | days ago | minutes ago |\n|---|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if !found || len(rows) < 8 {
		t.Fatalf("%d cases: the table is not found", len(rows))
	}
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		t.Run(cells[0], func(t *testing.T) {
			loc, err := time.LoadLocation(cells[1])
			if err != nil {
				t.Fatal(err)
			}
			start, err := time.ParseInLocation("2006-01-02T15:04", cells[2], loc)
			if err != nil {
				t.Fatal(err)
			}
			days, err := strconv.Atoi(cells[3])
			if err != nil {
				t.Fatal(err)
			}
			p := &plans.Plan{Schedule: plans.Schedule{Zone: cells[1]}}
			got := "left out"
			if back, ok := p.MinutesBack(start, days, start.Add(-75*time.Minute), start.Add(3*time.Hour)); ok {
				got = strconv.Itoa(back)
			}
			if got != cells[4] {
				t.Errorf("want %s, got %s", cells[4], got)
			}
		})
	}
}

func TestTheHorizonCoversStepsAndTheWayBack(t *testing.T) {
	start := time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC)
	steps := []plans.Step{
		plans.Shift{Primary: 0},
		plans.TLS{},
		plans.Shift{Primary: 60, Bake: 30 * time.Minute},
		plans.Bake{For: time.Hour},
		plans.Approve{By: "x", TTL: 10 * time.Minute},
		plans.Call{URL: "http://127.0.0.1/"},
	}
	p := &plans.Plan{Schedule: plans.Schedule{Zone: "Asia/Shanghai"}, Steps: steps}
	if got, want := p.Horizon(start), start.Add(45*time.Minute+100*time.Minute+2*time.Hour); !got.Equal(want) {
		t.Errorf("want %s, got %s", want, got)
	}
	p.Steps = append(p.Steps, plans.Observe{Until: "19:00"})
	if got, want := p.Horizon(start), start.Add(19*time.Hour); !got.Equal(want) {
		t.Errorf("until 19:00: want %s, got %s", want, got)
	}
	p.Steps = append(p.Steps, plans.Observe{For: 300 * time.Hour})
	if got, want := p.Horizon(start), start.Add(24*time.Hour); !got.Equal(want) {
		t.Errorf("for ever: want %s, got %s", want, got)
	}
}
