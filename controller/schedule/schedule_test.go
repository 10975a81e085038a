package schedule_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/tlsroll/tlsroll/controller/schedule"
	"github.com/tlsroll/tlsroll/plans"
)

func TestStart(t *testing.T) {
	tests := []struct {
		name     string
		schedule plans.Schedule
		now      string
		want     string // an instant, "none", or words of the error
	}{
		{"no schedule starts when applied", plans.Schedule{Zone: "UTC"}, "2026-03-01T00:00:00Z", "none"},
		{"at is an instant in the zone", plans.Schedule{At: "2021-06-25T02:00:00", Zone: "Asia/Shanghai"}, "2026-03-01T00:00:00Z", "2021-06-24T18:00:00Z"},
		{"cron is the next one", plans.Schedule{Cron: "0 2 * * FRI", Zone: "Asia/Shanghai"}, "2026-11-30T23:00:00Z", "2026-12-03T18:00:00Z"},
		{"cron just after its minute waits a week", plans.Schedule{Cron: "0 2 * * FRI", Zone: "Asia/Shanghai"}, "2026-12-03T18:00:01Z", "2026-12-10T18:00:00Z"},
		{"a zone inside the expression", plans.Schedule{Cron: "TZ=Asia/Shanghai", Zone: "UTC"}, "2026-03-01T00:00:00Z", "does not belong here"},
		{"a descriptor", plans.Schedule{Cron: "@daily", Zone: "UTC"}, "2026-03-01T00:00:00Z", "five fields"},
		{"a date that never comes", plans.Schedule{Cron: "0 2 31 2 *", Zone: "UTC"}, "2026-03-01T00:00:00Z", "never comes"},
		{"no expression at all", plans.Schedule{Cron: "tonight", Zone: "UTC"}, "2026-03-01T00:00:00Z", "schedule.cron"},
		{"the hour that the clocks skip", plans.Schedule{Cron: "30 2 * * *", Zone: "America/Los_Angeles"}, "2026-03-08T08:00:00Z", "skip the start on 2026-03-08"},
		{"the night before is not skipped", plans.Schedule{Cron: "30 2 * * *", Zone: "America/Los_Angeles"}, "2026-03-07T08:00:00Z", "2026-03-07T10:30:00Z"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, test.now)
			if err != nil {
				t.Fatal(err)
			}
			at, ok, err := schedule.Start(&plans.Plan{Schedule: test.schedule}, now)
			got := "none"
			switch {
			case err != nil:
				got = err.Error()
			case ok:
				got = at.UTC().Format(time.RFC3339)
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("want %s, got %s", test.want, got)
			}
		})
	}
}
