package guardrails

import (
	"strconv"
	"strings"
)

// Field marks a number that a source delivered; a number whose field is not set is absent, which is not zero.
type Field uint16

// The fields of Counts.
const (
	HasRequests Field = 1 << iota
	HasErrors
	HasTotalMS
	HasTLSMS
	HasTLS
	HasBytes
	HasTLS13
	HasStatus
)

// String names the fields as a recorded file's columns do, as "requests and errors".
func (f Field) String() string {
	var names []string
	for i, name := range [...]string{"requests", "errors", "total_ms", "tls_ms", "tls", "bytes", "tls13", "status_2xx, status_4xx, status_5xx"} {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and ")
}

// Counts are the numerators and denominators of one minute. All are sums over the minute, never means or ratios.
type Counts struct {
	Requests  float64
	Errors    float64
	TotalMS   float64 // milliseconds summed over requests
	TLSMS     float64 // milliseconds summed over handshakes
	TLS       float64 // handshakes
	Bytes     float64
	TLS13     float64 // handshakes that negotiated TLS 1.3
	Status2xx float64
	Status4xx float64
	Status5xx float64
	Has       Field
}

// Unknown says why a minute cannot be judged. Zero means that it can.
type Unknown int

// The reasons. None of them ever counts as healthy.
const (
	Missing     Unknown = iota + 1 // the source has no such minute
	SourceError                    // the source failed
	Partial                        // the source said that its answer is incomplete
	NotANumber                     // NaN, an infinity or a negative count
	LowN                           // too few requests
	NoBaseline                     // nothing to compare with
	BurnIn                         // too soon after a change of weight
	Idle                           // the leg is asked to carry nothing
)

// String returns the word used in output and journals, as "low_n".
func (u Unknown) String() string {
	switch u {
	case Missing:
		return "missing"
	case SourceError:
		return "error"
	case Partial:
		return "partial"
	case NotANumber:
		return "nan"
	case LowN:
		return "low_n"
	case NoBaseline:
		return "no_baseline"
	case BurnIn:
		return "burn_in"
	case Idle:
		return "idle"
	}
	return "unknown " + strconv.Itoa(int(u))
}

// noData reports whether the source told nothing; thin, fresh and incomparable minutes are data.
func (u Unknown) noData() bool {
	return u == Missing || u == SourceError || u == Partial || u == NotANumber
}

// Row is one minute of one platform on one leg, as a source delivered it. Platform is "" when the source does not tell platforms apart.
type Row struct {
	Platform string
	Leg      Leg
	Minute   Minute
	Counts   Counts
	Unknown  Unknown // set by the source: SourceError, Partial or NotANumber
}

// checked returns the row as the table keeps it: without counts when they cannot be judged.
func (r Row) checked() Row {
	switch {
	case r.Unknown != 0 && !r.Unknown.noData():
		r.Unknown = SourceError // not a source's word: LowN and its like are found here, never delivered
	case r.Unknown == 0 && !r.Counts.sane():
		r.Unknown = NotANumber
	}
	if r.Unknown != 0 {
		r.Counts = Counts{}
		return r
	}
	// Rates extrapolated to the minute make a part pass its whole by a little exactly when everything fails: the last minute to lose.
	if c := &r.Counts; c.has(HasRequests | HasErrors) {
		c.Errors = min(c.Errors, c.Requests)
	}
	if c := &r.Counts; c.has(HasTLS | HasTLS13) {
		c.TLS13 = min(c.TLS13, c.TLS)
	}
	return r
}

// isChecked reports whether checked would change nothing.
func (r *Row) isChecked() bool {
	c := &r.Counts
	switch {
	case r.Unknown != 0:
		return r.Unknown.noData() && *c == Counts{}
	case c.has(HasRequests|HasErrors) && c.Errors > c.Requests, c.has(HasTLS|HasTLS13) && c.TLS13 > c.TLS:
		return false
	}
	return c.sane()
}

// The bounds of a number that can be what it says.
const (
	countMax  = 1e15 // a minute's sum; far above any CDN's bytes, and sums of sums stay finite
	countOver = 1.1  // part ÷ whole
)

// sane reports whether the counts can be what they say.
func (c *Counts) sane() bool {
	for _, v := range [...]float64{c.Requests, c.Errors, c.TotalMS, c.TLSMS, c.TLS, c.Bytes, c.TLS13, c.Status2xx, c.Status4xx, c.Status5xx} {
		if !(v >= 0 && v <= countMax) {
			return false
		}
	}
	whole := countOver * c.answers()
	switch {
	case c.has(HasRequests|HasErrors) && c.Errors > countOver*c.Requests, c.has(HasTLS|HasTLS13) && c.TLS13 > countOver*c.TLS:
		return false
	case c.has(HasStatus) && max(c.Status2xx, c.Status4xx, c.Status5xx) > whole:
		return false
	}
	return true
}

// has reports whether the source delivered all of the fields.
func (c *Counts) has(fields Field) bool { return c.Has&fields == fields }

// answers is what status shares are shares of: all requests, or the three classes when the source counts nothing else.
func (c *Counts) answers() float64 {
	if c.has(HasRequests) {
		return c.Requests
	}
	return c.Status2xx + c.Status4xx + c.Status5xx
}

// requests is 0 where there is no row.
func (c *Counts) requests() float64 {
	if c == nil {
		return 0
	}
	return c.Requests
}

// volume is how much a minute of a source rests on, in the widest unit that it counts.
func (c *Counts) volume() float64 {
	if c.Has&(HasRequests|HasStatus) != 0 {
		return c.answers()
	}
	return c.TLS
}

// plus adds two minutes. A field is there when both have it.
func (c *Counts) plus(o *Counts) Counts {
	return Counts{
		Requests: c.Requests + o.Requests, Errors: c.Errors + o.Errors, TotalMS: c.TotalMS + o.TotalMS, TLSMS: c.TLSMS + o.TLSMS,
		TLS: c.TLS + o.TLS, Bytes: c.Bytes + o.Bytes, TLS13: c.TLS13 + o.TLS13,
		Status2xx: c.Status2xx + o.Status2xx, Status4xx: c.Status4xx + o.Status4xx, Status5xx: c.Status5xx + o.Status5xx,
		Has: c.Has & o.Has,
	}
}
