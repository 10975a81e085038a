package tlsprobe_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/tlsprobe"
)

// patience is how long a probe waits for an edge that is expected to answer: not reached even on a busy machine.
const patience = time.Minute

// probe makes one round with one edge.
func probe(t *testing.T, addr string, o tlsprobe.Options) plans.Handshake {
	t.Helper()
	o.Primary.Edges = []string{addr}
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	p, err := tlsprobe.New(domain, o)
	if err != nil {
		t.Fatal(err)
	}
	hs, err := p.Handshake(t.Context(), guardrails.Primary)
	if err != nil {
		t.Fatal(err)
	}
	if len(hs) != 1 {
		t.Fatalf("%d results for one edge", len(hs))
	}
	return hs[0]
}

func trusting(ca string) tlsprobe.Options { return tlsprobe.Options{Primary: tlsprobe.Leg{CA: ca}} }

// config is a server's, with one suite up to TLS 1.2 so that the choice does not depend on the machine.
func config(cert tls.Certificate, lowest, highest uint16) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{cert}, MinVersion: lowest, MaxVersion: highest, NextProtos: []string{"h2", "http/1.1"},
		CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA},
	}
}

var allVersions = plans.TLSSetOf(plans.TLSVersions()...)

func TestWhatAnEdgeSpeaks(t *testing.T) {
	ca := newAuthority(t, nil)
	cert := ca.leaf(t, domain, ca.cert.NotAfter)
	for _, test := range []struct {
		name   string
		server *tls.Config
		want   plans.Handshake
		conns  int
	}{
		{
			"TLS 1.2 alone", config(cert, tls.VersionTLS12, tls.VersionTLS12),
			plans.Handshake{Accepted: plans.TLSSetOf(plans.TLS12), Version: plans.TLS12, Group: "X25519", ALPN: "h2"},
			5,
		},
		{
			"TLS 1.2 and 1.3: an old client still gets 1.2, with the mark", config(cert, tls.VersionTLS12, tls.VersionTLS13),
			plans.Handshake{Accepted: plans.TLSSetOf(plans.TLS12, plans.TLS13), Version: plans.TLS13, Group: "X25519MLKEM768", ALPN: "h2", Sentinel: true},
			4,
		},
		{
			"TLS 1.3 alone", config(cert, tls.VersionTLS13, tls.VersionTLS13),
			plans.Handshake{Accepted: plans.TLSSetOf(plans.TLS13), Version: plans.TLS13, Group: "X25519MLKEM768", ALPN: "h2"},
			4,
		},
		{
			"TLS 1.0 to 1.2", config(cert, tls.VersionTLS10, tls.VersionTLS12),
			plans.Handshake{Accepted: plans.TLSSetOf(plans.TLS10, plans.TLS11, plans.TLS12), Version: plans.TLS12, Group: "X25519", ALPN: "h2"},
			5,
		},
		{
			"everything", config(cert, tls.VersionTLS10, tls.VersionTLS13),
			plans.Handshake{Accepted: allVersions, Version: plans.TLS13, Group: "X25519MLKEM768", ALPN: "h2", Sentinel: true},
			4,
		},
		{
			"TLS 1.0 alone", config(cert, tls.VersionTLS10, tls.VersionTLS10),
			plans.Handshake{Accepted: plans.TLSSetOf(plans.TLS10), Version: plans.TLS10, Group: "X25519", ALPN: "h2"},
			4,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serveTLS(t, test.server)
			got := probe(t, s.addr, trusting(ca.file(t)))
			conns, states, _ := s.seen()
			want := test.want
			want.Leg, want.Edge, want.Probed = guardrails.Primary, s.addr, allVersions
			want.Suite = tls.CipherSuiteName(states[0].CipherSuite)
			want.Names, want.Issuer, want.NotAfter = []string{domain}, "CN=Example CA", ca.cert.NotAfter
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(plans.Handshake{}, "Connect", "TLS")); diff != "" {
				t.Errorf("handshake (-want +got):\n%s", diff)
			}
			if got.Connect <= 0 || got.TLS <= 0 {
				t.Errorf("times connect %v, TLS %v, want both above 0", got.Connect, got.TLS)
			}
			if conns != test.conns {
				t.Errorf("%d connections, want %d", conns, test.conns)
			}
		})
	}
}

