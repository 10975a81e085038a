package tlsprobe_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/tlsprobe"
)

func wantKind(t *testing.T, err error, kind providers.Kind, text string) {
	t.Helper()
	if _, ok := errors.AsType[*providers.Error](err); !ok || providers.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("error is %T (%v), want a *providers.Error of kind %v that says %q", err, err, kind, text)
	}
}

func TestNewRefuses(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		domain, text string
		o            tlsprobe.Options
	}{
		{"", "no domain", tlsprobe.Options{}},
		{".", "no domain", tlsprobe.Options{}},
		{domain, "configure the primary: read the CA file", tlsprobe.Options{Primary: tlsprobe.Leg{CA: empty + ".none"}}},
		{domain, "configure the backup: the CA file", tlsprobe.Options{Backup: tlsprobe.Leg{CA: empty}}},
		{domain, "must not be negative", tlsprobe.Options{Timeout: -1}},
		{domain, "must not be negative", tlsprobe.Options{Parallel: -1}},
	} {
		_, err := tlsprobe.New(test.domain, test.o)
		wantKind(t, err, providers.Invalid, test.text)
	}
}

func TestEdgesComeFromThePlanOrFromLookup(t *testing.T) {
	ca := newAuthority(t, nil)
	file := ca.file(t)
	s := serveTLS(t, config(ca.leaf(t, domain, ca.cert.NotAfter), tls.VersionTLS12, tls.VersionTLS13))
	found := func(edges ...string) func(context.Context) ([]string, error) {
		return func(context.Context) ([]string, error) { return edges, nil }
	}
	fails := func(err error) func(context.Context) ([]string, error) {
		return func(context.Context) ([]string, error) { return nil, err }
	}
	denied := &providers.Error{Provider: "cdn", Op: "read", Kind: providers.Denied, Err: errors.New("not yours")}
	for _, test := range []struct {
		name string
		leg  tlsprobe.Leg
		kind providers.Kind
		text string
	}{
		{"from the plan, and nobody is asked", tlsprobe.Leg{Edges: []string{s.addr}, Lookup: fails(denied)}, 0, ""},
		{"from lookup", tlsprobe.Leg{Lookup: found(s.addr)}, 0, ""},
		{"there is neither", tlsprobe.Leg{}, providers.Missing, "find the edges of the primary: there is none"},
		{"lookup finds none", tlsprobe.Leg{Lookup: found()}, providers.Missing, "there is none"},
		{"lookup fails as an adapter does", tlsprobe.Leg{Lookup: fails(denied)}, providers.Denied, "not yours"},
		{"lookup fails otherwise", tlsprobe.Leg{Lookup: fails(io.ErrUnexpectedEOF)}, providers.Transient, "unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.leg.CA = file
			p, err := tlsprobe.New(domain, tlsprobe.Options{Primary: test.leg})
			if err != nil {
				t.Fatal(err)
			}
			hs, err := p.Handshake(t.Context(), guardrails.Primary)
			if test.kind != 0 {
				wantKind(t, err, test.kind, test.text)
				return
			}
			if err != nil || len(hs) != 1 || hs[0].Edge != s.addr || hs[0].Error != "" {
				t.Errorf("handshakes %+v, error %v", hs, err)
			}
		})
	}
}

func TestALegThatIsNone(t *testing.T) {
	p, err := tlsprobe.New(domain, tlsprobe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Handshake(t.Context(), guardrails.Leg(7))
	wantKind(t, err, providers.Invalid, "leg 7")
}

func TestCtxEndsAtOnce(t *testing.T) {
	arrived := make(chan struct{}, 10)
	s := serve(t, func(_ *server, conn net.Conn) {
		arrived <- struct{}{}
		_, _ = io.Copy(io.Discard, conn)
	})
	edges := tlsprobe.Leg{Edges: []string{s.addr, s.addr, s.addr}}
	lookup := tlsprobe.Leg{Lookup: func(ctx context.Context) ([]string, error) {
		arrived <- struct{}{}
		<-ctx.Done()
		return nil, errors.New("found nothing")
	}}
	for name, leg := range map[string]tlsprobe.Leg{"while edges are silent": edges, "while lookup takes its time": lookup} {
		p, err := tlsprobe.New(domain, tlsprobe.Options{Primary: leg, Timeout: patience, Parallel: 1})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-arrived
			cancel()
		}()
		started := time.Now()
		hs, err := p.Handshake(ctx, guardrails.Primary)
		if took := time.Since(started); took > patience/2 || hs != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: after %v handshakes %v, error %v, want context.Canceled at once", name, took, hs, err)
		}
		wantKind(t, err, providers.Transient, "")
	}
	if conns, _, _ := s.seen(); conns != 1 {
		t.Errorf("%d connections, want 1: the edges behind the silent one are not reached", conns)
	}
}

