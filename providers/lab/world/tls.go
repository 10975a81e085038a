package world

import (
	"errors"
	"strconv"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

// tlsEpoch is one configuration of the primary.
type tlsEpoch struct {
	at    time.Time
	set   plans.TLSSet
	stuck bool // it never leaves the API
}

const opSetTLS = "cdn:BatchSetCdnDomainConfig"

// WriteTLS makes one write on the primary and returns the id of the configuration that it set or deleted. Deleting a configuration that
// is not there leaves what is there. Errors are *providers.Error; a refused write changes nothing.
func (w *World) WriteTLS(now time.Time, t plans.TLSWrite) (configID string, err error) {
	w.Advance(now)
	cur := &w.state.Primary.TLS
	if t.Set == nil {
		if !cur.Explicit || t.Delete != cur.ConfigID {
			return t.Delete, nil
		}
		w.keep(now)
		*cur = plans.TLSSettings{}
		w.configure(now, t)
		return t.Delete, nil
	}
	if err := w.mayConfigure(*t.Set); err != nil {
		return "", err
	}
	configID = cur.ConfigID
	if !cur.Explicit || configID == "" {
		w.configs++
		configID = strconv.Itoa(firstConfigID + w.configs)
	}
	w.keep(now)
	*cur = plans.TLSSettings{
		Explicit: true, Enabled: t.Set.Enabled, ConfigID: configID,
		Extra: append([]plans.Arg(nil), t.Set.Extra...),
	}
	w.configure(now, t)
	return configID, nil
}

// firstConfigID starts the numbers of configurations made here; vendors' are long digit strings too.
const firstConfigID = 222728944812100

func (w *World) mayConfigure(s plans.TLSSettings) error {
	switch {
	case !w.state.Primary.Certificate:
		return refused(opSetTLS, providers.Invalid, "InvalidHttpsTlsVersion.ValueNotSupported", "the domain has no certificate")
	case s.ConfigID != "" && s.ConfigID != w.state.Primary.TLS.ConfigID:
		return refused(opSetTLS, providers.Invalid, "InvalidConfigId.ValueNotSupported", "no such configuration")
	}
	return nil
}

// configure sends the settings that were just stored on their way to the edges.
func (w *World) configure(now time.Time, t plans.TLSWrite) {
	e := tlsEpoch{at: now, set: w.effective(w.state.Primary.TLS)}
	e.stuck = w.cfg.Fault == TLSStuck && e.set != w.tlsStart
	w.tls = append(w.tls, e)
	w.log = append(w.log, Write{At: now, Lever: LeverTLS, TLS: copyTLSWrite(t)})
}

func copyTLSWrite(t plans.TLSWrite) plans.TLSWrite {
	if t.Set != nil {
		set := *t.Set
		set.Extra = append([]plans.Arg(nil), set.Extra...)
		t.Set = &set
	}
	return t
}

// effective is what edges speak under settings of the primary.
func (w *World) effective(s plans.TLSSettings) plans.TLSSet {
	if s.Explicit {
		return s.Enabled
	}
	return w.cfg.DefaultTLS
}

func (w *World) configStatus(now time.Time) plans.ConfigStatus {
	last := w.tls[len(w.tls)-1]
	switch {
	case len(w.tls) == 1:
		return w.state.Primary.TLS.Status
	case !w.state.Primary.TLS.Explicit:
		return 0
	case last.stuck, now.Before(last.at.Add(w.cfg.PropagationTLS * 2 / 3)):
		return plans.ConfigPending
	}
	return plans.ConfigLive
}

// EdgeTLS returns the versions that an edge speaks at now. Edges are numbered from 0; the highest number is the last to follow.
func (w *World) EdgeTLS(now time.Time, leg guardrails.Leg, edge int) plans.TLSSet {
	if leg == guardrails.Backup {
		if w.state.Backup.TLS.Explicit {
			return w.state.Backup.TLS.Enabled
		}
		return w.cfg.BackupTLS
	}
	delay := w.cfg.PropagationTLS * time.Duration(edge+1) / time.Duration(w.cfg.PrimaryEdges)
	for i := len(w.tls) - 1; i > 0; i-- {
		if e := w.tls[i]; !e.stuck && !e.at.Add(delay).After(now) {
			return e.set
		}
	}
	return w.tls[0].set
}

// EdgeCertOK reports whether an edge presents a certificate for the domain.
func (w *World) EdgeCertOK(now time.Time, leg guardrails.Leg, edge int) bool {
	return w.cfg.Fault != EdgeWrongCert || leg != guardrails.Primary || edge != w.cfg.PrimaryEdges-1 ||
		w.EdgeTLS(now, leg, edge) == w.tlsStart
}

// Handshakes returns what one probe of each edge of a leg shows at now, in the order of the edges.
func (w *World) Handshakes(now time.Time, leg guardrails.Leg) []plans.Handshake {
	hs := make([]plans.Handshake, w.Edges(leg))
	w.seed(now.UnixNano(), forHandshakes+uint64(leg)<<32) //nolint:gosec // a leg is 1 or 2
	for i := range hs {
		hs[i] = w.handshake(now, leg, i)
	}
	return hs
}

func (w *World) handshake(now time.Time, leg guardrails.Leg, edge int) plans.Handshake {
	set := w.EdgeTLS(now, leg, edge)
	h := plans.Handshake{
		Leg: leg, Edge: w.edgeName(leg, edge), Accepted: set, Probed: plans.TLSSetOf(plans.TLSVersions()...),
		Names: []string{w.cfg.Domain}, Issuer: "tlsroll lab CA", NotAfter: w.now.AddDate(0, 3, 0),
		Connect: w.delay(20 * time.Millisecond), TLS: w.delay(45 * time.Millisecond),
	}
	for _, v := range plans.TLSVersions() {
		if set.Has(v) {
			h.Version = v
		}
	}
	switch h.Version {
	case plans.TLS13:
		h.Suite, h.Group, h.ALPN, h.Sentinel = "TLS_AES_128_GCM_SHA256", "X25519", "h2", true
		h.TLS = w.delay(24 * time.Millisecond)
	case plans.TLS12:
		h.Suite, h.Group, h.ALPN = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "X25519", "h2"
	case plans.TLS10, plans.TLS11:
		h.Suite, h.Group, h.ALPN = "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "X25519", "http/1.1"
	default:
		h.Stage, h.Error = "hello", "the edge speaks no version"
		return h
	}
	if !w.EdgeCertOK(now, leg, edge) {
		h.Names = []string{"wrong.example.net"}
		h.ChainError = "the certificate is valid for wrong.example.net, not for " + w.cfg.Domain
	}
	return h
}

func (w *World) delay(d time.Duration) time.Duration {
	if w.cfg.Quiet {
		return d
	}
	return time.Duration(float64(d) * (0.9 + 0.2*w.rnd.Float64()))
}

func (w *World) edgeName(leg guardrails.Leg, edge int) string {
	names, net := w.cfg.PrimaryEdgeNames, "192.0.2."
	if leg == guardrails.Backup {
		names, net = w.cfg.BackupEdgeNames, "198.51.100."
	}
	if edge < len(names) {
		return names[edge]
	}
	return net + strconv.Itoa(edge+1) + ":443"
}

// Refuse counts one call of an API and returns the error with which the fault meets it, or nil; calls of other APIs do not matter.
// Whoever drives the world asks it before every API call: api is as "alidns:UpdateDNSSLBWeight".
func (w *World) Refuse(_ time.Time, api string) error {
	if w.cfg.Fault != Throttle {
		return nil
	}
	if w.asked == nil {
		w.asked = map[string]int{}
	}
	w.asked[api]++
	if (w.asked[api]-1)%5 < 2 {
		return refused(api, providers.Throttled, "Throttling.User", "Request was denied due to user flow control.")
	}
	return nil
}

func refused(op string, kind providers.Kind, code, text string) error {
	return &providers.Error{Provider: "lab", Op: op, Kind: kind, Code: code, Err: errors.New(text)}
}