func TestEveryHandshakeGreetsTheDomainAndEndsWithCloseNotify(t *testing.T) {
	ca := newAuthority(t, nil)
	s := serveTLS(t, config(ca.leaf(t, domain, ca.cert.NotAfter), tls.VersionTLS10, tls.VersionTLS13))
	p, err := tlsprobe.New(domain+".", tlsprobe.Options{Backup: tlsprobe.Leg{Edges: []string{s.addr}, CA: ca.file(t)}})
	if err != nil {
		t.Fatal(err)
	}
	hs, err := p.Handshake(t.Context(), guardrails.Backup)
	if err != nil {
		t.Fatal(err)
	}
	if hs[0].Leg != guardrails.Backup || hs[0].Error != "" || hs[0].ChainError != "" {
		t.Errorf("handshake %+v, want a good one of the backup", hs[0])
	}
	_, states, ends := s.seen()
	if len(states) != 4 {
		t.Fatalf("%d handshakes were finished, want 4", len(states))
	}
	for i, state := range states {
		if state.ServerName != domain {
			t.Errorf("handshake %d greets %q, want %q", i, state.ServerName, domain)
		}
		if !errors.Is(ends[i], io.EOF) || errors.Is(ends[i], io.ErrUnexpectedEOF) {
			t.Errorf("handshake %d ends with %v, want close_notify", i, ends[i])
		}
	}
}

func TestGroups(t *testing.T) {
	ca := newAuthority(t, nil)
	cert := ca.leaf(t, domain, ca.cert.NotAfter)
	for _, test := range []struct {
		curve tls.CurveID
		want  string
		retry bool
	}{
		{tls.X25519MLKEM768, "X25519MLKEM768", false},
		{tls.X25519, "X25519", false},
		{tls.CurveP256, "CurveP256", true},
		{tls.CurveP384, "CurveP384", true},
	} {
		c := config(cert, tls.VersionTLS12, tls.VersionTLS13)
		c.CurvePreferences = []tls.CurveID{test.curve, tls.CurveP256} // TLS 1.2 has no hybrid
		if test.retry {
			c.CurvePreferences = c.CurvePreferences[:1]
		}
		s := serveTLS(t, c)
		got := probe(t, s.addr, trusting(ca.file(t)))
		if got.Group != test.want || got.Accepted != plans.TLSSetOf(plans.TLS12, plans.TLS13) || got.Error != "" {
			t.Errorf("group %s: got %q, accepts %v, error %q", test.want, got.Group, got.Accepted, got.Error)
		}
		if _, states, _ := s.seen(); states[0].HelloRetryRequest != test.retry {
			t.Errorf("group %s: hello retry request %v, want %v", test.want, states[0].HelloRetryRequest, test.retry)
		}
	}
}

func TestRSAKeyTransportHasNoGroup(t *testing.T) {
	ca := newAuthority(t, nil)
	c := config(ca.rsaLeaf(t, domain), tls.VersionTLS10, tls.VersionTLS12)
	c.CipherSuites = []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA}
	s := serveTLS(t, c)
	got := probe(t, s.addr, trusting(ca.file(t)))
	if got.Group != "" || got.Suite != "TLS_RSA_WITH_AES_128_CBC_SHA" || got.Accepted != allVersions.Without(plans.TLS13) || got.Error != "" {
		t.Errorf("group %q, suite %s, accepts %v, error %q", got.Group, got.Suite, got.Accepted, got.Error)
	}
}

