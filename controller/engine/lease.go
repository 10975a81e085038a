package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/providers"
)

// LeaseTTL is how long a claim outlives its holder. The measurements in the reference advise against less than 30 s: a disk that
// syncs slowly for half a second must not cost a claim.
const LeaseTTL = 30 * time.Second

// MinLeaseTTL is the shortest that makes sense: a call takes a third of it at most, and clouds take seconds.
const MinLeaseTTL = 3 * time.Second

// The parts of a claim's time. With 30 s it is renewed every 5 s, one call may take 10 s, and 2 s are kept in reserve, so that in
// health a write is always inside the claim, and after a pause none begins before the claim is confirmed.
const (
	renewPart  = 6
	callPart   = 3
	marginPart = 15
)

// CallTimeout is the longest that one call to a cloud may take under a claim of that length.
func CallTimeout(ttl time.Duration) time.Duration { return ttl / callPart }

// Lease is a claim as its holder may rely on it. No store can fence a cloud, so a call begins only while the claim is known to outlast
// it, and a claim that was taken from somebody who did not release it is no licence to write before his last call is over.
// All methods may be called by several goroutines.
type Lease struct {
	store store.Store
	claim store.Claim
	ttl   time.Duration
	quiet time.Time // no write before

	mu   sync.Mutex
	sent time.Time // when the last renewal that succeeded was sent
}

// Take claims keys for holder, for MinLeaseTTL at least. It fails with a *store.HeldError when somebody else has one of them.
func Take(ctx context.Context, s store.Store, keys []string, holder string, ttl time.Duration) (*Lease, error) {
	if ttl < MinLeaseTTL {
		return nil, fmt.Errorf("claim %v for %s: the shortest is %s", keys, ttl, MinLeaseTTL)
	}
	l := &Lease{store: s, ttl: ttl, sent: time.Now()}
	var err error
	if l.claim, err = s.Claim(ctx, keys, holder, ttl); err != nil {
		return nil, err
	}
	if l.claim.Lapsed {
		l.quiet = time.Now().Add(CallTimeout(ttl))
	}
	return l, nil
}

// Claim is what the store knows the lease by.
func (l *Lease) Claim() store.Claim { return l.claim }

// Keep renews the lease until ctx ends, and then returns nil, or until somebody else has taken over, and then returns store.ErrFenced.
// A store that does not answer for a while is no reason to stop: what must not happen meanwhile, MayWrite and the store itself refuse.
func (l *Lease) Keep(ctx context.Context) error {
	tick := time.NewTicker(l.ttl / renewPart)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := l.renew(ctx); errors.Is(err, store.ErrFenced) {
				return err
			}
		}
	}
}

func (l *Lease) renew(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, l.ttl/renewPart)
	defer cancel()
	sent := time.Now()
	err := l.store.Renew(limited, l.claim, l.ttl)
	if err == nil {
		l.renewed(sent)
	}
	return err
}

func (l *Lease) renewed(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sent.After(l.sent) {
		l.sent = sent
	}
}

// manyRenewer is a store that renews many claims in one transaction.
type manyRenewer interface {
	// RenewAll is Renew for every claim; what it returns is nil or ErrFenced for each, or one error for all of them.
	RenewAll(ctx context.Context, claims []store.Claim, ttl time.Duration) ([]error, error)
}

// renewAll renews the leases of one store, at once where the store can, and returns what came of each.
func renewAll(ctx context.Context, leases []*Lease) []error {
	errs := make([]error, len(leases))
	if len(leases) == 0 {
		return errs
	}
	many, ok := leases[0].store.(manyRenewer)
	if !ok {
		for i, l := range leases {
			errs[i] = l.renew(ctx)
		}
		return errs
	}
	claims := make([]store.Claim, len(leases))
	for i, l := range leases {
		claims[i] = l.claim
	}
	sent := time.Now()
	each, err := many.RenewAll(ctx, claims, leases[0].ttl)
	for i, l := range leases {
		switch {
		case err != nil:
			errs[i] = err
		case each[i] != nil:
			errs[i] = each[i]
		default:
			l.renewed(sent)
		}
	}
	return errs
}

// MayWrite reports whether a call to a cloud may begin now. After a takeover it first waits until the last call of the one before is
// over. A lease that may run out during the call is renewed first; when that fails nothing may be written.
func (l *Lease) MayWrite(ctx context.Context) error {
	if err := sleep(ctx, time.Until(l.quiet)); err != nil {
		return err
	}
	if l.covers() {
		return nil
	}
	err := l.renew(ctx)
	if err == nil && !l.covers() {
		err = errors.New("the renewal took too long")
	}
	if err == nil {
		return nil
	}
	return &providers.Error{
		Provider: "tlsroll", Op: "confirm the claim before a write", Kind: providers.Transient,
		Err: fmt.Errorf("%w; nothing was written", err),
	}
}

// covers reports whether a call that begins now ends inside the claim. Two clocks count, the steady one and the wall's: the steady one
// stands still while a machine is suspended.
func (l *Lease) covers() bool {
	l.mu.Lock()
	sent := l.sent
	l.mu.Unlock()
	now := time.Now()
	age := max(now.Sub(sent), now.Round(0).Sub(sent.Round(0)))
	return age+CallTimeout(l.ttl)+l.ttl/marginPart < l.ttl
}

// Release gives the claim up, so that the next one need not wait for it to run out.
func (l *Lease) Release(ctx context.Context) error { return l.store.Release(ctx, l.claim) }
