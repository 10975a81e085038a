package retry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/retry"
)

// script is every adapter at once: each call takes the next kind, 0 being success, and the last for good.
type script struct {
	kinds []providers.Kind
	began time.Time
	at    []time.Duration
	takes time.Duration
}

func of(kinds ...providers.Kind) *script { return &script{kinds: kinds, began: time.Now()} }

func (s *script) next(ctx context.Context) error {
	s.at = append(s.at, time.Since(s.began))
	if s.takes > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(s.takes):
		}
	}
	kind := s.kinds[min(len(s.at), len(s.kinds))-1]
	cause := ctx.Err()
	switch {
	case kind == 0:
		return nil
	case cause == nil:
		cause = errors.New("as written")
	}
	return &providers.Error{Provider: "script", Op: "call", Kind: kind, Err: cause}
}

func (s *script) SetTLS(ctx context.Context, _ plans.TLSWrite) error { return s.next(ctx) }

func (s *script) Write(ctx context.Context, _ plans.DNSWrite) error { return s.next(ctx) }

func (s *script) Notify(ctx context.Context, _ providers.Message) error { return s.next(ctx) }

func (s *script) DescribeTLS(plans.TLSWrite) providers.Call { return providers.Call{API: "tls"} }

func (s *script) Describe(plans.DNSWrite) providers.Call { return providers.Call{API: "dns"} }

func (s *script) Fetch(ctx context.Context, _, _ guardrails.Minute) ([]guardrails.Row, error) {
	return []guardrails.Row{{Minute: 7}}, s.next(ctx)
}

func (s *script) Handshake(ctx context.Context, leg guardrails.Leg) ([]plans.Handshake, error) {
	return []plans.Handshake{{Leg: leg}}, s.next(ctx)
}

func (s *script) Resolve(ctx context.Context, _, _ string, n int) ([]plans.Answers, error) {
	return []plans.Answers{{Primary: n}}, s.next(ctx)
}

type cdn struct{ *script }

func (c cdn) Read(ctx context.Context) (plans.CDNState, error) {
	return plans.CDNState{Domain: "cdn.example.com"}, c.next(ctx)
}

type dns struct{ *script }

func (d dns) Read(ctx context.Context) (plans.DNSState, error) {
	return plans.DNSState{Weighted: true}, d.next(ctx)
}

// operations are all calls of all decorators, by whether they write.
func operations(s *script, o retry.Options) (reads, writes map[string]func(context.Context) error) {
	tls, d, n := retry.NewTLSSetter(cdn{s}, o), retry.NewDNS(dns{s}, o), retry.NewNotifier(s, o)
	m, p, r := retry.NewMetrics(s, o), retry.NewProber(s, o), retry.NewResolver(s, o)
	reads = map[string]func(context.Context) error{
		"CDN.Read": func(ctx context.Context) error {
			return check(ctx, retry.NewCDN(cdn{s}, o).Read, plans.CDNState{Domain: "cdn.example.com"})
		},
		"TLS.Read": func(ctx context.Context) error {
			return check(ctx, tls.Read, plans.CDNState{Domain: "cdn.example.com"})
		},
		"DNS.Read": func(ctx context.Context) error { return check(ctx, d.Read, plans.DNSState{Weighted: true}) },
		"Fetch": func(ctx context.Context) error {
			return check(ctx, func(ctx context.Context) ([]guardrails.Row, error) { return m.Fetch(ctx, 1, 2) }, []guardrails.Row{{Minute: 7}})
		},
		"Handshake": func(ctx context.Context) error {
			return check(ctx, func(ctx context.Context) ([]plans.Handshake, error) { return p.Handshake(ctx, guardrails.Backup) }, []plans.Handshake{{Leg: guardrails.Backup}})
		},
		"Resolve": func(ctx context.Context) error {
			return check(ctx, func(ctx context.Context) ([]plans.Answers, error) { return r.Resolve(ctx, "p", "b", 5) }, []plans.Answers{{Primary: 5}})
		},
	}
	writes = map[string]func(context.Context) error{
		"SetTLS": func(ctx context.Context) error { return tls.SetTLS(ctx, plans.TLSWrite{}) },
		"Write":  func(ctx context.Context) error { return d.Write(ctx, plans.DNSWrite{}) },
		"Notify": func(ctx context.Context) error { return n.Notify(ctx, providers.Message{}) },
	}
	return reads, writes
}

func check[T any](ctx context.Context, call func(context.Context) (T, error), want T) error {
	got, err := call(ctx)
	if err == nil && !cmp.Equal(want, got) {
		return fmt.Errorf("got %+v, want %+v", got, want)
	}
	return err
}

var allKinds = []providers.Kind{
	providers.Transient, providers.Throttled, providers.Denied, providers.Missing, providers.Conflict, providers.Invalid, providers.Unknown,
}

