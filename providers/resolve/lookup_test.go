package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/resolve"
)

// addresses answers questions for IPv4 addresses by host name, and says of every other name that it does not exist.
func addresses(hosts map[string][]string, servers ...string) func(int, bool, *dns.Msg) *dns.Msg {
	return func(_ int, _ bool, q *dns.Msg) *dns.Msg {
		m := code(q, dns.RcodeSuccess)
		asked := q.Question[0]
		header := dns.RR_Header{Name: asked.Name, Rrtype: asked.Qtype, Class: dns.ClassINET, Ttl: 60}
		ips, known := hosts[asked.Name]
		switch {
		case asked.Qtype == dns.TypeNS:
			for _, s := range servers {
				m.Answer = append(m.Answer, &dns.NS{Hdr: header, Ns: s})
			}
		case !known:
			m.Rcode = dns.RcodeNameError
		case asked.Qtype == dns.TypeA:
			for _, ip := range ips {
				m.Answer = append(m.Answer, &dns.A{Hdr: header, A: net.ParseIP(ip)})
			}
		}
		return m
	}
}

func TestEdges(t *testing.T) {
	many := []string{"192.0.2.7", "192.0.2.7"}
	for i := range 12 {
		many = append(many, fmt.Sprintf("198.51.100.%d", 20-i))
	}
	s := serve(t, addresses(map[string][]string{"primary.cdn.example.net.": {"192.0.2.7", "192.0.2.1"}, "many.example.net.": many, "none.example.net.": nil}))
	got, err := resolve.Edges(t.Context(), primary, []string{s.addr})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"192.0.2.1:443", "192.0.2.7:443"}, got); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
	if got, err := resolve.Edges(t.Context(), "many.example.net", []string{s.addr}); err != nil || len(got) != 8 || got[0] != "192.0.2.7:443" || got[1] != "198.51.100.10:443" {
		t.Errorf("edges %v, error %v, want the first eight, each once", got, err)
	}
	for _, host := range []string{"none.example.net", "unknown.example.net"} {
		_, err := resolve.Edges(t.Context(), host, []string{s.addr})
		wantKind(t, err, providers.Missing, "dns: look up the edges of "+host+": no such host (missing)")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = resolve.Edges(ctx, primary, []string{s.addr})
	wantKind(t, err, providers.Transient, "")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v does not wrap context.Canceled", err)
	}
}

func TestNameServersOfTheZone(t *testing.T) {
	s := serve(t, addresses(map[string][]string{"ns2.example.com.": {"192.0.2.2"}, "ns1.example.com.": {"192.0.2.1"}}, "ns2.example.com.", "gone.example.com.", "ns1.example.com."))
	r, err := resolve.New(name, zone, resolve.Options{Resolvers: []string{s.addr}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Resolve(t.Context(), primary, backup, 0) // nobody is asked
	if err != nil {
		t.Fatal(err)
	}
	want := []plans.Answers{{Server: "192.0.2.1:53", Authoritative: true}, {Server: "192.0.2.2:53", Authoritative: true}, {Server: s.addr}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

func TestAZoneWithoutNameServers(t *testing.T) {
	for _, servers := range [][]string{nil, {"gone.example.com."}} {
		s := serve(t, addresses(nil, servers...))
		r, err := resolve.New(name, zone, resolve.Options{Resolvers: []string{s.addr}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Resolve(t.Context(), primary, backup, 1); err == nil {
			t.Errorf("name servers %v: no error", servers)
		} else if _, ok := errors.AsType[*providers.Error](err); !ok {
			t.Errorf("name servers %v: error is %T (%v)", servers, err, err)
		}
	}
}
