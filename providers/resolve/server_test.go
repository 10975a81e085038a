package resolve_test

import (
	"net"
	"sync"
	"testing"

	"github.com/miekg/dns"
	"go.uber.org/goleak"
)

const (
	name    = "cdn.example.com"
	zone    = "example.com"
	primary = "primary.cdn.example.net"
	backup  = "backup.cdn.example.org"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a name server under the test's control, on one port by UDP and TCP.
type server struct {
	addr string

	mu   sync.Mutex
	asks []ask
}

// ask is one question as it arrived.
type ask struct {
	Name      string
	Type      uint16
	Recursive bool
	TCP       bool
	from      string // the client's socket
}

// serve answers question i, counted from 0 by UDP and TCP together, with what reply makes of it; nil is silence.
func serve(t *testing.T, reply func(i int, tcp bool, q *dns.Msg) *dns.Msg) *server {
	t.Helper()
	return serveRaw(t, func(i int, a ask, w dns.ResponseWriter, q *dns.Msg) {
		if m := reply(i, a.TCP, q); m != nil {
			_ = w.WriteMsg(m)
		}
	})
}

// serveRaw leaves the writing to handle.
func serveRaw(t *testing.T, handle func(i int, a ask, w dns.ResponseWriter, q *dns.Msg)) *server {
	t.Helper()
	packets, streams := listen(t)
	s := &server{addr: packets.LocalAddr().String()}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		_, tcp := w.RemoteAddr().(*net.TCPAddr)
		s.mu.Lock()
		i := len(s.asks)
		a := ask{q.Question[0].Name, q.Question[0].Qtype, q.RecursionDesired, tcp, w.RemoteAddr().String()}
		s.asks = append(s.asks, a)
		s.mu.Unlock()
		handle(i, a, w, q)
	})
	for _, srv := range []*dns.Server{{PacketConn: packets, Handler: handler}, {Listener: streams, Handler: handler}} {
		up, down := make(chan struct{}), make(chan struct{})
		srv.NotifyStartedFunc = func() { close(up) }
		go func() {
			defer close(down)
			_ = srv.ActivateAndServe()
		}()
		<-up
		t.Cleanup(func() {
			_ = srv.Shutdown()
			<-down
		})
	}
	return s
}

// listen takes a port that is free by UDP and by TCP: where another program has one of the two, the next port is tried.
func listen(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	var lc net.ListenConfig
	var last error
	for range 50 {
		streams, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		packets, err := lc.ListenPacket(t.Context(), "udp", streams.Addr().String())
		if err == nil {
			return packets, streams
		}
		last = err
		_ = streams.Close()
	}
	t.Fatal(last)
	return nil, nil
}

func (s *server) asked() []ask {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]ask(nil), s.asks...)
}

// points is an authoritative answer that points at targets.
func points(q *dns.Msg, ttl uint32, targets ...string) *dns.Msg {
	m := new(dns.Msg)
	m.SetReply(q)
	m.Authoritative = true
	for _, target := range targets {
		m.Answer = append(m.Answer, &dns.CNAME{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeCNAME, Class: dns.ClassINET, Ttl: ttl}, Target: dns.Fqdn(target)})
	}
	return m
}

// code is an authoritative answer without records.
func code(q *dns.Msg, rcode int) *dns.Msg {
	m := points(q, 0)
	m.Rcode = rcode
	return m
}
