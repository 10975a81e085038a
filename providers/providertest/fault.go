package providertest

import (
	"strconv"

	"github.com/tlsroll/tlsroll/providers"
)

// Fault is one way in which the other side misbehaves.
type Fault int

// The faults that a harness must be able to produce. All but AppliedThenUnavailable leave the other side as it was.
const (
	Healthy                Fault = iota + 1 // no fault
	PermissionDenied                        // a refusal for want of a permission
	TooManyCalls                            // a refusal for calling too often
	Unavailable                             // HTTP 503 with an error body, nothing applied
	AppliedThenUnavailable                  // HTTP 503 after a write was applied
	EmptyAnswer                             // HTTP 200 without a body
	WebPage                                 // HTTP 200 with HTML
	BrokenJSON                              // HTTP 200 with JSON of another shape
	NumericCode                             // HTTP 500 with an error body whose code is of another type than usual
	Stalled                                 // no answer while the caller waits
	Cut                                     // the connection ends without an answer
	CutBody                                 // the connection ends in the middle of a 200
	Oversized                               // HTTP 200 with 16 MiB of blanks, more than any adapter should take, and no end
	Redirected                              // HTTP 302 to another host
)

// Faults lists all but Healthy. The caller owns the slice.
func Faults() []Fault {
	return []Fault{
		PermissionDenied, TooManyCalls, Unavailable, AppliedThenUnavailable, EmptyAnswer, WebPage, BrokenJSON, NumericCode, Stalled, Cut,
		CutBody, Oversized, Redirected,
	}
}

// String returns the name used for subtests, as "too many calls".
func (f Fault) String() string {
	names := [...]string{
		Healthy:                "healthy",
		PermissionDenied:       "permission denied",
		TooManyCalls:           "too many calls",
		Unavailable:            "unavailable",
		AppliedThenUnavailable: "applied then unavailable",
		EmptyAnswer:            "empty answer",
		WebPage:                "web page",
		BrokenJSON:             "broken JSON",
		NumericCode:            "numeric code",
		Stalled:                "stalled",
		Cut:                    "cut",
		CutBody:                "cut body",
		Oversized:              "oversized",
		Redirected:             "redirected",
	}
	if f < Healthy || int(f) >= len(names) {
		return "fault " + strconv.Itoa(int(f))
	}
	return names[f]
}

// readKinds returns the kinds that a read may fail with.
func (f Fault) readKinds() []providers.Kind {
	switch f {
	case PermissionDenied:
		return []providers.Kind{providers.Denied}
	case TooManyCalls:
		return []providers.Kind{providers.Throttled}
	case Unavailable, AppliedThenUnavailable, EmptyAnswer, WebPage, Stalled, Cut, CutBody, Redirected:
		return []providers.Kind{providers.Transient}
	case NumericCode, BrokenJSON:
		return []providers.Kind{providers.Transient, providers.Invalid}
	case Oversized:
		return []providers.Kind{providers.Invalid}
	case Healthy:
	}
	return nil
}

// writeKinds returns the kinds that a write may fail with. Only a clear refusal may be anything but Unknown.
func (f Fault) writeKinds() []providers.Kind {
	switch f {
	case PermissionDenied:
		return []providers.Kind{providers.Denied}
	case TooManyCalls:
		return []providers.Kind{providers.Throttled}
	case Unavailable, AppliedThenUnavailable, EmptyAnswer, WebPage, BrokenJSON, NumericCode, Stalled, Cut, CutBody, Oversized, Redirected:
		return []providers.Kind{providers.Unknown}
	case Healthy:
	}
	return nil
}
