package guardrails

import (
	"strconv"
	"time"
)

// Signal is what a rule watches.
type Signal int

// The signals. Times and sizes are means per request, judged against the frozen baseline.
const (
	ErrorRate    Signal = iota + 1 // failed requests ÷ requests
	TotalTime                      // milliseconds per request
	TLSTime                        // milliseconds per TLS handshake
	ResponseSize                   // bytes per request
	StatusShare                    // share of 2xx, 4xx or 5xx among all answers
	Requests                       // requests carried against requests expected: silence
	TLS13Share                     // share of handshakes that negotiated TLS 1.3
)

// String returns the name used in plans, as "error_rate".
func (s Signal) String() string {
	switch s {
	case ErrorRate:
		return "error_rate"
	case TotalTime:
		return "total_time"
	case TLSTime:
		return "tls_time"
	case ResponseSize:
		return "response_size"
	case StatusShare:
		return "status_share"
	case Requests:
		return "requests"
	case TLS13Share:
		return "tls13_share"
	}
	return "signal " + strconv.Itoa(int(s))
}

// Mode says whether a rule decides or only reports.
type Mode int

// The modes. A shadow rule is judged, recorded and shown, and never acted on.
const (
	Act Mode = iota + 1
	Shadow
)

// String returns "act" or "shadow".
func (m Mode) String() string {
	switch m {
	case Act:
		return "act"
	case Shadow:
		return "shadow"
	}
	return "mode " + strconv.Itoa(int(m))
}

// Class is a class of HTTP status codes.
type Class int

// The classes that status_share can watch.
const (
	Class2xx Class = iota + 1
	Class4xx
	Class5xx
)

// String returns "2xx", "4xx" or "5xx".
func (c Class) String() string {
	switch c {
	case Class2xx:
		return "2xx"
	case Class4xx:
		return "4xx"
	case Class5xx:
		return "5xx"
	}
	return "class " + strconv.Itoa(int(c))
}

// side is the name of a class's limit, "5xx up" or "5xx down".
func (c Class) side(up bool) string {
	switch {
	case c == Class2xx && up:
		return "2xx up"
	case c == Class2xx:
		return "2xx down"
	case c == Class4xx && up:
		return "4xx up"
	case c == Class4xx:
		return "4xx down"
	case up:
		return "5xx up"
	}
	return "5xx down"
}

// Rule is one guardrail. A limit of zero is absent; thresholds are strict, so a value equal to a limit is OK.
type Rule struct {
	Name        string
	Source      string // name of the source in the plan
	Signal      Signal
	PerPlatform bool
	Above       Percent       // error_rate: breach when above
	Rise        Percent       // means: breach when value > expected × (1 + Rise)
	Drop        Percent       // means: breach when value < expected × (1 − Drop)
	Moves       Points        // shares: breach when |share − expected| > Moves, each side apart
	Classes     []Class       // status_share only
	FallsBelow  Percent       // requests: breach below this percentage of the expected requests
	For         time.Duration // breaching minutes needed, a whole number of minutes ≥ 1
	Within      time.Duration // length of the window, ≥ For
	MinRequests int           // requests a minute needs to be judged; 0 takes the signal's default
	Mode        Mode
}
