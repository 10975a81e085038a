package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/providers"
)

// claims is a store of which only the claim is asked.
type claims struct {
	store.Store
	lapsed bool

	mu      sync.Mutex
	renewed int
	fail    error
	takes   time.Duration
}

func (c *claims) Claim(_ context.Context, keys []string, holder string, _ time.Duration) (store.Claim, error) {
	return store.Claim{Keys: keys, Holder: holder, Epoch: 1, Lapsed: c.lapsed}, nil
}

func (c *claims) Renew(ctx context.Context, _ store.Claim, _ time.Duration) error {
	c.mu.Lock()
	c.renewed++
	fail, takes := c.fail, c.takes
	c.mu.Unlock()
	t := time.NewTimer(takes)
	defer t.Stop()
	select {
	case <-t.C:
		return fail
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *claims) set(fail error, takes time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail, c.takes = fail, takes
}

func (c *claims) renewals() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.renewed
}

// pass lets the bubble's time pass.
func pass(d time.Duration) { <-time.After(d) }

func take(t *testing.T, c *claims) *engine.Lease {
	t.Helper()
	l, err := engine.Take(t.Context(), c, []string{"domain:cdn.example.com"}, "a", engine.LeaseTTL)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAWriteBeginsOnlyInsideTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &claims{}
		l := take(t, c)
		if err := l.MayWrite(t.Context()); err != nil || c.renewals() != 0 {
			t.Errorf("a fresh claim: %v after %d renewals", err, c.renewals())
		}
		// Frozen for longer than the claim leaves room for a call: 30 s, less 10 s for the call and 2 s in reserve.
		pass(18 * time.Second)
		if err := l.MayWrite(t.Context()); err != nil || c.renewals() != 1 {
			t.Errorf("a claim that still stands is renewed first: %v after %d renewals", err, c.renewals())
		}
		pass(17 * time.Second)
		if err := l.MayWrite(t.Context()); err != nil || c.renewals() != 1 {
			t.Errorf("17 s after a renewal: %v after %d renewals", err, c.renewals())
		}
	})
}

func TestNothingIsWrittenUnderAClaimThatIsNotConfirmed(t *testing.T) {
	tests := []struct {
		name  string
		fail  error
		takes time.Duration
	}{
		{"somebody else took over", store.ErrFenced, 0},
		{"the store does not answer", nil, time.Hour},
		{"the store fails", errors.New("broken"), 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &claims{}
				l := take(t, c)
				pass(time.Minute)
				c.set(test.fail, test.takes)
				err := l.MayWrite(t.Context())
				if providers.KindOf(err) != providers.Transient || test.fail != nil && !errors.Is(err, test.fail) {
					t.Errorf("want a transient error, got %v", err)
				}
			})
		})
	}
}

func TestAfterATakeoverTheLastCallOfTheOneBeforeIsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		l := take(t, &claims{lapsed: true})
		if err := l.MayWrite(t.Context()); err != nil || time.Since(began) != engine.CallTimeout(engine.LeaseTTL) {
			t.Errorf("the first write was let begin after %s: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := take(t, &claims{lapsed: true}).MayWrite(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("want the end of the context, got %v", err)
		}
	})
}

func TestALeaseIsKeptUntilSomebodyElseHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &claims{}
		l := take(t, c)
		ended := make(chan error, 1)
		go func() { ended <- l.Keep(t.Context()) }()
		pass(time.Minute + time.Second)
		if n := c.renewals(); n != 12 {
			t.Errorf("renewed %d times in a minute", n)
		}
		c.set(errors.New("a slow disk"), 0)
		pass(time.Minute)
		c.set(store.ErrFenced, 0)
		if err := <-ended; !errors.Is(err, store.ErrFenced) {
			t.Errorf("ended with %v", err)
		}
	})
}
