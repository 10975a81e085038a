package plans

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// zoneOf reads a time zone name.
func zoneOf(s string) (string, *flaw) {
	if _, err := time.LoadLocation(s); err != nil || s == "Local" || s == "" {
		return "", &flaw{message: quoted(s) + " is not a time zone", hint: "write it as Asia/Shanghai or UTC"}
	}
	return s, nil
}

// cronOf reads the shape of a cron expression: five fields of the usual characters. What they mean is judged by the scheduler.
func cronOf(s string) (string, *flaw) {
	hint := `write five fields, as "0 2 * * FRI"; the zone stands in timezone`
	if strings.Contains(s, "TZ=") || strings.HasPrefix(s, "@") {
		return "", &flaw{message: quoted(s) + " has a zone or a nickname", hint: hint}
	}
	fields := strings.Fields(s)
	if len(fields) != 5 {
		return "", &flaw{message: quoted(s) + " has " + strconv.Itoa(len(fields)) + " fields", hint: hint}
	}
	for _, f := range fields {
		if strings.Trim(strings.ToUpper(f), "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789*,/-?") != "" {
			return "", &flaw{message: quoted(f) + " is not a field of a cron expression", hint: hint}
		}
	}
	return strings.Join(fields, " "), nil
}

// Location returns the zone of every time of day in the plan. It panics when the zone is none, which Parse excludes.
func (p *Plan) Location() *time.Location {
	loc, err := time.LoadLocation(p.Schedule.Zone)
	if err != nil {
		panic("plans: " + err.Error())
	}
	return loc
}

// StartAt returns the instant of schedule.at. ok is false when the plan has none. It fails when the clock of the zone skips that
// time, or shows it twice and no offset says which; Parse refuses both.
func (p *Plan) StartAt() (at time.Time, ok bool, err error) {
	if p.Schedule.At == "" {
		return time.Time{}, false, nil
	}
	loc, err := time.LoadLocation(p.Schedule.Zone)
	if err != nil {
		return time.Time{}, false, fmt.Errorf("schedule.timezone: %w", err)
	}
	at, f := startAt(p.Schedule.At, loc)
	if f != nil {
		return time.Time{}, false, fmt.Errorf("schedule.at: %s: %s", f.message, f.hint)
	}
	return at, true, nil
}

func startAt(s string, loc *time.Location) (time.Time, *flaw) {
	civil, err := time.Parse(civilLayout, s)
	if err != nil {
		return withOffset(s, loc)
	}
	found := instants(civil, loc)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return time.Time{}, &flaw{
			message: s + " does not exist in " + loc.String() + ": the clock is put forward over it",
			hint:    "the next instant that exists is " + afterGap(civil, loc).Format(civilLayout),
		}
	}
	return time.Time{}, &flaw{
		message: s + " comes twice in " + loc.String() + ": the clock is put back over it",
		hint:    "say which: " + found[0].Format(offsetLayout) + " or " + found[1].Format(offsetLayout),
	}
}

func withOffset(s string, loc *time.Location) (time.Time, *flaw) {
	t, err := time.Parse(offsetLayout, s)
	if err != nil {
		return time.Time{}, &flaw{message: quoted(s) + " is not a date and time", hint: "write it as 2021-06-25T02:00:00"}
	}
	local := t.In(loc)
	_, stated := t.Zone()
	if _, offset := local.Zone(); offset != stated {
		return time.Time{}, &flaw{
			message: s + " is not a time of " + loc.String(),
			hint:    "there it is " + local.Format(offsetLayout),
		}
	}
	return local, nil
}

// shortAt drops an offset that says nothing, so that one instant has one text.
func shortAt(s string, loc *time.Location) string {
	t, f := startAt(s, loc)
	if f != nil {
		return s
	}
	civil, err := time.Parse(civilLayout, t.Format(civilLayout))
	if err != nil || len(instants(civil, loc)) != 1 {
		return t.Format(offsetLayout)
	}
	return t.Format(civilLayout)
}

// AdvanceUntilAfter returns the instant from which no step may raise the share: the first time after start at which the zone's
// clock shows schedule.advance_until. ok is false when the plan has none.
func (p *Plan) AdvanceUntilAfter(start time.Time) (until time.Time, ok bool) {
	if p.Schedule.AdvanceUntil == "" {
		return time.Time{}, false
	}
	return nextClock(p.Schedule.AdvanceUntil, start, p.Location()), true
}

// EndAfter returns when an observation that begins at start ends, in loc: For later, or the next time that the clock shows Until.
// A clock time that is skipped that day counts at the end of the gap; one that comes twice counts each time.
func (o Observe) EndAfter(start time.Time, loc *time.Location) time.Time {
	if o.Until == "" {
		return start.Add(o.For)
	}
	return nextClock(o.Until, start, loc)
}

// nextClock returns the first instant after start at which the clock in loc shows "15:04".
func nextClock(clock string, start time.Time, loc *time.Location) time.Time {
	c, err := time.Parse("15:04", clock)
	if err != nil {
		panic("plans: " + clock + " is not a clock time")
	}
	y, m, day := start.In(loc).Date()
	for i := range 4 {
		civil := time.Date(y, m, day+i-1, c.Hour(), c.Minute(), 0, 0, time.UTC)
		found := instants(civil, loc)
		if len(found) == 0 {
			found = []time.Time{afterGap(civil, loc)}
		}
		for _, t := range found {
			if t.After(start) {
				return t
			}
		}
	}
	panic("plans: no " + clock + " within two days after " + start.String() + " in " + loc.String())
}

// instants returns every instant at which the clock in loc shows the civil time, in order: one as a rule, none in a gap, two when the
// clock is put back. The fields of civil are read in UTC. The two zones next to the one that [time.Date] guesses hold all candidates.
func instants(civil time.Time, loc *time.Location) []time.Time {
	guess := inZone(civil, loc)
	from, to := guess.ZoneBounds()
	near := []time.Time{guess}
	if !from.IsZero() {
		near = append([]time.Time{from.Add(-1)}, near...)
	}
	if !to.IsZero() {
		near = append(near, to)
	}
	var found []time.Time
	for _, n := range near {
		_, offset := n.Zone()
		t := civil.Add(-time.Duration(offset) * time.Second).In(loc)
		if t.Format(civilLayout) == civil.Format(civilLayout) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, time.Time.Compare)
	return slices.CompactFunc(found, time.Time.Equal)
}

// afterGap returns the first instant after the gap that holds the civil time.
func afterGap(civil time.Time, loc *time.Location) time.Time {
	guess := inZone(civil, loc)
	from, to := guess.ZoneBounds()
	if guess.Format(civilLayout) < civil.Format(civilLayout) {
		return to
	}
	return from
}

func inZone(civil time.Time, loc *time.Location) time.Time {
	y, m, d := civil.Date()
	return time.Date(y, m, d, civil.Hour(), civil.Minute(), civil.Second(), 0, loc)
}
