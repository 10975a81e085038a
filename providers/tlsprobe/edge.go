package tlsprobe

import (
	"context"
	"crypto/tls"
	"strings"

	"github.com/tlsroll/tlsroll/plans"
)

// The stages of a handshake, in order: where it was when it failed.
const (
	stageDial     = "dial"     // no connection
	stageHello    = "hello"    // no ServerHello
	stageVerify   = "verify"   // no certificate that can be read
	stageFinished = "finished" // the rest
)

// probeEdge makes all handshakes with one edge. Once an edge is not reached, or silent to the client that speaks everything, the rest is
// not tried: it would take as many timeouts to learn nothing.
func (p *Prober) probeEdge(ctx context.Context, l leg, edge string) plans.Handshake {
	h := plans.Handshake{Edge: edge}
	if ctx.Err() != nil {
		return h // Handshake returns the error
	}
	a := p.attempt(ctx, l, edge, offer{lowest: plans.TLS10, highest: plans.TLS13, alpn: p.alpn})
	describe(&h, a)
	var trouble failures
	if a.err != nil {
		trouble.add("", a)
		if a.stage == stageDial || a.timedOut {
			trouble.report(&h)
			return h
		}
	}
	for _, v := range plans.TLSVersions() {
		// The TLS 1.2 hello is sent in any case, for the mark.
		if h.Accepted.Has(v) && v != plans.TLS12 {
			continue
		}
		a := p.attempt(ctx, l, edge, offer{lowest: v, highest: v})
		switch {
		case a.err == nil:
			h.Probed, h.Accepted = h.Probed.With(v), h.Accepted.With(v)
		case a.refuses(v):
			h.Probed = h.Probed.With(v)
		default:
			trouble.add(v.String()+" alone: ", a)
		}
		if v == plans.TLS12 {
			h.Sentinel = a.marked()
		}
		if a.stage == stageDial {
			break
		}
	}
	trouble.report(&h)
	return h
}

// describe writes down what the client that speaks everything saw. A handshake that broke off late still shows a certificate.
func describe(h *plans.Handshake, a attempt) {
	h.Connect, h.Names, h.Issuer, h.NotAfter, h.ChainError = a.connect, a.chain.names, a.chain.issuer, a.chain.notAfter, a.chain.err
	if a.err != nil {
		return
	}
	h.TLS = a.took
	h.Version = versionOf(a.state.Version)
	h.Suite = tls.CipherSuiteName(a.state.CipherSuite)
	if a.state.CurveID != 0 {
		h.Group = a.state.CurveID.String()
	}
	h.ALPN = a.state.NegotiatedProtocol
	h.Probed, h.Accepted = h.Probed.With(h.Version), h.Accepted.With(h.Version)
}

// failures are the attempts that told nothing, in the order they were made.
type failures struct {
	stage string
	texts []string
}

func (f *failures) add(what string, a attempt) {
	if f.stage == "" {
		f.stage = a.stage
	}
	f.texts = append(f.texts, what+a.trouble())
}

func (f *failures) report(h *plans.Handshake) {
	h.Stage, h.Error = f.stage, strings.Join(f.texts, "; ")
}

// versionOf is the version of a number on the wire; 0 for one that tlsroll does not know.
func versionOf(wire uint16) plans.TLSVersion {
	for _, v := range plans.TLSVersions() {
		if wireOf(v) == wire {
			return v
		}
	}
	return 0
}

func wireOf(v plans.TLSVersion) uint16 { return tls.VersionTLS10 + uint16(v-plans.TLS10) }
