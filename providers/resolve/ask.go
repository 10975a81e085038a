package resolve

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/tlsroll/tlsroll/plans"
)

// askServer splits n queries over a few sockets.
func (r *Resolver) askServer(ctx context.Context, s server, primary, backup string, n int) plans.Answers {
	if !s.authoritative {
		n = min(n, resolverQueries)
	}
	parts := make([]plans.Answers, max(min(workers, n), 0))
	var wg sync.WaitGroup
	for i := range parts {
		share := n / len(parts)
		if i < n%len(parts) {
			share++
		}
		wg.Go(func() { parts[i] = r.askSocket(ctx, s, primary, backup, share) })
	}
	wg.Wait()
	sum := plans.Answers{Server: s.address, Authoritative: s.authoritative}
	for _, p := range parts {
		sum.Primary, sum.Backup, sum.Other, sum.Failed = sum.Primary+p.Primary, sum.Backup+p.Backup, sum.Other+p.Other, sum.Failed+p.Failed
		sum.TTL = max(sum.TTL, p.TTL)
		if p.Error != "" {
			sum.Error = p.Error
		}
	}
	return sum
}

// askSocket asks n times over one socket, one query after the other. A server that is silent is not asked to the end.
func (r *Resolver) askSocket(ctx context.Context, s server, primary, backup string, n int) plans.Answers {
	var a plans.Answers
	client := &dns.Client{Timeout: r.options.Timeout}
	conn, err := client.DialContext(ctx, s.address)
	if err != nil {
		return plans.Answers{Failed: n, Error: r.trouble(err)}
	}
	defer hold(ctx, conn)()
	silent := 0
	for asked := range n {
		if ctx.Err() != nil || silent >= giveUpAfter {
			a.Failed += n - asked
			break
		}
		reply, err := r.exchange(ctx, client, conn, s)
		silent++
		if reply != nil {
			silent = 0
		}
		if err != nil {
			a.Failed, a.Error = a.Failed+1, r.trouble(err)
			continue
		}
		count(&a, r.name, reply, primary, backup)
	}
	return a
}

// hold closes conn when ctx ends, which ends a read at once, and returns what closes it before. The DNS client heeds a deadline of
// ctx and not its end.
func hold(ctx context.Context, conn *dns.Conn) func() {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	return func() {
		stop()
		_ = conn.Close() // only read, or closed already
	}
}

// exchange asks once, and again by TCP when the answer was cut. A reply that tells nothing comes with an error.
func (r *Resolver) exchange(ctx context.Context, client *dns.Client, conn *dns.Conn, s server) (*dns.Msg, error) {
	q := new(dns.Msg)
	q.SetQuestion(r.name, dns.TypeCNAME)
	q.RecursionDesired = !s.authoritative
	reply, _, err := client.ExchangeWithConnContext(ctx, q, conn)
	if err == nil && reply.Truncated {
		reply, err = r.exchangeTCP(ctx, q, s)
	}
	switch {
	case err != nil:
		return nil, err
	case !reply.Response || len(reply.Question) != 1 || !strings.EqualFold(reply.Question[0].Name, r.name):
		return reply, errors.New("answered another question")
	case reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError:
		return reply, errors.New("answered " + dns.RcodeToString[reply.Rcode])
	case s.authoritative && !reply.Authoritative:
		return reply, errors.New("is not authoritative for " + r.name)
	}
	return reply, nil
}

func (r *Resolver) exchangeTCP(ctx context.Context, q *dns.Msg, s server) (*dns.Msg, error) {
	client := &dns.Client{Net: "tcp", Timeout: r.options.Timeout}
	conn, err := client.DialContext(ctx, s.address)
	if err != nil {
		return nil, err
	}
	defer hold(ctx, conn)()
	reply, _, err := client.ExchangeWithConnContext(ctx, q, conn)
	return reply, err
}

// trouble says why there was no answer, without the addresses: the server is known, and the port on this side would make each text another.
func (r *Resolver) trouble(err error) string {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "no answer in " + r.options.Timeout.String()
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Addr != nil {
		return e.Err.Error()
	}
	return err.Error()
}

// count sorts one reply.
func count(a *plans.Answers, name string, reply *dns.Msg, primary, backup string) {
	target, one := "", true
	for _, rr := range reply.Answer {
		c, ok := rr.(*dns.CNAME)
		if !ok || !strings.EqualFold(c.Hdr.Name, name) {
			continue
		}
		one = one && (target == "" || target == hostName(c.Target))
		target = hostName(c.Target)
		a.TTL = max(a.TTL, time.Duration(c.Hdr.Ttl)*time.Second)
	}
	switch {
	case target == "" || !one:
		a.Other++
	case target == hostName(primary):
		a.Primary++
	case target == hostName(backup):
		a.Backup++
	default:
		a.Other++
	}
}

func hostName(s string) string { return strings.ToLower(strings.TrimSuffix(s, ".")) }
