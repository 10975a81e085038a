package guardrails

import (
	"strconv"
	"time"
)

// Percent is a proportion in hundredths: 5 means 5 %. Shares lie in 0..100; changes may be negative or exceed 100.
type Percent float64

// String prints the shortest decimal form, as "2.5 %".
func (p Percent) String() string { return strconv.FormatFloat(float64(p), 'f', -1, 64) + " %" }

// Points is a difference of two percentages: from 97 % to 91 % is −6 points. It is never a ratio.
type Points float64

// String prints the shortest decimal form, as "5 pp".
func (p Points) String() string { return strconv.FormatFloat(float64(p), 'f', -1, 64) + " pp" }

// Minute numbers the minutes since 1970-01-01T00:00Z; minute m covers [m·60 s, m·60 s + 60 s).
type Minute int64

// MinuteOf returns the minute that contains t.
func MinuteOf(t time.Time) Minute {
	s := t.Unix()
	if s < 0 && s%60 != 0 {
		return Minute(s/60 - 1)
	}
	return Minute(s / 60)
}

// Start is the first instant of the minute, in UTC.
func (m Minute) Start() time.Time { return time.Unix(int64(m)*60, 0).UTC() }

// End is the first instant after the minute, in UTC.
func (m Minute) End() time.Time { return (m + 1).Start() }

// Leg is one of the two CDNs behind the name.
type Leg int

// The legs. The primary is the canary: it carries the change; the backup is the control.
const (
	Primary Leg = iota + 1
	Backup
)

// String returns "primary" or "backup".
func (l Leg) String() string {
	switch l {
	case Primary:
		return "primary"
	case Backup:
		return "backup"
	}
	return "leg " + strconv.Itoa(int(l))
}

// Other returns the leg that l is compared with.
func (l Leg) Other() Leg {
	if l == Primary {
		return Backup
	}
	return Primary
}
