package plans

import (
	"strconv"
	"strings"
	"time"
)

// flaw is what is wrong with a value, before its position is known.
type flaw struct {
	message string
	hint    string
	secret  bool
}

// quoted returns s in quotes, shortened, for messages. Every message that repeats a value of the file goes through it, so that none
// repeats a secret.
func quoted(s string) string {
	const longest = 60
	if holdsKeyID(s) || looksRandom(s) {
		return "(hidden)"
	}
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest]) + "…"
	}
	return strconv.Quote(s)
}

// numberOf reads a plain decimal: an optional sign, digits, an optional fraction. Exponents, hex, infinities and underscores are not numbers here.
func numberOf(s string) (float64, bool) {
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 || digits == "" || len(digits) > 15 || strings.Trim(digits, "0123456789.") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f + 0, err == nil && digits[0] != '.' && digits[len(digits)-1] != '.' // −0 + 0 is 0
}

// percentOf reads "10%", "-50%" and "0.5 %".
func percentOf(s string) (Percent, *flaw) {
	if body, ok := strings.CutSuffix(s, "%"); ok {
		if f, ok := numberOf(strings.TrimSuffix(body, " ")); ok {
			return Percent(f), nil
		}
	}
	f, isNumber := numberOf(s)
	switch {
	case isNumber && f > 0 && f < 1:
		return 0, &flaw{message: s + " has no unit", hint: "write " + percentText(Percent(f)) + " or " + percentText(Percent(f*100)) + ", whichever is meant"}
	case isNumber:
		return 0, &flaw{message: s + " has no unit", hint: "write " + s + "%"}
	case strings.HasSuffix(s, "pp"):
		return 0, &flaw{message: quoted(s) + " is in percentage points; this is a percentage", hint: "write it with %, as 5%"}
	}
	return 0, &flaw{message: quoted(s) + " is not a percentage", hint: "write it as 10%"}
}

// pointsOf reads "5pp".
func pointsOf(s string) (Points, *flaw) {
	if body, ok := strings.CutSuffix(s, "pp"); ok {
		if f, ok := numberOf(strings.TrimSuffix(body, " ")); ok {
			return Points(f), nil
		}
	}
	if _, ok := numberOf(s); ok {
		return 0, &flaw{message: s + " has no unit", hint: "write " + s + "pp (percentage points)"}
	}
	if strings.HasSuffix(s, "%") {
		return 0, &flaw{message: quoted(s) + " is relative; this is a difference of two percentages", hint: "write it in points, as 5pp"}
	}
	return 0, &flaw{message: quoted(s) + " is not a number of percentage points", hint: "write it as 5pp"}
}

// aboveOf reads "above 80%".
func aboveOf(s string) (Percent, *flaw) {
	body, ok := strings.CutPrefix(s, "above ")
	if !ok {
		return 0, &flaw{message: quoted(s) + " does not say which side is good", hint: "write it as above 80%"}
	}
	return percentOf(body)
}

// ofExpectedOf reads "60% of expected".
func ofExpectedOf(s string) (Percent, *flaw) {
	body, ok := strings.CutSuffix(s, " of expected")
	if !ok {
		return 0, &flaw{message: quoted(s) + " does not say of what", hint: "write it as 60% of expected"}
	}
	return percentOf(body)
}

// maxDuration is the longest duration that a plan may hold: a month, so that a slip of the unit shows.
const maxDuration = 31 * 24 * time.Hour