func TestALPN(t *testing.T) {
	ca := newAuthority(t, nil)
	for _, test := range []struct {
		name            string
		offered, server []string
		want            string
		trouble         string
	}{
		{"h2 first", nil, []string{"h2", "http/1.1"}, "h2", ""},
		{"http/1.1 alone", nil, []string{"http/1.1"}, "http/1.1", ""},
		{"the edge knows none", nil, nil, "", ""},
		{"none is offered", []string{}, []string{"h2"}, "", ""},
		{"another is offered", []string{"http/1.1"}, []string{"h2", "http/1.1"}, "http/1.1", ""},
		{"nothing in common", []string{"example"}, []string{"h2"}, "", "no application protocol"},
	} {
		c := config(ca.leaf(t, domain, ca.cert.NotAfter), tls.VersionTLS12, tls.VersionTLS13)
		c.NextProtos = test.server
		o := trusting(ca.file(t))
		o.ALPN = test.offered
		got := probe(t, serveTLS(t, c).addr, o)
		if got.ALPN != test.want || !strings.Contains(got.Error, test.trouble) || test.trouble == "" && got.Error != "" {
			t.Errorf("%s: ALPN %q, error %q, want %q, %q", test.name, got.ALPN, got.Error, test.want, test.trouble)
		}
		if got.Accepted != plans.TLSSetOf(plans.TLS12, plans.TLS13) {
			t.Errorf("%s: accepts %v, want TLS 1.2 and 1.3: the application protocol says nothing of versions", test.name, got.Accepted)
		}
	}
}

// A certificate that does not verify is a finding: everything else about the edge is still told.
func TestCertificates(t *testing.T) {
	root, stranger := newAuthority(t, nil), newAuthority(t, nil)
	between := newAuthority(t, root)
	forgotten := *between
	forgotten.sent = nil
	end := root.cert.NotAfter
	for _, test := range []struct {
		name, ca string
		cert     tls.Certificate
		issuer   string
		trouble  string
	}{
		{"straight from the root", root.file(t), root.leaf(t, domain, end), "CN=Example CA", ""},
		{"with its intermediate", root.file(t), between.leaf(t, domain, end), "CN=Example Intermediate", ""},
		{"a wildcard", root.file(t), root.leaf(t, "*.example.com", end), "CN=Example CA", ""},
		{"for another name", root.file(t), root.leaf(t, "www.example.net", end), "CN=Example CA", "valid for www.example.net, not " + domain},
		{"expired", root.file(t), root.leaf(t, domain, time.Now().Add(-time.Minute)), "CN=Example CA", "expired"},
		{"not valid yet", root.file(t), root.leaf(t, domain, time.Now().Add(3*time.Hour)), "CN=Example CA", "not yet valid"},
		{"without its intermediate", root.file(t), forgotten.leaf(t, domain, end), "CN=Example Intermediate", "sent no intermediate"},
		{"from another root", stranger.file(t), root.leaf(t, domain, end), "CN=Example CA", "unknown authority"},
		{"from a root that the system does not know", "", root.leaf(t, domain, end), "CN=Example CA", "unknown authority"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serveTLS(t, config(test.cert, tls.VersionTLS12, tls.VersionTLS13))
			got := probe(t, s.addr, trusting(test.ca))
			if !strings.Contains(got.ChainError, test.trouble) || test.trouble == "" && got.ChainError != "" {
				t.Errorf("chain error %q, want %q", got.ChainError, test.trouble)
			}
			leaf, err := x509.ParseCertificate(test.cert.Certificate[0])
			if err != nil {
				t.Fatal(err)
			}
			got.ChainError = ""
			want := plans.Handshake{
				Leg: guardrails.Primary, Edge: s.addr, Accepted: plans.TLSSetOf(plans.TLS12, plans.TLS13), Probed: allVersions, Version: plans.TLS13,
				Group: "X25519MLKEM768", ALPN: "h2", Sentinel: true, Names: leaf.DNSNames, Issuer: test.issuer, NotAfter: leaf.NotAfter,
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(plans.Handshake{}, "Connect", "TLS", "Suite")); diff != "" {
				t.Errorf("handshake (-want +got):\n%s", diff)
			}
		})
	}
}
