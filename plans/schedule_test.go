package plans_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tlsroll/tlsroll/plans"
)

func at(t *testing.T, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestStartAtIsCivilTime(t *testing.T) {
	for _, test := range []struct{ name, at, zone, want string }{
		{"no summer time", "2021-06-25T02:00:00", "Asia/Shanghai", "2021-06-25T02:00:00+08:00"},
		{"the day before the gap", "2026-03-07T02:30:00", "America/Los_Angeles", "2026-03-07T02:30:00-08:00"},
		{"in the gap", "2026-03-08T02:30:00", "America/Los_Angeles", ""},
		{"the first instant after the gap", "2026-03-08T03:00:00", "America/Los_Angeles", "2026-03-08T03:00:00-07:00"},
		{"twice", "2026-11-01T01:30:00", "America/Los_Angeles", ""},
		{"twice, the first meant", "2026-11-01T01:30:00-07:00", "America/Los_Angeles", "2026-11-01T01:30:00-07:00"},
		{"twice, the second meant", "2026-11-01T01:30:00-08:00", "America/Los_Angeles", "2026-11-01T01:30:00-08:00"},
		{"an offset of elsewhere", "2026-11-01T01:30:00+08:00", "America/Los_Angeles", ""},
		{"half an hour of summer time", "2026-10-04T02:15:00", "Australia/Lord_Howe", ""},
		{"a day that a country skipped", "2011-12-30T12:00:00", "Pacific/Apia", ""},
		{"no zone of that name", "2021-06-25T02:00:00", "Nowhere/Town", ""},
		{"not a time", "tomorrow", "UTC", ""},
	} {
		p := plans.Plan{Schedule: plans.Schedule{At: test.at, Zone: test.zone}}
		got, ok, err := p.StartAt()
		if test.want == "" {
			if ok || err == nil {
				t.Errorf("%s: got %v", test.name, got)
			}
			continue
		}
		if !ok || err != nil || !got.Equal(at(t, test.want)) || got.Location().String() != test.zone {
			t.Errorf("%s: got %v %v, want %s", test.name, got, err, test.want)
		}
	}
	if _, ok, err := (&plans.Plan{}).StartAt(); ok || err != nil {
		t.Errorf("a plan without at starts at a time: %t %v", ok, err)
	}
}

func TestObservationEndsAtTheNextClockTime(t *testing.T) {
	for _, test := range []struct{ name, zone, start, until, want string }{
		{"the same day", "Asia/Shanghai", "2021-06-25T04:00:00+08:00", "19:00", "2021-06-25T19:00:00+08:00"},
		{"the next day", "Asia/Shanghai", "2021-06-25T20:00:00+08:00", "19:00", "2021-06-26T19:00:00+08:00"},
		{"exactly then is the next day", "Asia/Shanghai", "2021-06-25T19:00:00+08:00", "19:00", "2021-06-26T19:00:00+08:00"},
		{"the start is given in another zone", "Asia/Shanghai", "2021-06-24T17:00:00Z", "02:00", "2021-06-25T02:00:00+08:00"},
		{"over the end of a month", "UTC", "2021-06-30T23:00:00Z", "22:00", "2021-07-01T22:00:00Z"},
		{"a time in the gap counts at its end", "America/Los_Angeles", "2026-03-08T01:00:00-08:00", "02:30", "2026-03-08T03:00:00-07:00"},
		{"a time that comes twice counts first", "America/Los_Angeles", "2026-11-01T00:30:00-07:00", "01:30", "2026-11-01T01:30:00-07:00"},
		{"and then again", "America/Los_Angeles", "2026-11-01T01:30:00-07:00", "01:30", "2026-11-01T01:30:00-08:00"},
		{"a day of 25 hours", "America/Los_Angeles", "2026-10-31T20:00:00-07:00", "19:00", "2026-11-01T19:00:00-08:00"},
	} {
		got := plans.Observe{Until: test.until}.EndAfter(at(t, test.start), zone(t, test.zone))
		if !got.Equal(at(t, test.want)) {
			t.Errorf("%s: got %v, want %s", test.name, got, test.want)
		}
		p := plans.Plan{Schedule: plans.Schedule{Zone: test.zone, AdvanceUntil: test.until}}
		if got, ok := p.AdvanceUntilAfter(at(t, test.start)); !ok || !got.Equal(at(t, test.want)) {
			t.Errorf("advance_until, %s: got %v, want %s", test.name, got, test.want)
		}
	}
	start := at(t, "2026-11-01T00:30:00-07:00")
	if got := (plans.Observe{For: 3 * time.Hour}).EndAfter(start, zone(t, "America/Los_Angeles")); got.Sub(start) != 3*time.Hour {
		t.Errorf("three hours end after %v", got.Sub(start))
	}
	if _, ok := (&plans.Plan{}).AdvanceUntilAfter(start); ok {
		t.Error("a plan without advance_until has one")
	}
}

// Liveness: every clock time comes within 25 hours and a half, never at or before the start, and shows the wanted time unless the
// clock skipped it.
func TestNextClockTimeLaw(t *testing.T) {
	zones := []string{"UTC", "Asia/Shanghai", "America/Los_Angeles", "Europe/London", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kolkata"}
	rapid.Check(t, func(t *rapid.T) {
		loc, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Unix(rapid.Int64Range(946684800, 1893456000).Draw(t, "start"), 0)
		clock := time.Unix(rapid.Int64Range(0, 1439).Draw(t, "minute")*60, 0).UTC().Format("15:04")
		end := plans.Observe{Until: clock}.EndAfter(start, loc)
		if !end.After(start) || end.Sub(start) > 25*time.Hour+30*time.Minute {
			t.Fatalf("%s after %v is %v", clock, start.In(loc), end)
		}
		if got := end.In(loc).Format("15:04"); got != clock {
			if before := end.Add(-1).In(loc).Format("15:04"); before >= clock || got < clock {
				t.Fatalf("%s after %v is %v", clock, start.In(loc), end)
			}
		}
	})
}

func TestAtKeepsAnOffsetOnlyWhereItSaysSomething(t *testing.T) {
	for _, test := range []struct{ at, zone, want string }{
		{"2021-06-25T02:00:00", "Asia/Shanghai", "2021-06-25T02:00:00"},
		{"2021-06-25 02:00", "Asia/Shanghai", "2021-06-25T02:00:00"},
		{"2021-06-25T02:00:00+08:00", "Asia/Shanghai", "2021-06-25T02:00:00"},
		{"2021-06-25T02:00Z", "UTC", "2021-06-25T02:00:00"},
		{"2026-11-01T01:30:00-08:00", "America/Los_Angeles", "2026-11-01T01:30:00-08:00"},
	} {
		p := mustParse(t, small+"schedule: {at: "+test.at+", timezone: "+test.zone+"}\n")
		if p.Schedule.At != test.want {
			t.Errorf("%s is kept as %s, want %s", test.at, p.Schedule.At, test.want)
		}
	}
}

// weekly is a plan that starts by cron, which excludes at.
const weekly = small + "schedule: {cron: '0 2  * * FRI', timezone: Asia/Shanghai}\n"

func TestCronIsKeptAsFiveFields(t *testing.T) {
	p := mustParse(t, weekly)
	if p.Schedule.Cron != "0 2 * * FRI" {
		t.Errorf("cron is kept as %q", p.Schedule.Cron)
	}
	if again := mustParse(t, string(plans.Encode(p))); again.Schedule != p.Schedule {
		t.Errorf("it reads back as %+v", again.Schedule)
	}
	if _, ok, err := p.StartAt(); ok || err != nil {
		t.Errorf("a cron plan has one start: %t %v", ok, err)
	}
}