func TestCtxThatEndedBefore(t *testing.T) {
	s := serve(t, func(*server, net.Conn) {})
	p, err := tlsprobe.New(domain, tlsprobe.Options{Primary: tlsprobe.Leg{Edges: []string{s.addr}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, err = p.Handshake(ctx, guardrails.Primary)
	wantKind(t, err, providers.Transient, "")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v does not wrap context.DeadlineExceeded", err)
	}
	if conns, _, _ := s.seen(); conns != 0 {
		t.Errorf("%d connections, want none", conns)
	}
}

// crowd counts connections that are open at the same time, and lets none go before `together` have met.
type crowd struct {
	mu         sync.Mutex
	open, most int
	together   int
	met        chan struct{}
	once       sync.Once
}

func (c *crowd) enter() {
	c.mu.Lock()
	c.open++
	c.most = max(c.most, c.open)
	if c.open == c.together {
		c.once.Do(func() { close(c.met) })
	}
	c.mu.Unlock()
	<-c.met
}

func (c *crowd) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
}

func TestEdgesAreProbedTogetherAndReportedInOrder(t *testing.T) {
	ca := newAuthority(t, nil)
	cert := ca.leaf(t, domain, ca.cert.NotAfter)
	for _, parallel := range []int{1, 3, 0} {
		c := &crowd{together: parallel, met: make(chan struct{})}
		if parallel == 0 {
			c.together = 4 // the default
		}
		var edges []string
		for range 6 {
			s := serve(t, func(s *server, conn net.Conn) {
				c.enter()
				// The client waits for this end before it opens its next connection, so leave comes first.
				side := tls.Server(conn, config(cert, tls.VersionTLS10, tls.VersionTLS13))
				if side.HandshakeContext(s.life) == nil {
					_, _ = side.Read(make([]byte, 1))
				}
				c.leave()
				_ = side.Close()
			})
			edges = append(edges, s.addr)
		}
		p, err := tlsprobe.New(domain, tlsprobe.Options{Primary: tlsprobe.Leg{Edges: edges, CA: ca.file(t)}, Timeout: patience, Parallel: parallel})
		if err != nil {
			t.Fatal(err)
		}
		hs, err := p.Handshake(t.Context(), guardrails.Primary)
		if err != nil {
			t.Fatal(err)
		}
		if got := edgesOf(hs); !slices.Equal(got, edges) {
			t.Errorf("parallel %d: results for %v, want %v", parallel, got, edges)
		}
		if c.most != c.together {
			t.Errorf("parallel %d: up to %d connections at once, want %d", parallel, c.most, c.together)
		}
		for _, h := range hs {
			if h.Error != "" || h.Accepted != allVersions {
				t.Errorf("parallel %d: edge %s: %q, accepts %v", parallel, h.Edge, h.Error, h.Accepted)
			}
		}
	}
}

func edgesOf(hs []plans.Handshake) []string {
	var out []string
	for _, h := range hs {
		out = append(out, h.Edge)
	}
	return out
}

func TestSeveralGoroutines(t *testing.T) {
	ca := newAuthority(t, nil)
	s := serveTLS(t, config(ca.leaf(t, domain, ca.cert.NotAfter), tls.VersionTLS12, tls.VersionTLS13))
	leg := tlsprobe.Leg{Edges: []string{s.addr}, CA: ca.file(t)}
	p, err := tlsprobe.New(domain, tlsprobe.Options{Primary: leg, Backup: leg, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			which := guardrails.Leg(1 + i%2)
			hs, err := p.Handshake(t.Context(), which)
			if err != nil || len(hs) != 1 || hs[0].Leg != which || hs[0].Error != "" || hs[0].ChainError != "" {
				t.Errorf("handshakes %+v, error %v", hs, err)
			}
		})
	}
	wg.Wait()
}
