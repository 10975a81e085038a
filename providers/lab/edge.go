package lab

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// edge is one TLS listener of one leg.
type edge struct {
	leg    guardrails.Leg
	number int
	listen net.Listener
}

func (l *Lab) listenEdges(ctx context.Context) ([]edge, error) {
	var edges []edge
	open := func(leg guardrails.Leg, n int, names *[]string) error {
		if n <= 0 {
			n = 2
		}
		for i := range n {
			ln, err := listen(ctx)
			if err != nil {
				return err
			}
			edges = append(edges, edge{leg: leg, number: i, listen: ln})
			*names = append(*names, ln.Addr().String())
		}
		return nil
	}
	err := open(guardrails.Primary, l.opts.World.PrimaryEdges, &l.ends.PrimaryEdges)
	if err == nil {
		err = open(guardrails.Backup, l.opts.World.BackupEdges, &l.ends.BackupEdges)
	}
	if err != nil {
		for _, e := range edges {
			err = errors.Join(err, e.listen.Close())
		}
		return nil, err
	}
	return edges, nil
}

func listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen on loopback: %w", err)
	}
	return ln, nil
}

func (l *Lab) serveEdges(ctx context.Context, edges []edge) {
	for _, e := range edges {
		base := &tls.Config{ //nolint:gosec // an edge speaks what the configuration says, old versions included
			MinVersion: tls.VersionTLS10, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{l.certs.good},
		}
		base.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) { return l.configFor(base, e, hello) }
		srv := l.server(ctx, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) }))
		srv.TLSConfig = base
		l.run(ctx, srv, func() error { return srv.ServeTLS(e.listen, "", "") })
	}
}

// configFor is what an edge offers to one client at this moment.
func (l *Lab) configFor(base *tls.Config, e edge, hello *tls.ClientHelloInfo) (*tls.Config, error) {
	var set plans.TLSSet
	var certOK bool
	l.With(func(now time.Time, w *world.World) {
		set, certOK = w.EdgeTLS(now, e.leg, e.number), w.EdgeCertOK(now, e.leg, e.number)
	})
	speaks := versions(set)
	if len(speaks) == 0 {
		return nil, errors.New("the edge speaks no version")
	}
	c := base.Clone()
	c.GetConfigForClient = nil
	c.MinVersion, c.MaxVersion = limits(speaks, hello.SupportedVersions)
	if v, ok := common(speaks, hello.SupportedVersions); ok && v < tls.VersionTLS12 {
		c.NextProtos = []string{"http/1.1"} // HTTP/2 asks for TLS 1.2 or later
	}
	if !certOK {
		c.Certificates = []tls.Certificate{l.certs.wrong}
	}
	return c, nil
}

// limits returns the range of versions with which crypto/tls answers a client as an edge that speaks these does. Where the set has a gap
// into which crypto/tls would fall, the range is what both speak, or else what the client does not.
func limits(speaks, client []uint16) (lo, hi uint16) {
	lo, hi = slices.Min(speaks), slices.Max(speaks)
	var span []uint16
	for v := lo; v <= hi; v++ {
		span = append(span, v)
	}
	chosen, ok := common(speaks, client)
	if pick, found := common(span, client); !found || pick == chosen {
		return lo, hi
	}
	if !ok {
		return lo, lo
	}
	return chosen, chosen
}

// versions returns a set as crypto/tls numbers, oldest first.
func versions(set plans.TLSSet) []uint16 {
	var vs []uint16
	for _, v := range plans.TLSVersions() {
		if set.Has(v) {
			vs = append(vs, tls.VersionTLS10+uint16(v-plans.TLS10))
		}
	}
	return vs
}

// common is the newest version in both lists.
func common(a, b []uint16) (uint16, bool) {
	best := uint16(0)
	for _, v := range a {
		if slices.Contains(b, v) {
			best = max(best, v)
		}
	}
	return best, best != 0
}

// server returns an HTTP server whose requests end with the lab and whose complaints go to the lab's log.
func (l *Lab) server(ctx context.Context, h http.Handler) *http.Server {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	// Each connection is waited for. The accepting goroutine still counts when StateNew comes, so the count never starts from zero.
	srv.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			l.done.Add(1)
		case http.StateClosed, http.StateHijacked:
			l.done.Done()
		case http.StateActive, http.StateIdle:
		}
	}
	if std, err := zap.NewStdLogAt(l.log, zap.DebugLevel); err == nil {
		srv.ErrorLog = std
	}
	return srv
}

// run serves until the lab's context ends, then cuts what is left.
func (l *Lab) run(ctx context.Context, srv *http.Server, serve func() error) {
	l.done.Go(func() {
		if err := serve(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			l.log.Warn("a server of the lab stopped", zap.Error(err))
		}
	})
	l.done.Go(func() {
		<-ctx.Done()
		if err := srv.Close(); err != nil {
			l.log.Debug("a server of the lab closed with an error", zap.Error(err))
		}
	})
}

// handler serves one exchange.
type handler func(http.ResponseWriter, *http.Request)

func (l *Lab) serveHTTP(ctx context.Context, h handler) (string, error) {
	ln, err := listen(ctx)
	if err != nil {
		return "", err
	}
	srv := l.server(ctx, http.HandlerFunc(h))
	l.run(ctx, srv, func() error { return srv.Serve(ln) })
	return "http://" + ln.Addr().String(), nil
}
