// Package resolve asks name servers where the name being shifted points: each authoritative server again and again, since it chooses
// anew for every query, and public resolvers a few times, since they repeat what they have cached.
//
// Laws, beside those of package providers:
//
//   - Nothing is cached here.
//   - A reply counts for the host name it points at. One that points elsewhere, at two places, or nowhere, counts as other.
//   - A reply that is not authoritative tells nothing when an authoritative server was asked: it failed.
//   - A server that does not answer is a result, not an error.
package resolve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

const (
	provider        = "dns"
	defaultTimeout  = 2 * time.Second
	workers         = 4  // sockets a server
	resolverQueries = 5  // a public resolver answers from its cache: more would only be noise
	giveUpAfter     = 5  // queries in a row without a reply, a socket
	maxEdges        = 8  // of one host name
	maxServers      = 13 // of one zone
)

// Options are optional; the zero value asks the zone's own name servers.
type Options struct {
	Nameservers []string      // host:port of the authoritative servers; empty asks the zone's NS records, through Resolvers if there are any
	Resolvers   []string      // host:port of public resolvers to ask as well
	Timeout     time.Duration // of one query, wall time; 0 is 2 s
}

// Resolver asks about one name. It may be used by several goroutines.
type Resolver struct {
	name    string
	zone    string
	options Options
}

var _ providers.Resolver = (*Resolver)(nil)

// New returns a resolver for a name in a zone. It fails with kind Invalid when the name is no domain name, and the zone is none but needed.
func New(name, zone string, o Options) (*Resolver, error) {
	for _, n := range []string{name, zone} {
		if n == zone && len(o.Nameservers) > 0 {
			continue
		}
		if _, ok := dns.IsDomainName(n); !ok || n == "" {
			return nil, &providers.Error{Provider: provider, Op: "configure", Kind: providers.Invalid, Err: fmt.Errorf("%q is no domain name", n)}
		}
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	return &Resolver{name: dns.Fqdn(name), zone: dns.Fqdn(zone), options: o}, nil
}

// server is one to ask.
type server struct {
	address       string
	authoritative bool
}

// Resolve implements providers.Resolver. Public resolvers are asked at most five times. When ctx ends, no result is returned.
func (r *Resolver) Resolve(ctx context.Context, primary, backup string, n int) ([]plans.Answers, error) {
	servers, err := r.servers(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]plans.Answers, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { out[i] = r.askServer(ctx, s, primary, backup, n) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, failure(ctx, "ask about "+r.name, ctx.Err())
	}
	return out, nil
}

// failure is the error of a lookup: Missing when the name is known not to exist, else Transient, since questions change nothing.
func failure(ctx context.Context, op string, err error) error {
	e := &providers.Error{Provider: provider, Op: op, Kind: providers.Transient, Err: err}
	switch known, ok := errors.AsType[*net.DNSError](err); {
	case ctx.Err() != nil:
		e.Err = ctx.Err()
	case ok:
		e.Err = errors.New(known.Err) // its own text names the system's server, whoever was asked
		if known.IsNotFound {
			e.Kind = providers.Missing
		}
	}
	return e
}

// servers lists who is asked, the authoritative ones first.
func (r *Resolver) servers(ctx context.Context) ([]server, error) {
	addresses := r.options.Nameservers
	if len(addresses) == 0 {
		var err error
		if addresses, err = zoneServers(ctx, r.zone, r.options.Resolvers); err != nil {
			return nil, failure(ctx, "find the name servers of "+r.zone, err)
		}
	}
	var out []server
	for _, a := range addresses {
		out = append(out, server{address: a, authoritative: true})
	}
	for _, a := range r.options.Resolvers {
		out = append(out, server{address: a})
	}
	return out, nil
}
