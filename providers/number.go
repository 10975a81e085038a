package providers

import (
	"math"
	"slices"

	"github.com/tlsroll/tlsroll/guardrails"
)

// Number is one of the numbers that a minute is made of. The plan calls it by its name.
type Number int

// The numbers, in the order of the plan's queries.
const (
	Requests Number = iota + 1
	Errors
	TotalMS
	TLSMS
	TLSHandshakes
	Bytes
	TLS13
	Status2xx
	Status4xx
	Status5xx
)

// Numbers lists all of them. The caller owns the slice.
func Numbers() []Number {
	return []Number{Requests, Errors, TotalMS, TLSMS, TLSHandshakes, Bytes, TLS13, Status2xx, Status4xx, Status5xx}
}

// String returns the plan's name of the number, as "total_ms".
func (n Number) String() string {
	switch n {
	case Requests:
		return "requests"
	case Errors:
		return "errors"
	case TotalMS:
		return "total_ms"
	case TLSMS:
		return "tls_ms"
	case TLSHandshakes:
		return "tls"
	case Bytes:
		return "bytes"
	case TLS13:
		return "tls13"
	case Status2xx:
		return "status_2xx"
	case Status4xx:
		return "status_4xx"
	case Status5xx:
		return "status_5xx"
	}
	return "number ?"
}

// NumberOf returns the number of that name.
func NumberOf(name string) (n Number, ok bool) {
	all := Numbers()
	i := slices.IndexFunc(all, func(n Number) bool { return n.String() == name })
	if i < 0 {
		return 0, false
	}
	return all[i], true
}

// Tally puts the numbers of one row together. The zero Tally is a row without any. It is not safe for concurrent use.
type Tally struct {
	counts  guardrails.Counts
	classes int // of status codes that came
	bad     bool
}

// Add takes one number, each at most once. NaN, an infinity and a negative number make the whole row unknown; math.NaN() is also how
// an adapter says that what came was no number.
func (t *Tally) Add(n Number, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		t.bad = true
		return
	}
	v += 0 // -0 is 0
	c := &t.counts
	switch n {
	case Requests:
		c.Requests, c.Has = v, c.Has|guardrails.HasRequests
	case Errors:
		c.Errors, c.Has = v, c.Has|guardrails.HasErrors
	case TotalMS:
		c.TotalMS, c.Has = v, c.Has|guardrails.HasTotalMS
	case TLSMS:
		c.TLSMS, c.Has = v, c.Has|guardrails.HasTLSMS
	case TLSHandshakes:
		c.TLS, c.Has = v, c.Has|guardrails.HasTLS
	case Bytes:
		c.Bytes, c.Has = v, c.Has|guardrails.HasBytes
	case TLS13:
		c.TLS13, c.Has = v, c.Has|guardrails.HasTLS13
	case Status2xx:
		c.Status2xx, t.classes = v, t.classes+1
	case Status4xx:
		c.Status4xx, t.classes = v, t.classes+1
	case Status5xx:
		c.Status5xx, t.classes = v, t.classes+1
	}
}

const allClasses = 3

// Fill puts what was added into a row. A class of status codes that did not come is not zero, and without it the others make no
// shares: all classes count, or none.
func (t *Tally) Fill(r *guardrails.Row) {
	r.Counts, r.Unknown = t.counts, 0
	switch c := &r.Counts; {
	case t.bad:
		r.Counts, r.Unknown = guardrails.Counts{}, guardrails.NotANumber
	case t.classes == allClasses:
		c.Has |= guardrails.HasStatus
	default:
		c.Status2xx, c.Status4xx, c.Status5xx = 0, 0, 0
	}
}
