// Package tlsprobe makes TLS handshakes with a CDN's edges, each dialled by its own address and greeted with the domain's name, and
// says what came back.
//
// An edge gets one handshake of a client that speaks everything, and one for each version offered alone. Laws, beside those of package
// providers:
//
//   - A bad certificate is a finding, not a lost probe. The chain is verified as sent: an intermediate that is not sent is not there.
//   - A version is refused when the edge says so: by an alert about what was offered, or by choosing another version. Silence, a cut
//     and an alert about anything else (the name, the application protocol) leave the version unknown, and the handshake has an Error.
//   - What was offered does not depend on the environment: versions, suites and groups are written out. Versions below 1.2 and the
//     suites of old edges are among them, because an edge that speaks nothing better must be seen, not trusted.
//   - The downgrade mark is read from the bytes of the ServerHello that answers a hello which stops at TLS 1.2. crypto/tls hides it there.
//   - Nothing is sent after a handshake but its end: close_notify.
//
// An edge that accepts none of the suites known here is taken to refuse the version. Finite-field Diffie-Hellman, RC4 and TLS 1.2
// suites of ARIA, Camellia and CCM are not known here.
package tlsprobe

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

const (
	name            = "tlsprobe"
	defaultTimeout  = 5 * time.Second
	defaultParallel = 4
)

// Leg says where the edges of one CDN are, and who vouches for them.
type Leg struct {
	Edges  []string                                    // host:port, probed in this order
	CA     string                                      // PEM file of the roots to trust; "" trusts the system's
	Lookup func(ctx context.Context) ([]string, error) // finds the edges at each call; used when Edges is empty
}

// Options say what to probe and how. Timeout, ALPN and Parallel are optional.
type Options struct {
	Primary, Backup Leg
	Timeout         time.Duration // of one handshake, its dial included, wall time; 0 is 5 s
	ALPN            []string      // offered by the client that speaks everything; nil is h2 and http/1.1, empty offers none
	Parallel        int           // edges probed at once, each with one connection; 0 is 4
}

// Prober probes the edges of both legs for one domain. It may be used by several goroutines.
type Prober struct {
	domain          string
	primary, backup leg
	timeout         time.Duration
	alpn            []string
	parallel        int
}

var _ providers.Prober = (*Prober)(nil)

// leg is a Leg with its roots read; nil roots are the system's.
type leg struct {
	Leg
	roots *x509.CertPool
}

// New returns a prober for domain. It fails with kind Invalid when domain is empty, an option is negative, or a CA file holds no
// certificate that can be read.
func New(domain string, o Options) (*Prober, error) {
	p := &Prober{domain: strings.TrimSuffix(domain, "."), timeout: o.Timeout, alpn: slices.Clone(o.ALPN), parallel: o.Parallel}
	switch {
	case p.domain == "":
		return nil, invalid("configure", errors.New("there is no domain to greet the edges with"))
	case o.Timeout < 0 || o.Parallel < 0:
		return nil, invalid("configure", errors.New("timeout and parallel must not be negative"))
	}
	if p.timeout == 0 {
		p.timeout = defaultTimeout
	}
	if o.ALPN == nil {
		p.alpn = []string{"h2", "http/1.1"}
	}
	if p.parallel == 0 {
		p.parallel = defaultParallel
	}
	var err error
	if p.primary, err = newLeg(o.Primary); err != nil {
		return nil, invalid("configure the primary", err)
	}
	if p.backup, err = newLeg(o.Backup); err != nil {
		return nil, invalid("configure the backup", err)
	}
	return p, nil
}

func newLeg(l Leg) (leg, error) {
	roots, err := readRoots(l.CA)
	l.Edges = slices.Clone(l.Edges)
	return leg{Leg: l, roots: roots}, err
}

func invalid(op string, err error) error {
	return &providers.Error{Provider: name, Op: op, Kind: providers.Invalid, Err: err}
}

func readRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // no pool is how crypto/x509 spells the system's roots
	}
	pem, err := os.ReadFile(file) //nolint:gosec // the plan names the file
	if err != nil {
		return nil, fmt.Errorf("read the CA file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the CA file %s holds no certificate", file)
	}
	return pool, nil
}

// Handshake implements providers.Prober. An edge costs four or five connections, one after the other. When ctx ends, no result is
// returned, not even of edges that are done.
func (p *Prober) Handshake(ctx context.Context, which guardrails.Leg) ([]plans.Handshake, error) {
	l := p.primary
	switch which {
	case guardrails.Primary:
	case guardrails.Backup:
		l = p.backup
	default:
		return nil, invalid("probe", fmt.Errorf("there is no %v", which))
	}
	edges, err := p.edges(ctx, which, l)
	if err != nil {
		return nil, err
	}
	out := make([]plans.Handshake, len(edges))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(p.parallel, len(edges)) {
		wg.Go(func() {
			for i := range next {
				out[i] = p.probeEdge(ctx, l, edges[i])
				out[i].Leg = which
			}
		})
	}
	for i := range edges {
		next <- i
	}
	close(next)
	wg.Wait()
	if ctx.Err() != nil {
		return nil, ended(ctx, "probe the "+which.String())
	}
	return out, nil
}

// edges lists where to dial.
func (p *Prober) edges(ctx context.Context, which guardrails.Leg, l leg) ([]string, error) {
	op := "find the edges of the " + which.String()
	edges := l.Edges
	if len(edges) == 0 && l.Lookup != nil {
		var err error
		edges, err = l.Lookup(ctx)
		switch known, ok := errors.AsType[*providers.Error](err); {
		case ctx.Err() != nil:
			return nil, ended(ctx, op)
		case ok:
			return nil, fmt.Errorf("%s: %w", op, known)
		case err != nil:
			return nil, &providers.Error{Provider: name, Op: op, Kind: providers.Transient, Err: err}
		}
	}
	if len(edges) == 0 {
		return nil, &providers.Error{Provider: name, Op: op, Kind: providers.Missing, Err: errors.New("there is none")}
	}
	return edges, nil
}

// ended is the error of a call that ctx cut short; probes change nothing, so it is Transient.
func ended(ctx context.Context, op string) error {
	return &providers.Error{Provider: name, Op: op, Kind: providers.Transient, Err: ctx.Err()}
}
