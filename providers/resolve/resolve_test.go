package resolve_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/resolve"
)

// The timeouts of one query: one that is not reached on a busy machine, and one that is meant to be.
const (
	patience = time.Minute
	hasty    = 100 * time.Millisecond
)

// ask asks one authoritative server n times.
func askOne(t *testing.T, s *server, n int, timeout time.Duration) plans.Answers {
	t.Helper()
	r, err := resolve.New(name, zone, resolve.Options{Nameservers: []string{s.addr}, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Resolve(t.Context(), primary, backup, n)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Server != s.addr || !got[0].Authoritative {
		t.Fatalf("answers %+v, want those of %s alone", got, s.addr)
	}
	got[0].Server, got[0].Authoritative = "", false
	return got[0]
}

func wantKind(t *testing.T, err error, kind providers.Kind, text string) {
	t.Helper()
	if _, ok := errors.AsType[*providers.Error](err); !ok || providers.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("error is %T (%v), want a *providers.Error of kind %v that says %q", err, err, kind, text)
	}
}

func TestWeightedAnswersAreCounted(t *testing.T) {
	s := serve(t, func(i int, _ bool, q *dns.Msg) *dns.Msg {
		switch {
		case i%10 < 3:
			return points(q, 60, primary)
		case i%10 < 9:
			return points(q, 60, backup)
		}
		return points(q, 60, "elsewhere.example.net")
	})
	if diff := cmp.Diff(plans.Answers{Primary: 30, Backup: 60, Other: 10, TTL: time.Minute}, askOne(t, s, 100, patience)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	sockets := map[string]int{}
	for _, a := range s.asked() {
		sockets[a.from]++
		if diff := cmp.Diff(ask{Name: name + ".", Type: dns.TypeCNAME, from: a.from}, a, cmp.AllowUnexported(ask{})); diff != "" {
			t.Fatalf("question (-want +got):\n%s", diff)
		}
	}
	for socket, n := range sockets {
		if n != 25 || len(sockets) != 4 {
			t.Errorf("%d questions by %s of %d sockets, want 25 by each of 4", n, socket, len(sockets))
		}
	}
}

func TestEveryQueryIsMade(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 3, 4, 7, 50} {
		s := serve(t, func(_ int, _ bool, q *dns.Msg) *dns.Msg { return points(q, 60, primary) })
		if got := askOne(t, s, n, patience); got.Primary != max(n, 0) || len(s.asked()) != max(n, 0) {
			t.Errorf("asked for %d: %d answers, %d questions", n, got.Primary, len(s.asked()))
		}
	}
}

func TestReplies(t *testing.T) {
	for _, test := range []struct {
		name  string
		reply func(i int, tcp bool, q *dns.Msg) *dns.Msg
		n     int
		want  plans.Answers
	}{
		{"case does not matter", func(_ int, _ bool, q *dns.Msg) *dns.Msg {
			m := points(q, 60, "PRIMARY.cdn.Example.NET")
			m.Answer[0].Header().Name = "CDN.example.COM."
			return m
		}, 3, plans.Answers{Primary: 3, TTL: time.Minute}},
		{"the longest TTL counts", func(i int, _ bool, q *dns.Msg) *dns.Msg { return points(q, uint32(10*(1+i)), backup) }, 9, plans.Answers{Backup: 9, TTL: 90 * time.Second}},
		{"the name does not exist", func(_ int, _ bool, q *dns.Msg) *dns.Msg { return code(q, dns.RcodeNameError) }, 4, plans.Answers{Other: 4}},
		{"no records", func(_ int, _ bool, q *dns.Msg) *dns.Msg { return points(q, 0) }, 4, plans.Answers{Other: 4}},
		{"another name's record", func(_ int, _ bool, q *dns.Msg) *dns.Msg {
			m := points(q, 60, primary)
			m.Answer[0].Header().Name = "www.example.com."
			return m
		}, 1, plans.Answers{Other: 1}},
		{"both at once point nowhere", func(_ int, _ bool, q *dns.Msg) *dns.Msg { return points(q, 60, primary, backup) }, 1, plans.Answers{Other: 1, TTL: time.Minute}},
		{"the same twice is one", func(_ int, _ bool, q *dns.Msg) *dns.Msg { return points(q, 60, primary, primary) }, 1, plans.Answers{Primary: 1, TTL: time.Minute}},
		{"a chain counts by its first link", func(_ int, _ bool, q *dns.Msg) *dns.Msg {
			m := points(q, 60, primary, backup)
			m.Answer[1].Header().Name = dns.Fqdn(primary)
			return m
		}, 1, plans.Answers{Primary: 1, TTL: time.Minute}},
		{"SERVFAIL", func(_ int, _ bool, q *dns.Msg) *dns.Msg { return code(q, dns.RcodeServerFailure) }, 4, plans.Answers{Failed: 4, Error: "answered SERVFAIL"}},
		{"REFUSED now and then", func(i int, _ bool, q *dns.Msg) *dns.Msg {
			if i%2 == 0 {
				return code(q, dns.RcodeRefused)
			}
			return points(q, 60, primary)
		}, 40, plans.Answers{Primary: 20, Failed: 20, TTL: time.Minute, Error: "answered REFUSED"}},
		{"not authoritative", func(_ int, _ bool, q *dns.Msg) *dns.Msg {
			m := points(q, 60, primary)
			m.Authoritative = false
			return m
		}, 2, plans.Answers{Failed: 2, Error: "is not authoritative for cdn.example.com."}},
		{"the answer to another question", func(_ int, _ bool, q *dns.Msg) *dns.Msg {
			m := points(q, 60, primary)
			m.Question[0].Name = "www.example.com."
			return m
		}, 2, plans.Answers{Failed: 2, Error: "answered another question"}},
		{"a question for an answer", func(_ int, _ bool, q *dns.Msg) *dns.Msg {
			m := points(q, 60, primary)
			m.Response = false
			return m
		}, 2, plans.Answers{Failed: 2, Error: "answered another question"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, askOne(t, serve(t, test.reply), test.n, patience)); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHostNamesMayEndWithADot(t *testing.T) {
	s := serve(t, func(_ int, _ bool, q *dns.Msg) *dns.Msg { return points(q, 60, primary) })
	r, err := resolve.New(name+".", zone, resolve.Options{Nameservers: []string{s.addr}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Resolve(t.Context(), strings.ToUpper(primary)+".", backup+".", 1)
	if err != nil || got[0].Primary != 1 {
		t.Errorf("answers %+v, error %v, want one for the primary", got, err)
	}
}

// A host name that is not known yet must not be where an empty answer points.
func TestAnEmptyHostNameIsNoTarget(t *testing.T) {
	s := serve(t, func(_ int, _ bool, q *dns.Msg) *dns.Msg { return points(q, 60) })
	r, err := resolve.New(name, zone, resolve.Options{Nameservers: []string{s.addr}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Resolve(t.Context(), "", "", 3)
	if err != nil || got[0].Other != 3 {
		t.Errorf("answers %+v, error %v, want three for others", got, err)
	}
}

func TestACutAnswerIsAskedForByTCP(t *testing.T) {
	s := serve(t, func(_ int, tcp bool, q *dns.Msg) *dns.Msg {
		m := points(q, 60, backup)
		if !tcp {
			m = points(q, 60)
			m.Truncated = true
		}
		return m
	})
	if diff := cmp.Diff(plans.Answers{Backup: 6, TTL: time.Minute}, askOne(t, s, 6, patience)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	byTCP := 0
	for _, a := range s.asked() {
		if a.TCP {
			byTCP++
		}
	}
	if byTCP != 6 {
		t.Errorf("%d questions by TCP, want 6", byTCP)
	}
}

func TestASilentServerIsNotAskedToTheEnd(t *testing.T) {
	s := serve(t, func(int, bool, *dns.Msg) *dns.Msg { return nil })
	if diff := cmp.Diff(plans.Answers{Failed: 400, Error: "no answer in 100ms"}, askOne(t, s, 400, hasty)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if n := len(s.asked()); n != 20 {
		t.Errorf("%d questions, want 5 on each of 4 sockets", n)
	}
}

// A reply that comes after its time belongs to no other query.
func TestALateReplyIsDropped(t *testing.T) {
	var mu sync.Mutex
	late := map[string]*dns.Msg{}
	s := serveRaw(t, func(_ int, a ask, w dns.ResponseWriter, q *dns.Msg) {
		mu.Lock()
		defer mu.Unlock()
		if late[a.from] == nil {
			late[a.from] = points(q, 60, primary)
			return
		}
		_ = w.WriteMsg(late[a.from])
		_ = w.WriteMsg(points(q, 60, backup))
	})
	want := plans.Answers{Backup: 4, Failed: 4, TTL: time.Minute, Error: "no answer in 500ms"}
	if diff := cmp.Diff(want, askOne(t, s, 8, 5*hasty)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestAServerThatIsNotThereIsAResult(t *testing.T) {
	s := serve(t, func(_ int, _ bool, q *dns.Msg) *dns.Msg { return points(q, 60, primary) })
	r, err := resolve.New(name, zone, resolve.Options{Nameservers: []string{"127.0.0.1:1", s.addr, "no address"}, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Resolve(t.Context(), primary, backup, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := []plans.Answers{
		{Server: "127.0.0.1:1", Authoritative: true, Failed: 2, Error: "read: connection refused"},
		{Server: s.addr, Authoritative: true, Primary: 2, TTL: time.Minute},
		{Server: "no address", Authoritative: true, Failed: 2, Error: "dial udp: address no address: missing port in address"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestPublicResolversAreAskedAFewTimesAndMayRecurse(t *testing.T) {
	authority := serve(t, func(_ int, _ bool, q *dns.Msg) *dns.Msg { return points(q, 60, primary) })
	public := serve(t, func(_ int, _ bool, q *dns.Msg) *dns.Msg {
		m := points(q, 300, backup)
		m.Authoritative = false
		return m
	})
	r, err := resolve.New(name, zone, resolve.Options{Nameservers: []string{authority.addr}, Resolvers: []string{public.addr}, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Resolve(t.Context(), primary, backup, 100)
	if err != nil {
		t.Fatal(err)
	}
	want := []plans.Answers{
		{Server: authority.addr, Authoritative: true, Primary: 100, TTL: time.Minute},
		{Server: public.addr, Backup: 5, TTL: 5 * time.Minute},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	for _, a := range public.asked() {
		if !a.Recursive {
			t.Error("a public resolver was not asked to recurse")
		}
	}
}

func TestCtxEndsAtOnce(t *testing.T) {
	arrived := make(chan struct{}, 100)
	silent := func(int, bool, *dns.Msg) *dns.Msg {
		arrived <- struct{}{}
		return nil
	}
	cut := func(_ int, tcp bool, q *dns.Msg) *dns.Msg {
		if tcp {
			arrived <- struct{}{}
			return nil
		}
		m := points(q, 60)
		m.Truncated = true
		return m
	}
	for name, reply := range map[string]func(int, bool, *dns.Msg) *dns.Msg{"silent by UDP": silent, "silent by TCP": cut} {
		s := serve(t, reply)
		r, err := resolve.New("cdn.example.com", zone, resolve.Options{Nameservers: []string{s.addr}, Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-arrived
			cancel()
		}()
		started := time.Now()
		got, err := r.Resolve(ctx, primary, backup, 1)
		if took := time.Since(started); took > patience/2 || got != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: after %v answers %v, error %v, want context.Canceled at once", name, took, got, err)
		}
		wantKind(t, err, providers.Transient, "")
		asked := len(s.asked())
		if _, err := r.Resolve(ctx, primary, backup, 1); !errors.Is(err, context.Canceled) || len(s.asked()) != asked {
			t.Errorf("%s: a call after the end asks %d questions, error %v", name, len(s.asked())-asked, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct{ name, zone, text string }{
		{"", zone, `"" is no domain name`},
		{"cdn..example.com", zone, "is no domain name"},
		{name, "", `"" is no domain name`},
	} {
		_, err := resolve.New(test.name, test.zone, resolve.Options{})
		wantKind(t, err, providers.Invalid, test.text)
	}
	if _, err := resolve.New(name, "", resolve.Options{Nameservers: []string{"127.0.0.1:53"}}); err != nil {
		t.Errorf("a zone that is not needed: %v", err)
	}
}
