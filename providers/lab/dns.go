package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
	"go.uber.org/zap"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// hostZone holds the host names that the CDNs give out.
const hostZone = "example.net."

// serveDNS serves UDP and TCP on one port.
func (l *Lab) serveDNS(ctx context.Context) error {
	tcp, udp, err := listenBoth(ctx)
	if err != nil {
		return err
	}
	l.ends.DNS = tcp.Addr().String()
	for _, srv := range []*dns.Server{{Listener: tcp}, {PacketConn: udp}} {
		srv.Handler = dns.HandlerFunc(l.answer)
		l.done.Go(func() {
			if err := srv.ActivateAndServe(); err != nil && ctx.Err() == nil {
				l.log.Warn("the lab's name server stopped", zap.Error(err))
			}
		})
		l.done.Go(func() {
			<-ctx.Done()
			// The server may not have begun: closing what it listens on ends it either way.
			if err := errors.Join(srv.Shutdown(), closeAll(srv)); err != nil {
				l.log.Debug("the lab's name server closed with an error", zap.Error(err))
			}
		})
	}
	return nil
}

func closeAll(srv *dns.Server) error {
	if srv.Listener != nil {
		return srv.Listener.Close()
	}
	return srv.PacketConn.Close()
}

// listenBoth finds a port that is free for TCP and UDP.
func listenBoth(ctx context.Context) (net.Listener, net.PacketConn, error) {
	var lc net.ListenConfig
	var last error
	for range 20 {
		tcp, err := listen(ctx)
		if err != nil {
			return nil, nil, err
		}
		udp, err := lc.ListenPacket(ctx, "udp", tcp.Addr().String())
		if err == nil {
			return tcp, udp, nil
		}
		last = errors.Join(err, tcp.Close())
	}
	return nil, nil, fmt.Errorf("find a port for the name server: %w", last)
}

func (l *Lab) answer(rw dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(q)
	if opt := q.IsEdns0(); opt != nil {
		m.SetEdns0(1232, false)
	}
	switch {
	case q.Opcode != dns.OpcodeQuery || len(q.Question) != 1:
		m.Rcode = dns.RcodeNotImplemented
	default:
		l.fill(m, q.Question[0])
	}
	if err := rw.WriteMsg(m); err != nil {
		l.log.Debug("a DNS answer was not sent", zap.Error(err))
	}
}

// fill answers one question. What is outside the lab's two zones is refused.
func (l *Lab) fill(m *dns.Msg, q dns.Question) {
	name := strings.ToLower(q.Name)
	apex := ""
	for _, z := range []string{dns.Fqdn(l.site.zone), hostZone} {
		if dns.IsSubDomain(z, name) {
			apex = z
		}
	}
	if apex == "" || q.Qclass != dns.ClassINET {
		m.Rcode = dns.RcodeRefused
		return
	}
	m.Authoritative = true
	var records []dns.RR
	l.With(func(now time.Time, w *world.World) { records = l.lookup(now, w, q.Name, apex) })
	if records == nil {
		m.Rcode = dns.RcodeNameError
	}
	m.Answer = answers(records, q.Qtype)
	if len(m.Answer) == 0 {
		m.Ns = append(m.Ns, soa(apex))
	}
}

// answers picks what was asked for. A CNAME answers every question, and brings the address of its target along.
func answers(records []dns.RR, kind uint16) []dns.RR {
	var list []dns.RR
	for _, rr := range records {
		c, alias := rr.(*dns.CNAME)
		if alias || rr.Header().Rrtype == kind || kind == dns.TypeANY {
			list = append(list, rr)
		}
		if alias && kind == dns.TypeA {
			list = append(list, address(c.Target))
		}
	}
	return list
}

// lookup returns the records of a name as of now: nil when the name does not exist, none when it exists without any. The lock is held.
func (l *Lab) lookup(now time.Time, w *world.World, name, apex string) []dns.RR {
	s := w.State(now)
	lower := strings.ToLower(name)
	switch {
	case lower == apex:
		return []dns.RR{soa(apex), ns(apex, "ns1."), ns(apex, "ns2.")}
	case lower == dns.Fqdn(s.Primary.CNAME), lower == dns.Fqdn(s.Backup.CNAME), lower == "ns1."+apex, lower == "ns2."+apex:
		return []dns.RR{address(name)}
	case lower == dns.Fqdn(l.site.record+"."+l.site.zone):
		return l.pick(now, w, s, name)
	}
	i := slices.IndexFunc(l.site.others(), func(r plans.Record) bool { return lower == dns.Fqdn(r.Name+"."+l.site.zone) })
	if i < 0 {
		return nil
	}
	r := l.site.others()[i]
	if r.Type == "CNAME" {
		return []dns.RR{cname(name, r.Value, r.TTL)}
	}
	a := address(name)
	a.A = net.ParseIP(r.Value)
	return []dns.RR{a}
}

// pick draws the leg of one query.
func (l *Lab) pick(now time.Time, w *world.World, s plans.State, name string) []dns.RR {
	leg, ok := w.Answer(now, l.rnd.Float64())
	switch {
	case !ok:
		return []dns.RR{}
	case leg == guardrails.Backup:
		return []dns.RR{cname(name, s.Backup.CNAME, l.site.ttl)}
	}
	return []dns.RR{cname(name, s.Primary.CNAME, l.site.ttl)}
}

func header(name string, kind uint16, ttl time.Duration) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: uint32(ttl / time.Second)} //nolint:gosec // TTLs are small
}

func cname(name, value string, ttl time.Duration) dns.RR {
	return &dns.CNAME{Hdr: header(name, dns.TypeCNAME, ttl), Target: dns.Fqdn(value)}
}

func address(name string) *dns.A {
	return &dns.A{Hdr: header(name, dns.TypeA, time.Minute), A: net.IPv4(127, 0, 0, 1)}
}

func ns(apex, host string) dns.RR {
	return &dns.NS{Hdr: header(apex, dns.TypeNS, time.Hour), Ns: host + apex}
}

func soa(apex string) dns.RR {
	return &dns.SOA{
		Hdr: header(apex, dns.TypeSOA, time.Hour), Ns: "ns1." + apex, Mbox: "hostmaster." + apex,
		Serial: 1, Refresh: 3600, Retry: 600, Expire: 86_400, Minttl: 60,
	}
}
