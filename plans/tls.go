package plans

import "strings"

// TLSVersion is a protocol version.
type TLSVersion uint8

// The versions a plan may turn on and off.
const (
	TLS10 TLSVersion = iota + 1
	TLS11
	TLS12
	TLS13
)

// TLSVersions lists all versions, oldest first. The caller owns the slice.
func TLSVersions() []TLSVersion { return []TLSVersion{TLS10, TLS11, TLS12, TLS13} }

// String returns "TLS 1.3" and the like.
func (v TLSVersion) String() string {
	switch v {
	case TLS10:
		return "TLS 1.0"
	case TLS11:
		return "TLS 1.1"
	case TLS12:
		return "TLS 1.2"
	case TLS13:
		return "TLS 1.3"
	}
	return "TLS ?"
}

// TLSSet is a set of protocol versions.
type TLSSet uint8

// TLSSetOf returns the set of the given versions.
func TLSSetOf(vs ...TLSVersion) TLSSet {
	var s TLSSet
	for _, v := range vs {
		s = s.With(v)
	}
	return s
}

// Has reports whether v is in the set.
func (s TLSSet) Has(v TLSVersion) bool { return s&(1<<v) != 0 }

// With returns the set and v.
func (s TLSSet) With(v TLSVersion) TLSSet { return s | 1<<v }

// Without returns the set less v.
func (s TLSSet) Without(v TLSVersion) TLSSet { return s &^ (1 << v) }

// String returns "TLS 1.2, TLS 1.3", or "none".
func (s TLSSet) String() string {
	var names []string
	for _, v := range TLSVersions() {
		if s.Has(v) {
			names = append(names, v.String())
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Change turns protocol versions on and off. On and Off are disjoint; versions in neither are left as they are.
type Change struct{ On, Off TLSSet }

// Apply returns what s becomes.
func (c Change) Apply(s TLSSet) TLSSet { return s&^c.Off | c.On }

// TLSSettings is the protocol configuration of a domain as its CDN reports it.
type TLSSettings struct {
	Explicit bool // false: the domain runs on a default that the API does not tell, and only a handshake shows it
	Enabled  TLSSet
	Extra    []Arg  // arguments tlsroll does not know, carried over unchanged
	ConfigID string // the CDN's name for this configuration
	Status   ConfigStatus
}

// Arg is one named argument of a CDN function.
type Arg struct{ Name, Value string }

// ConfigStatus is how far a configuration has come. Only ConfigLive is done.
type ConfigStatus int

// The statuses. ConfigOther is anything a vendor may add: not done.
const (
	ConfigLive ConfigStatus = iota + 1
	ConfigPending
	ConfigFailed
	ConfigOther
)

// String returns "live", "configuring", "failed" or "unknown".
func (s ConfigStatus) String() string {
	switch s {
	case ConfigLive:
		return "live"
	case ConfigPending:
		return "configuring"
	case ConfigFailed:
		return "failed"
	case ConfigOther:
		return "unknown"
	}
	return "none"
}

// TLSTarget is where a TLS lever is to be: a full set of versions, or the function absent as it was before the run.
type TLSTarget struct {
	Enabled TLSSet
	Absent  bool
}

// TLSWrite is one API write on the TLS lever.
type TLSWrite struct {
	Set    *TLSSettings // Enabled, Extra and ConfigID are written, all versions in full
	Delete string       // ConfigID to delete; set when Set is nil
}

// NextTLSWrite returns the write that brings cur to want, and false when cur is already there (accepted, perhaps not live yet).
// A failed configuration is written again.
func NextTLSWrite(cur TLSSettings, want TLSTarget) (TLSWrite, bool) {
	if want.Absent {
		if !cur.Explicit {
			return TLSWrite{}, false
		}
		return TLSWrite{Delete: cur.ConfigID}, true
	}
	if cur.Explicit && cur.Enabled == want.Enabled && cur.Status != ConfigFailed {
		return TLSWrite{}, false
	}
	set := cur
	set.Enabled = want.Enabled
	return TLSWrite{Set: &set}, true
}