func TestTheKindAloneDecides(t *testing.T) {
	repeatedRead := []providers.Kind{providers.Transient, providers.Throttled, providers.Unknown}
	repeatedWrite := []providers.Kind{providers.Transient, providers.Throttled}
	for _, kind := range allKinds {
		reads, writes := operations(of(0), retry.Options{})
		for name := range reads {
			testKind(t, name, kind, slices.Contains(repeatedRead, kind))
		}
		for name := range writes {
			testKind(t, name, kind, slices.Contains(repeatedWrite, kind))
		}
	}
}

func testKind(t *testing.T, name string, kind providers.Kind, repeated bool) {
	t.Run(fmt.Sprintf("%s after %v", name, kind), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := of(kind, kind, 0)
			reads, writes := operations(s, retry.Options{})
			call := reads[name]
			if call == nil {
				call = writes[name]
			}
			err := call(t.Context())
			switch {
			case repeated && (err != nil || len(s.at) != 3):
				t.Errorf("%d attempts, error %v; want success at the third", len(s.at), err)
			case !repeated && (providers.KindOf(err) != kind || len(s.at) != 1):
				t.Errorf("%d attempts, error %v; want the first error", len(s.at), err)
			}
		})
	})
}

func TestAnUnclassifiedErrorIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain := errors.New("plain")
		var n int
		writer := notifyFunc(func() error { n++; return plain })
		err := retry.NewNotifier(writer, retry.Options{}).Notify(t.Context(), providers.Message{})
		if !errors.Is(err, plain) || n != 1 {
			t.Errorf("error %v after %d attempts, want the plain one after 1", err, n)
		}
	})
}

type notifyFunc func() error

func (f notifyFunc) Notify(context.Context, providers.Message) error { return f() }

func TestPausesGrowToTheLimitUntilTheBudgetIsSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := of(providers.Transient)
		err := retry.NewDNS(dns{s}, retry.Options{}).Write(t.Context(), plans.DNSWrite{})
		if providers.KindOf(err) != providers.Transient {
			t.Errorf("error %v, want the last", err)
		}
		pause := 100 * time.Millisecond
		for i := 1; i < len(s.at); i++ {
			got := s.at[i] - s.at[i-1]
			if got < pause/2 || got > pause*3/2+1 {
				t.Errorf("pause %d is %v, want %v moved by up to a half", i, got, pause)
			}
			pause = min(pause*2, 5*time.Second)
		}
		last, total := s.at[len(s.at)-1], time.Since(s.began)
		if last > 20*time.Second || total > 20*time.Second || last < 10*time.Second {
			t.Errorf("the last attempt started at %v and the call ended at %v, want both below 20 s and not far", last, total)
		}
	})
}

func TestABudgetDoesNotCutAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := of(providers.Transient)
		s.takes = 3 * time.Second
		_ = retry.NewDNS(dns{s}, retry.Options{Budget: time.Second}).Write(t.Context(), plans.DNSWrite{})
		if took := time.Since(s.began); took != 3*time.Second || len(s.at) != 1 {
			t.Errorf("%d attempts in %v, want the one in full", len(s.at), took)
		}
	})
}

func TestTheEndOfCtxEndsTheCallAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		kind     providers.Kind
		takes    time.Duration
		want     providers.Kind
		attempts int
	}{
		"in a pause":     {providers.Throttled, 0, providers.Throttled, 1},
		"in an attempt":  {providers.Transient, time.Hour, providers.Transient, 1},
		"before a start": {providers.Transient, -1, providers.Transient, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := of(tt.kind)
				s.takes = tt.takes
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
				defer cancel()
				if tt.takes < 0 {
					cancel()
				}
				err := retry.NewDNS(dns{s}, retry.Options{First: time.Second}).Write(ctx, plans.DNSWrite{})
				if !errors.Is(err, ctx.Err()) || providers.KindOf(err) != tt.want {
					t.Errorf("error %v, want %v that wraps %v", err, tt.want, ctx.Err())
				}
				if own := err.Error() == "script: call: context deadline exceeded (transient)"; own != (tt.takes > 0) {
					t.Errorf("error %v, want the attempt's own only when one was under way", err)
				}
				if took := time.Since(s.began); took > 30*time.Millisecond || len(s.at) != tt.attempts {
					t.Errorf("%d attempts in %v, want %d in 30 ms", len(s.at), took, tt.attempts)
				}
			})
		})
	}
}

func TestARefusalIsNotHiddenByTheEndOfCtx(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := notifyFunc(func() error {
		cancel()
		return &providers.Error{Provider: "p", Op: "o", Kind: providers.Denied, Err: errors.New("no")}
	})
	err := retry.NewNotifier(n, retry.Options{}).Notify(ctx, providers.Message{})
	if providers.KindOf(err) != providers.Denied || errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the refusal as it is", err)
	}
}

func TestDescribeIsPassedOn(t *testing.T) {
	s := of(0)
	got := []string{retry.NewTLSSetter(cdn{s}, retry.Options{}).DescribeTLS(plans.TLSWrite{}).API, retry.NewDNS(dns{s}, retry.Options{}).Describe(plans.DNSWrite{}).API}
	if diff := cmp.Diff([]string{"tls", "dns"}, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if len(s.at) != 0 {
		t.Errorf("%d calls were made", len(s.at))
	}
}
