package plans_test

import (
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/plans"
)

func TestMinutesBackFollowTheClockOfTheZone(t *testing.T) {
	const day = 24 * 60
	at := func(zone, s string) (*plans.Plan, time.Time) {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		when, err := time.ParseInLocation("2006-01-02T15:04", s, loc)
		if err != nil {
			t.Fatal(err)
		}
		return &plans.Plan{Schedule: plans.Schedule{Zone: zone}}, when
	}
	for _, test := range []struct {
		name, zone, at string
		days           int
		want           int // 0: the day is left out
	}{
		{"a zone without changes", "Asia/Shanghai", "2021-06-25T02:00", 7, 7 * day},
		{"two days after the clock was put forward", "Europe/Berlin", "2021-03-30T02:30", 3, 3*day - 60},
		{"the day it was put forward, at night", "Europe/Berlin", "2021-03-30T02:30", 2, 0},
		{"the day it was put forward, in the evening", "Europe/Berlin", "2021-03-30T20:00", 2, 2 * day},
		{"the day it was put back, at night", "Europe/Berlin", "2021-11-02T02:30", 2, 0},
		{"before it was put back", "Europe/Berlin", "2021-11-02T02:30", 3, 3*day + 60},
		{"a change in the night itself", "Europe/Berlin", "2021-10-31T00:30", 1, 0},
		{"a change by half an hour", "Australia/Lord_Howe", "2021-10-05T12:00", 5, 5*day - 30},
	} {
		p, when := at(test.zone, test.at)
		got, ok := p.MinutesBack(when, test.days, when.Add(-75*time.Minute), when.Add(3*time.Hour))
		if ok != (test.want != 0) || ok && got != test.want {
			t.Errorf("%s: want %d, got %d, %v", test.name, test.want, got, ok)
		}
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
