package tlsprobe_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/tlsprobe"
)

// hasty is a timeout that is meant to be reached.
const hasty = 200 * time.Millisecond

// outcome is what a failed probe says.
type outcome struct {
	Stage            string
	Error            string // a part of it
	Probed, Accepted plans.TLSSet
	Sentinel         bool
	Conns            int
}

func checkOutcome(t *testing.T, want outcome, got plans.Handshake, conns int) {
	t.Helper()
	o := outcome{got.Stage, got.Error, got.Probed, got.Accepted, got.Sentinel, conns}
	if strings.Contains(got.Error, want.Error) && want.Error != "" {
		o.Error = want.Error
	}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

// answer sends bytes to each client after its hello and waits until it leaves.
func answer(b []byte) func(*server, net.Conn) {
	return func(_ *server, conn net.Conn) {
		readHello(conn)
		_, _ = conn.Write(b)
		_, _ = io.Copy(io.Discard, conn)
	}
}

func fatal(alert byte) []byte { return []byte{21, 3, 3, 0, 2, 2, alert} }

// hello is a ServerHello without extensions.
func hello(version uint16, mark string) []byte {
	random := append(bytes.Repeat([]byte{7}, 32-len(mark)), mark...)
	body := append(binary.BigEndian.AppendUint16(nil, version), random...)
	body = append(body, 0, 0xc0, 0x09, 0) // a suite of every version up to TLS 1.2
	message := append([]byte{2, 0, 0, byte(len(body))}, body...)
	return append([]byte{22, 3, 3, 0, byte(len(message))}, message...)
}

// retryThenLeave asks for another key share, of P-384, and breaks off.
func retryThenLeave(_ *server, conn net.Conn) {
	header := make([]byte, 5)
	if _, err := io.ReadFull(conn, header); err != nil {
		return
	}
	hello := make([]byte, int(header[3])<<8|int(header[4]))
	if _, err := io.ReadFull(conn, hello); err != nil {
		return
	}
	const random = "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"
	retry := &tlsprobe.Hello{Legacy: tls.VersionTLS12, Session: hello[39 : 39+32], Suite: tls.TLS_AES_128_GCM_SHA256, Tail: true}
	copy(retry.Random[:], random)
	retry.Extensions = []tlsprobe.Extension{{Kind: 43, Data: []byte{3, 4}}, {Kind: 51, Data: []byte{0, 24}}}
	_, _ = conn.Write(records(encodeHello(retry), 1<<14))
	readHello(conn) // change_cipher_spec, then the second hello: what is left unread would make the end a reset
	readHello(conn)
}

// An edge that says no is told from an edge that says nothing.
func TestAnswersThatAreNoHandshake(t *testing.T) {
	for _, test := range []struct {
		name   string
		handle func(*server, net.Conn)
		want   outcome
	}{
		{"protocol_version", answer(fatal(70)), outcome{"hello", "protocol version not supported", allVersions, 0, false, 5}},
		{"handshake_failure", answer(fatal(40)), outcome{"hello", "handshake failure", allVersions, 0, false, 5}},
		{"internal_error", answer(fatal(80)), outcome{"hello", "internal error", allVersions, 0, false, 5}},
		{"unexpected_message", answer(fatal(10)), outcome{"hello", "unexpected message", allVersions, 0, false, 5}},
		{"insufficient_security", answer(fatal(71)), outcome{"hello", "insufficient security", allVersions, 0, false, 5}},
		{"decode_error", answer(fatal(50)), outcome{"hello", "error decoding message", allVersions, 0, false, 5}},
		{"unrecognized_name says nothing of versions", answer(fatal(112)), outcome{"hello", "unrecognized name", 0, 0, false, 5}},
		{"certificate_required says nothing of versions", answer(fatal(116)), outcome{"hello", "TLS 1.3 alone: remote error", 0, 0, false, 5}},
		{"a web server without TLS", answer([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")), outcome{"hello", "does not look like a TLS handshake", 0, 0, false, 5}},
		{"a reset after the hello", func(_ *server, c net.Conn) { readHello(c); reset(c) }, outcome{"hello", "connection reset by peer", 0, 0, false, 5}},
		{"an end after the hello", func(_ *server, c net.Conn) { readHello(c) }, outcome{"hello", "the edge closed the connection", 0, 0, false, 5}},
		{"a hello retry request, then the end", retryThenLeave, outcome{"hello", "TLS 1.3 alone: the edge closed the connection", allVersions.Without(plans.TLS13), 0, false, 5}},
		{
			"an old edge that takes any hello for TLS 1.0, and leaves", func(_ *server, c net.Conn) { readHello(c); _, _ = c.Write(hello(tls.VersionTLS10, "")) },
			outcome{"verify", "TLS 1.0 alone: the edge closed the connection", allVersions.Without(plans.TLS10), 0, false, 5},
		},
		{
			"an edge that would speak TLS 1.3 answers with 1.2 and the mark", func(_ *server, c net.Conn) { readHello(c); _, _ = c.Write(hello(tls.VersionTLS12, "DOWNGRD\x01")) },
			outcome{"hello", "downgrade attempt", allVersions.Without(plans.TLS12), 0, true, 5},
		},
		{
			"the mark for TLS 1.1 is another one", func(_ *server, c net.Conn) { readHello(c); _, _ = c.Write(hello(tls.VersionTLS12, "DOWNGRD\x00")) },
			outcome{"hello", "downgrade attempt", allVersions.Without(plans.TLS12), 0, false, 5},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, test.handle)
			got := probe(t, s.addr, trusting(""))
			conns, _, _ := s.seen()
			checkOutcome(t, test.want, got, conns)
			if got.Version != 0 || got.TLS != 0 || got.Connect <= 0 {
				t.Errorf("version %v, TLS %v, connect %v, want a connection alone", got.Version, got.TLS, got.Connect)
			}
		})
	}
}

// A silent edge costs one timeout, not one for each version.
func TestSilentEdge(t *testing.T) {
	s := serve(t, func(_ *server, conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	o := trusting("")
	o.Timeout = hasty
	started := time.Now()
	got := probe(t, s.addr, o)
	took := time.Since(started)
	conns, _, _ := s.seen()
	checkOutcome(t, outcome{Stage: "hello", Error: "no answer in 200ms", Conns: 1}, got, conns)
	if took < hasty || took > 10*time.Second {
		t.Errorf("it took %v, want a little more than %v", took, hasty)
	}
}

func TestClosedPort(t *testing.T) {
	ln := listen(t)
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	got := probe(t, addr, trusting(""))
	checkOutcome(t, outcome{Stage: "dial", Error: "connection refused"}, got, 0)
	if got.Error != "connect: connection refused" {
		t.Errorf("error %q, want the cause alone, once", got.Error)
	}
}

func TestAnEdgeThatIsNoAddress(t *testing.T) {
	checkOutcome(t, outcome{Stage: "dial", Error: "missing port"}, probe(t, "127.0.0.1", trusting("")), 0)
}

// Where one version is met with a reset or with silence, that version is unknown and the others are known.
func TestTroubleWithOneVersion(t *testing.T) {
	ca := newAuthority(t, nil)
	cert := ca.leaf(t, domain, ca.cert.NotAfter)
	for _, test := range []struct {
		name    string
		version uint16
		do      func(net.Conn)
		want    outcome
	}{
		{"TLS 1.0 is reset", tls.VersionTLS10, reset, outcome{"hello", "TLS 1.0 alone: ", allVersions.Without(plans.TLS10), allVersions.Without(plans.TLS10), true, 4}},
		{"TLS 1.1 is cut", tls.VersionTLS11, func(c net.Conn) { _ = c.Close() }, outcome{"hello", "TLS 1.1 alone: the edge closed the connection", allVersions.Without(plans.TLS11), allVersions.Without(plans.TLS11), true, 4}},
		{"TLS 1.1 is met with silence", tls.VersionTLS11, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, outcome{"hello", "TLS 1.1 alone: no answer in", allVersions.Without(plans.TLS11), allVersions.Without(plans.TLS11), true, 4}},
		{"TLS 1.2 is reset: no mark is seen", tls.VersionTLS12, reset, outcome{"hello", "TLS 1.2 alone: ", allVersions.Without(plans.TLS12), allVersions.Without(plans.TLS12), false, 4}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, func(s *server, conn net.Conn) {
				c := config(cert, tls.VersionTLS10, tls.VersionTLS13)
				c.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
					if len(h.SupportedVersions) == 1 && h.SupportedVersions[0] == test.version {
						test.do(conn)
					}
					return nil, nil //nolint:nilnil // no other configuration
				}
				s.shake(conn, c)
			})
			o := trusting(ca.file(t))
			o.Timeout = time.Second
			got := probe(t, s.addr, o)
			conns, _, _ := s.seen()
			checkOutcome(t, test.want, got, conns)
			if got.Version != plans.TLS13 {
				t.Errorf("version %v, want TLS 1.3", got.Version)
			}
		})
	}
}

// An edge that asks for a client certificate breaks off at the end; its own certificate has been seen by then.
func TestFailureAtTheEnd(t *testing.T) {
	ca := newAuthority(t, nil)
	c := config(ca.leaf(t, "www.example.net", ca.cert.NotAfter), tls.VersionTLS12, tls.VersionTLS12)
	c.ClientAuth = tls.RequireAnyClientCert
	s := serveTLS(t, c)
	got := probe(t, s.addr, trusting(ca.file(t)))
	checkOutcome(t, outcome{"finished", "TLS 1.2 alone: remote error", allVersions.Without(plans.TLS12), 0, false, 5}, got, 5)
	if !strings.Contains(got.ChainError, "www.example.net") || got.Issuer != "CN=Example CA" {
		t.Errorf("chain error %q, issuer %q, want what the edge showed", got.ChainError, got.Issuer)
	}
}
