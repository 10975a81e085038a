package sim

import (
	"fmt"

	"github.com/tlsroll/tlsroll/plans"
)

// sent is one write on its way: DNS, or TLS where it is not nil.
type sent struct {
	DNS plans.DNSWrite
	TLS *plans.TLSWrite
}

// lever is 0 for the share and 1 for the settings.
func (s sent) lever() int {
	if s.TLS != nil {
		return 1
	}
	return 0
}

func (s sent) equal(o sent) bool {
	if s.TLS == nil || o.TLS == nil {
		return s.TLS == nil && o.TLS == nil && s.DNS == o.DNS
	}
	a, b := s.TLS.Set, o.TLS.Set
	return s.TLS.Delete == o.TLS.Delete && (a == nil) == (b == nil) && (a == nil || a.Enabled == b.Enabled)
}

// inForce reports whether what is stored is what the write makes of it.
func (s sent) inForce(w plans.Weights, tls plans.TLSSettings) bool {
	switch {
	case s.TLS == nil:
		return s.DNS.Apply(w) == w
	case s.TLS.Set == nil:
		return !tls.Explicit
	}
	return tls.Explicit && tls.Enabled == s.TLS.Set.Enabled
}

// String says it in a few words.
func (s sent) String() string {
	switch {
	case s.TLS == nil && s.DNS.Action == plans.SetWeight:
		return fmt.Sprintf("weight %d of the %s", s.DNS.Weight, s.DNS.Leg)
	case s.TLS == nil && s.DNS.Action == plans.EnableRecord:
		return "enable the " + s.DNS.Leg.String()
	case s.TLS == nil:
		return "disable the " + s.DNS.Leg.String()
	case s.TLS.Set == nil:
		return "no TLS settings"
	}
	return "TLS settings " + s.TLS.Set.Enabled.String()
}
