package providers

import (
	"errors"
	"strconv"
)

// Kind says what an error means for the caller. Adapters decide it; everybody else only reads it.
type Kind int

// The kinds.
const (
	Transient Kind = iota + 1 // nothing happened; the same call may work in a moment
	Throttled                 // as Transient, and the caller must slow down
	Denied                    // credentials or permissions: no repeat helps
	Missing                   // the domain, record or series is not there
	Conflict                  // somebody else's operation or setting stands in the way
	Invalid                   // the request or the answer breaks the contract: no repeat helps
	Unknown                   // the call may have been applied: read before anything else
)

// String returns the word used in output, as "throttled".
func (k Kind) String() string {
	switch k {
	case Transient:
		return "transient"
	case Throttled:
		return "throttled"
	case Denied:
		return "denied"
	case Missing:
		return "missing"
	case Conflict:
		return "conflict"
	case Invalid:
		return "invalid"
	case Unknown:
		return "unknown"
	}
	return "kind " + strconv.Itoa(int(k))
}

// Error is the only error type that adapters return. Its text holds no secret: no key, signature, token or URL query.
type Error struct {
	Provider  string // "alicloud"
	Op        string // "alidns:UpdateDNSSLBWeight"
	Kind      Kind
	Code      string // the vendor's code, or ""
	RequestID string // the vendor's, or ""
	Action    string // for Denied: the permission that is missing, as "alidns:UpdateDNSSLBWeight"
	Err       error
}

// Error says the call, the cause and what it means.
func (e *Error) Error() string {
	s := e.Provider + ": " + e.Op + ": "
	if e.Code != "" {
		s += e.Code + ": "
	}
	if e.Err != nil {
		s += e.Err.Error()
	}
	s += " (" + e.Kind.String()
	if e.Action != "" {
		s += ", needs " + e.Action
	}
	if e.RequestID != "" {
		s += ", request " + e.RequestID
	}
	return s + ")"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of err. An error that no adapter classified is Unknown.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Unknown
}
