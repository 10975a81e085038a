package tlsprobe_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const domain = "cdn.example.com"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	sent [][]byte // what a leaf must be sent with, to lead to the root
}

func newAuthority(t *testing.T, parent *authority) *authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Example CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	signer, signerKey := template, key
	if parent != nil {
		template.Subject.CommonName = "Example Intermediate"
		signer, signerKey = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, key.Public(), signerKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{cert: cert, key: key}
	if parent != nil {
		a.sent = [][]byte{der}
	}
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// file writes the authority's certificate as PEM and returns the path.
func (a *authority) file(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// leaf makes a certificate for a name that ends at an instant.
func (a *authority) leaf(t *testing.T, host string, end time.Time) tls.Certificate {
	t.Helper()
	key := newKey(t)
	return tls.Certificate{Certificate: a.sign(t, host, end, key.Public()), PrivateKey: key}
}

// rsaLeaf is leaf with an RSA key.
func (a *authority) rsaLeaf(t *testing.T, host string) tls.Certificate {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: a.sign(t, host, a.cert.NotAfter, key.Public()), PrivateKey: key}
}

func (a *authority) sign(t *testing.T, host string, end time.Time, public any) [][]byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, NotBefore: end.Add(-2 * time.Hour),
		NotAfter: end, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert, public, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return append([][]byte{der}, a.sent...)
}

// server is an edge under the test's control. It counts connections and keeps what its side of each handshake saw.
type server struct {
	addr string
	life context.Context // the test's

	mu     sync.Mutex
	conns  int
	states []tls.ConnectionState
	ends   []error // how completed connections ended, as the server read it
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// serve gives each connection to handle, one goroutine each, and waits for all at the end of the test.
func serve(t *testing.T, handle func(s *server, conn net.Conn)) *server {
	t.Helper()
	ln := listen(t)
	s := &server{addr: ln.Addr().String(), life: t.Context()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns++
			s.mu.Unlock()
			wg.Go(func() {
				defer conn.Close() //nolint:errcheck // the client is gone by then
				handle(s, conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		wg.Wait()
	})
	return s
}

// serveTLS answers as a TLS server with this configuration.
func serveTLS(t *testing.T, c *tls.Config) *server {
	t.Helper()
	return serve(t, func(s *server, conn net.Conn) { s.shake(conn, c) })
}

// shake makes the server's side of a handshake and waits for the client to leave.
func (s *server) shake(conn net.Conn, c *tls.Config) {
	side := tls.Server(conn, c)
	if err := side.HandshakeContext(s.life); err != nil {
		return
	}
	n, err := side.Read(make([]byte, 1))
	if n > 0 {
		err = errors.New("the client sent data")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states = append(s.states, side.ConnectionState())
	s.ends = append(s.ends, err)
	_ = side.Close()
}

// seen returns what came so far.
func (s *server) seen() (conns int, states []tls.ConnectionState, ends []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns, append([]tls.ConnectionState(nil), s.states...), append([]error(nil), s.ends...)
}

// readHello reads the client's next record.
func readHello(conn net.Conn) {
	header := make([]byte, 5)
	if _, err := io.ReadFull(conn, header); err == nil {
		_, _ = io.CopyN(io.Discard, conn, int64(header[3])<<8|int64(header[4]))
	}
}

// reset makes closing a connection a reset.
func reset(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}
