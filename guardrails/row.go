package guardrails

import "strconv"

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

// Row is one minute of one platform on one leg, as a source delivered it. Platform is "" when the source does not tell platforms apart.
type Row struct {
	Platform string
	Leg      Leg
	Minute   Minute
	Counts   Counts
	Unknown  Unknown // set by the source: SourceError, Partial or NotANumber
}
