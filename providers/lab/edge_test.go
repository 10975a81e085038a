package lab_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// hello makes a handshake that offers the versions lo..hi.
func hello(t *testing.T, l *lab.Lab, addr string, lo, hi uint16) (tls.ConnectionState, error) {
	t.Helper()
	pem, err := os.ReadFile(l.Endpoints().CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatal("the CA file holds no certificate")
	}
	d := tls.Dialer{Config: &tls.Config{
		ServerName: "cdn.example.com", RootCAs: roots, MinVersion: lo, MaxVersion: hi, NextProtos: []string{"h2", "http/1.1"},
	}}
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer func() { _ = conn.Close() }() // the handshake is what counts
	return conn.(*tls.Conn).ConnectionState(), nil
}

// accepted offers each version alone, as a prober does.
func accepted(t *testing.T, l *lab.Lab, addr string) plans.TLSSet {
	t.Helper()
	var set plans.TLSSet
	for i, v := range plans.TLSVersions() {
		n := uint16(tls.VersionTLS10 + i)
		if s, err := hello(t, l, addr, n, n); err == nil && s.Version == n {
			set = set.With(v)
		}
	}
	return set
}

// write sets the primary's versions without the API in between.
func write(t *testing.T, l *lab.Lab, set plans.TLSSet) {
	t.Helper()
	l.With(func(now time.Time, w *world.World) {
		s := w.State(now).Primary.TLS
		s.Enabled = set
		if _, err := w.WriteTLS(now, plans.TLSWrite{Set: &s}); err != nil {
			t.Error(err)
		}
	})
}

func TestEdgesSpeakWhatIsConfigured(t *testing.T) {
	l := start(t, instantly(0))
	e := l.Endpoints()
	old := plans.TLSSetOf(plans.TLS10, plans.TLS11, plans.TLS12)
	for _, want := range []plans.TLSSet{
		old, old.With(plans.TLS13), plans.TLSSetOf(plans.TLS12, plans.TLS13), plans.TLSSetOf(plans.TLS13), plans.TLSSetOf(plans.TLS12),
		plans.TLSSetOf(plans.TLS10, plans.TLS12), plans.TLSSetOf(plans.TLS10, plans.TLS13), plans.TLSSetOf(plans.TLS11, plans.TLS13), 0,
	} {
		write(t, l, want)
		for _, addr := range e.PrimaryEdges {
			if got := accepted(t, l, addr); got != want {
				t.Errorf("an edge of the primary speaks %v, want %v", got, want)
			}
		}
		for _, addr := range e.BackupEdges {
			if got := accepted(t, l, addr); got != old {
				t.Errorf("an edge of the backup speaks %v, want %v", got, old)
			}
		}
	}
}

func TestEdgesFollowOnlyAfterPropagation(t *testing.T) {
	l := start(t, lab.Options{World: world.Config{PropagationTLS: 24 * time.Hour}})
	write(t, l, plans.TLSSetOf(plans.TLS12, plans.TLS13))
	for _, addr := range l.Endpoints().PrimaryEdges {
		if got := accepted(t, l, addr); got.Has(plans.TLS13) {
			t.Errorf("an edge speaks %v at once", got)
		}
	}
	read := call(t, l, params{"Action": "DescribeCdnDomainConfigs", "DomainName": "cdn.example.com", "FunctionNames": "https_tls_version"})
	if got := at(read.body, "DomainConfigs", "DomainConfig", 0, "Status"); got != "configuring" {
		t.Errorf("status %v, want configuring", got)
	}
}

func TestClientsNegotiateAsWithAnEdge(t *testing.T) {
	l := start(t, instantly(0))
	addr := l.Endpoints().PrimaryEdges[0]
	type seen struct {
		Version    uint16
		ALPN       string
		Downgraded bool // the client saw the mark that TLS 1.3 is there
	}
	look := func(lo, hi uint16) seen {
		s, err := hello(t, l, addr, lo, hi)
		if err != nil {
			t.Errorf("%x to %x: %v", lo, hi, err)
		}
		return seen{Version: s.Version, ALPN: s.NegotiatedProtocol}
	}
	if diff := cmp.Diff(seen{tls.VersionTLS12, "h2", false}, look(tls.VersionTLS10, tls.VersionTLS13)); diff != "" {
		t.Errorf("before (-want +got)\n%s", diff)
	}
	write(t, l, plans.TLSSetOf(plans.TLS10, plans.TLS11, plans.TLS12, plans.TLS13))
	got := []seen{look(tls.VersionTLS10, tls.VersionTLS13), look(tls.VersionTLS10, tls.VersionTLS12), look(tls.VersionTLS10, tls.VersionTLS11)}
	want := []seen{{tls.VersionTLS13, "h2", false}, {tls.VersionTLS12, "h2", false}, {tls.VersionTLS11, "http/1.1", false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after (-want +got)\n%s", diff)
	}
	// In {1.0, 1.2} a client of 1.0 and 1.1 is served 1.0.
	write(t, l, plans.TLSSetOf(plans.TLS10, plans.TLS12))
	if diff := cmp.Diff(seen{tls.VersionTLS10, "http/1.1", false}, look(tls.VersionTLS10, tls.VersionTLS11)); diff != "" {
		t.Errorf("with a gap (-want +got)\n%s", diff)
	}
}

func TestWrongCertificateOnTheLastEdgeOnly(t *testing.T) {
	l := start(t, instantly(world.EdgeWrongCert))
	write(t, l, plans.TLSSetOf(plans.TLS12, plans.TLS13))
	var bad []bool
	for _, addr := range append(l.Endpoints().PrimaryEdges, l.Endpoints().BackupEdges...) {
		_, err := hello(t, l, addr, tls.VersionTLS12, tls.VersionTLS12)
		if name, ok := errors.AsType[x509.HostnameError](err); ok {
			bad = append(bad, name.Certificate.DNSNames[0] == "wrong.example.net")
			continue
		}
		bad = append(bad, err != nil)
	}
	if diff := cmp.Diff([]bool{false, true, false, false}, bad); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestEdgesAnswerHTTP(t *testing.T) {
	l := start(t, lab.Options{World: world.Config{PrimaryEdges: 3}})
	if got := len(l.Endpoints().PrimaryEdges); got != 3 {
		t.Errorf("%d edges, want 3", got)
	}
	l.With(func(_ time.Time, w *world.World) {
		if got := w.Edges(guardrails.Primary); got != 3 {
			t.Errorf("the world has %d edges, want 3", got)
		}
	})
	tr := &http.Transport{ForceAttemptHTTP2: true, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "cdn.example.com"}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+l.Endpoints().PrimaryEdges[2]+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.CloseIdleConnections()
	defer closed(t, res.Body)
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusNoContent || res.ProtoMajor != 2 {
		t.Errorf("%s %d, %v; want HTTP/2 204", res.Proto, res.StatusCode, err)
	}
}
