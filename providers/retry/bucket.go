package retry

import (
	"context"
	"errors"
	"fmt"
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
// that moment say nothing new, and never below a sixteenth; each call that is not throttled gives a twentieth back. Several
// goroutines may use it; nil limits nothing.
type Bucket struct {
	full float64

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
	return &Bucket{full: l.PerSecond, rate: l.PerSecond, tokens: rate.NewLimiter(rate.Limit(l.PerSecond), max(l.Burst, 1))}
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

// wait returns when a call may start, or an error when that would be later than within.
func (b *Bucket) wait(ctx context.Context, within time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if b == nil {
		return nil
	}
	turn := b.tokens.Reserve()
	pause := turn.Delay()
	if pause == 0 {
		return nil
	}
	if pause > within {
		turn.Cancel()
		return fmt.Errorf("the next call may start in %s, past the budget", pause.Round(time.Millisecond))
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		turn.Cancel()
		return errors.New("stopped")
	}
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
