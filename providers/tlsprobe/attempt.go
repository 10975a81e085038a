package tlsprobe

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"github.com/tlsroll/tlsroll/plans"
)

// linger bounds how long an edge that was told the end is waited for. Closing earlier would answer its session tickets with a reset,
// which edges count and log as an error.
const linger = 200 * time.Millisecond

// lingerBytes is more than the tickets that any server sends after a handshake.
const lingerBytes = 64 << 10

// offer is what a client's hello says.
type offer struct {
	lowest, highest plans.TLSVersion
	alpn            []string
}

// attempt is what came of one connection.
type attempt struct {
	err      error
	stage    string // where it failed; "" when it did not
	timedOut bool   // the timeout ended it, not ctx and not the edge
	limit    time.Duration

	connect, took time.Duration
	state         tls.ConnectionState // when err is nil
	chain         chain               // as far as a certificate came
	reply         reply
}

// refuses reports whether the edge said that it does not negotiate v, the only version offered.
func (a attempt) refuses(v plans.TLSVersion) bool {
	if a.reply.hello != nil {
		return a.reply.hello.chosen() != wireOf(v) // an edge that knows no supported_versions answers with what it has
	}
	return a.reply.alert.aboutOffer()
}

// marked reports whether TLS 1.2 was chosen with the mark of an edge that would also speak TLS 1.3.
func (a attempt) marked() bool {
	h := a.reply.hello
	return h != nil && h.chosen() == tls.VersionTLS12 && h.marked()
}

// trouble says why it failed, without the addresses: the edge is known, and the port on this side would make each text another.
func (a attempt) trouble() string {
	if a.timedOut {
		return "no answer in " + a.limit.String()
	}
	if errors.Is(a.err, io.EOF) {
		return "the edge closed the connection"
	}
	if e, ok := errors.AsType[*net.OpError](a.err); ok && e.Addr != nil {
		return e.Err.Error()
	}
	return a.err.Error()
}

// attempt makes one handshake and ends the connection.
func (p *Prober) attempt(parent context.Context, l leg, edge string, o offer) attempt {
	ctx, cancel := context.WithTimeout(parent, p.timeout)
	defer cancel()
	a := attempt{limit: p.timeout}
	started := time.Now()
	var d net.Dialer
	raw, err := d.DialContext(ctx, "tcp", edge)
	if err != nil {
		a.err, a.stage = err, stageDial
		a.timedOut = ctx.Err() != nil && parent.Err() == nil
		return a
	}
	a.connect = time.Since(started)
	rec := &recorder{Conn: raw}
	verified := false
	conn := tls.Client(rec, p.config(o, func(s tls.ConnectionState) error {
		verified = true
		a.chain = examine(s.PeerCertificates, l.roots, p.domain)
		return nil
	}))
	a.err = conn.HandshakeContext(ctx)
	done := time.Now()
	a.reply = parseReply(rec.seen)
	if a.err != nil {
		a.timedOut = ctx.Err() != nil && parent.Err() == nil
		a.stage = stageOf(a.reply, o, verified)
		_ = raw.Close() // the handshake failed, and that is the result
		return a
	}
	a.took = done.Sub(rec.spoke)
	a.state = conn.ConnectionState()
	leave(ctx, conn, raw)
	return a
}

// config is a client's configuration. Everything that the environment could change is written out.
func (p *Prober) config(o offer, verify func(tls.ConnectionState) error) *tls.Config {
	return &tls.Config{
		ServerName:         p.domain,
		MinVersion:         wireOf(o.lowest),
		MaxVersion:         wireOf(o.highest),
		CipherSuites:       suites(),
		CurvePreferences:   []tls.CurveID{tls.X25519MLKEM768, tls.X25519, tls.CurveP256, tls.CurveP384},
		NextProtos:         o.alpn,
		InsecureSkipVerify: true, //nolint:gosec // verify looks at the chain itself, so that a bad one is a finding
		VerifyConnection:   verify,
	}
}

// suites are what is offered up to TLS 1.2: all that crypto/tls speaks, less RC4. Those of TLS 1.3 are always offered.
func suites() []uint16 {
	return []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
		tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_RSA_WITH_AES_128_CBC_SHA256, tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA,
		tls.TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA, tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA,
	}
}

// stageOf says where a handshake broke off. A ServerHello that the client must refuse leaves it at the hello.
func stageOf(r reply, o offer, verified bool) string {
	switch {
	case verified:
		return stageFinished
	case r.hello != nil && r.hello.taken(o):
		return stageVerify
	}
	return stageHello
}

// leave says close_notify and waits a moment for the edge to close as well.
func leave(ctx context.Context, conn *tls.Conn, raw net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	defer raw.Close() //nolint:errcheck // the handshake is done, and its result is known
	if conn.CloseWrite() != nil || raw.SetReadDeadline(time.Now().Add(linger)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(raw, lingerBytes)) // what it says does not count
}

// recorder keeps the first bytes that an edge sends, and when the client first spoke.
type recorder struct {
	net.Conn
	seen  []byte
	spoke time.Time
}

// Read implements net.Conn.
func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.seen = append(r.seen, b[:min(n, maxReply-len(r.seen))]...)
	return n, err
}

// Write implements net.Conn.
func (r *recorder) Write(b []byte) (int, error) {
	if r.spoke.IsZero() {
		r.spoke = time.Now()
	}
	return r.Conn.Write(b)
}
