package retry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits are how often one API family may be called with one account.
type Limits struct {
	PerSecond float64 // sustained calls a second; 0 is no limit
	Burst     int     // calls at once; 0 is 1
}

const (
	floorShare   = 1.0 / 16 // of PerSecond: a rate this low still finishes a rollback of two writes
	recoverShare = 1.0 / 20 // of PerSecond, regained by each call that was not throttled
	settleTime   = time.Second
)

// Bucket keeps calls within Limits. A throttled call halves its rate, at most once a second, since the calls that were under way at
// that moment say nothing new, and never below a sixteenth; each call that is not throttled gives a twentieth back. Urgent calls
// go before all others that wait, and half of the burst is kept for them. Several goroutines may use it; nil limits nothing.
type Bucket struct {
	full    float64
	reserve float64 // tokens that are left to urgent calls
	turns   turns

	mu     sync.Mutex
	rate   float64
	halved time.Time
	tokens *rate.Limiter
}

// NewBucket returns a full bucket.
func NewBucket(l Limits) *Bucket {
	if l.PerSecond <= 0 {
		return nil
	}
	return &Bucket{
		full: l.PerSecond, rate: l.PerSecond, reserve: float64(l.Burst / 2), tokens: rate.NewLimiter(rate.Limit(l.PerSecond), max(l.Burst, 1)),
	}
}

// Rate returns the calls a second that are allowed now; 0 for a nil Bucket, which allows any.
func (b *Bucket) Rate() float64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rate
}

// wait returns when a call may start, or an error when that would be later than within. Only the call whose turn it is waits for a token,
// so an urgent one that comes later waits for one token at most.
func (b *Bucket) wait(ctx context.Context, within time.Duration, r rank) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if b == nil {
		return nil
	}
	deadline := time.Now().Add(within)
	if pause := b.pause(r) + b.queued(r); pause > within {
		return fmt.Errorf("the next call may start in %s, past the budget", pause.Round(time.Millisecond))
	}
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if err := b.turns.take(limited, r); err != nil {
		return b.gaveUp(ctx)
	}
	defer b.turns.pass()
	for pause := b.pause(r); pause > 0; pause = b.pause(r) {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-limited.Done():
			timer.Stop()
			return b.gaveUp(ctx)
		}
	}
	b.tokens.Allow()
	return nil
}

func (b *Bucket) gaveUp(ctx context.Context) error {
	if ctx.Err() != nil {
		return errors.New("stopped")
	}
	return errors.New("other calls of the account took every turn of the budget")
}

// pause is how long it takes until there are tokens enough.
func (b *Bucket) pause(r rank) time.Duration {
	need := 1.0
	if r != urgent {
		need += b.reserve
	}
	missing := need - b.tokens.Tokens()
	return time.Duration(math.Round(max(0, missing) / float64(b.tokens.Limit()) * float64(time.Second)))
}

// queued is how long the calls take that go first.
func (b *Bucket) queued(r rank) time.Duration {
	return time.Duration(float64(b.turns.ahead(r)) / float64(b.tokens.Limit()) * float64(time.Second))
}

// heard adapts the rate to an answer.
func (b *Bucket) heard(throttled bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	switch {
	case throttled && now.Sub(b.halved) < settleTime:
		return
	case throttled:
		b.halved = now
		b.rate = max(b.rate/2, b.full*floorShare)
	case b.rate < b.full:
		b.rate = min(b.rate+b.full*recoverShare, b.full)
	default:
		return
	}
	b.tokens.SetLimit(rate.Limit(b.rate))
}