// durationOf reads "10m", "1h30m" and "60s": whole hours, minutes and seconds, in this order.
func durationOf(s string) (time.Duration, *flaw) {
	if f, ok := numberOf(s); ok {
		if f == 0 {
			return 0, &flaw{message: "0 has no unit", hint: "write 0s"}
		}
		return 0, &flaw{message: s + " has no unit", hint: "write " + s + "m for minutes or " + s + "s for seconds"}
	}
	d, rest := time.Duration(0), s
	for _, unit := range []struct {
		letter string
		length time.Duration
	}{{"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		head, tail, ok := strings.Cut(rest, unit.letter)
		n, err := strconv.ParseInt(head, 10, 32)
		if !ok || err != nil || !digits(head) {
			continue
		}
		if n > int64(maxDuration/unit.length) {
			return 0, &flaw{message: quoted(s) + " is longer than 31 days", hint: "check the unit"}
		}
		d, rest = d+time.Duration(n)*unit.length, tail
	}
	switch {
	case rest != "" || s == "":
		return 0, &flaw{message: quoted(s) + " is not a duration", hint: "write whole hours, minutes and seconds, as 1h30m or 60s"}
	case d > maxDuration:
		return 0, &flaw{message: quoted(s) + " is longer than 31 days", hint: "check the unit"}
	}
	return d, nil
}

// minutesOf reads a duration of whole minutes, one at least.
func minutesOf(s string) (time.Duration, *flaw) {
	d, f := durationOf(s)
	if f == nil && (d < time.Minute || d%time.Minute != 0) {
		return 0, &flaw{message: quoted(s) + " is not a whole number of minutes", hint: "data comes by the minute: write it as 10m"}
	}
	return d, f
}

// clockOf reads "HH:MM".
func clockOf(s string) (string, *flaw) {
	if _, err := time.Parse("15:04", s); err != nil || len(s) != len("15:04") {
		return "", &flaw{message: quoted(s) + " is not a clock time", hint: `write it as "04:00", from "00:00" to "23:59"`}
	}
	return s, nil
}

// The two forms of schedule.at in a Plan.
const (
	civilLayout  = "2006-01-02T15:04:05"
	offsetLayout = "2006-01-02T15:04:05Z07:00"
)

// instantOf reads a civil time with or without seconds and offset, with a T or a blank in between, and returns it in one of the two layouts.
func instantOf(s string) (string, *flaw) {
	s = strings.Replace(s, " ", "T", 1)
	for _, form := range []struct{ in, out string }{
		{civilLayout, civilLayout},
		{"2006-01-02T15:04", civilLayout},
		{offsetLayout, offsetLayout},
		{"2006-01-02T15:04Z07:00", offsetLayout},
	} {
		t, err := time.Parse(form.in, s)
		if err == nil && t.Nanosecond() == 0 && t.Year() >= 2000 {
			return t.Format(form.out), nil
		}
	}
	if _, err := time.Parse(time.DateOnly, s); err == nil {
		return "", &flaw{message: s + " has no time of day", hint: "write it as " + s + "T02:00:00"}
	}
	return "", &flaw{message: quoted(s) + " is not a date and time that exists", hint: "write it as 2021-06-25T02:00:00"}
}

// countOf reads a whole number from 1 to a billion.
func countOf(s string) (int, *flaw) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 1e9 || strconv.Itoa(n) != s {
		return 0, &flaw{message: quoted(s) + " is not a whole number of 1 or more", hint: "write it as 200"}
	}
	return n, nil
}

// switchOf reads on and off, and the other words that people and YAML use for them.
func switchOf(s string) (bool, *flaw) {
	switch strings.ToLower(s) {
	case "on", "yes", "true":
		return true, nil
	case "off", "no", "false":
		return false, nil
	}
	return false, &flaw{message: quoted(s) + " is neither on nor off", hint: "write on or off"}
}

// percentText returns the file's form of p.
func percentText(p Percent) string { return strconv.FormatFloat(float64(p), 'f', -1, 64) + "%" }

// pointsText returns the file's form of p.
func pointsText(p Points) string { return strconv.FormatFloat(float64(p), 'f', -1, 64) + "pp" }

// durationText returns the file's form of d, in whole seconds, as "1h30m".
func durationText(d time.Duration) string {
	s := int64(d / time.Second)
	var b strings.Builder
	for _, part := range []struct {
		n      int64
		letter string
	}{{s / 3600, "h"}, {s / 60 % 60, "m"}, {s % 60, "s"}} {
		if part.n > 0 {
			b.WriteString(strconv.FormatInt(part.n, 10) + part.letter)
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}
