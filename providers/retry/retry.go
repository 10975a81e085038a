// Package retry repeats calls of adapters, by the Kind of their errors alone, and keeps calls within a rate.
//
// Laws:
//
//   - A read is repeated after Transient, Throttled and Unknown; a write only after Transient and Throttled, which both say that nothing
//     happened. Every other error returns at once: after an Unknown write the caller must read before anything else.
//   - No attempt starts after the budget is spent. An attempt that runs is never cut short for it: that would make a write Unknown.
//   - ctx ends a call at once, between attempts too. The error is an *Error that wraps ctx.Err(); its Kind is that of the last attempt,
//     or Transient when none was made.
//   - All times are wall time.
package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/tlsroll/tlsroll/providers"
)

// Options say how long to try. The zero value works: 20 s in all, pauses of 100 ms, 200 ms … up to 5 s, each moved at random by up to
// a half, and no limit of rate.
type Options struct {
	Budget time.Duration // from the first attempt to the start of the last; 0 is 20 s
	First  time.Duration // the first pause; 0 is 100 ms
	Factor float64       // growth of the pause, ≥ 1; 0 is 2
	Max    time.Duration // the longest pause; 0 is 5 s
	Reads  *Bucket       // shared by all reads of one account and API family; nil is no limit
	Writes *Bucket       // the same for writes
	Urgent bool          // calls of the way back: they go before all others that wait for one of the buckets
	// Permit is asked before each attempt of a write, after its turn has come; an error ends the call without the attempt. nil permits.
	Permit func(ctx context.Context) error
}

const (
	defaultBudget = 20 * time.Second
	defaultFirst  = 100 * time.Millisecond
	defaultFactor = 2
	defaultMax    = 5 * time.Second
	jitter        = 0.5
)

func (o Options) withDefaults() Options {
	if o.Budget <= 0 {
		o.Budget = defaultBudget
	}
	if o.First <= 0 {
		o.First = defaultFirst
	}
	if o.Factor < 1 {
		o.Factor = defaultFactor
	}
	if o.Max <= 0 {
		o.Max = defaultMax
	}
	return o
}

func (o Options) pauses() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{InitialInterval: o.First, RandomizationFactor: jitter, Multiplier: o.Factor, MaxInterval: o.Max}
}

// policy is what differs between reads and writes.
type policy struct {
	Options
	bucket *Bucket
	again  func(providers.Kind) bool
	permit func(ctx context.Context) error
}

func readPolicy(o Options) policy {
	return policy{Options: o.withDefaults(), bucket: o.Reads, again: func(k providers.Kind) bool {
		return k == providers.Transient || k == providers.Throttled || k == providers.Unknown
	}}
}

func writePolicy(o Options) policy {
	return policy{Options: o.withDefaults(), bucket: o.Writes, permit: o.Permit, again: func(k providers.Kind) bool {
		return k == providers.Transient || k == providers.Throttled
	}}
}

// run calls attempt until it succeeds, fails for good, or the budget or ctx ends.
func run[T any](ctx context.Context, p policy, attempt func(context.Context) (T, error)) (T, error) {
	var last error
	started := time.Now()
	result, err := backoff.Retry(ctx, func() (T, error) {
		var none T
		if err := p.bucket.wait(ctx, p.Budget-time.Since(started), rankOf(p.Options)); err != nil {
			return none, backoff.Permanent(late(ctx, last, err))
		}
		if p.permit != nil {
			if err := p.permit(ctx); err != nil {
				return none, backoff.Permanent(err)
			}
		}
		got, err := attempt(ctx)
		last = err
		kind := providers.Kind(0)
		if err != nil {
			kind = providers.KindOf(err)
		}
		p.bucket.heard(kind == providers.Throttled)
		if err != nil && !p.again(kind) {
			return none, backoff.Permanent(err)
		}
		return got, err
	}, backoff.WithBackOff(p.pauses()), backoff.WithMaxElapsedTime(p.Budget))
	if _, classified := errors.AsType[*providers.Error](err); err != nil && !classified && ctx.Err() != nil {
		return result, ended(ctx, last)
	}
	return result, err
}

// ended returns the error of a call that ctx ended between two attempts, or during one that may be repeated.
func ended(ctx context.Context, last error) error {
	if _, ok := errors.AsType[*providers.Error](last); ok && errors.Is(last, ctx.Err()) {
		return last
	}
	return wrap(last, fmt.Errorf("stopped while waiting to repeat: %w", ctx.Err()))
}

// late returns the error of a call that found no room in its rate: that of the last attempt, when there was one.
func late(ctx context.Context, last, err error) error {
	switch {
	case ctx.Err() != nil:
		return wrap(last, fmt.Errorf("stopped while waiting for the rate limit: %w", ctx.Err()))
	case last != nil:
		return last
	}
	return &providers.Error{Provider: "retry", Op: "wait", Kind: providers.Throttled, Err: err}
}

// wrap returns cause as an *Error with what is known of the last attempt.
func wrap(last, cause error) error {
	e := providers.Error{Provider: "retry", Op: "wait", Kind: providers.Transient}
	if l, ok := errors.AsType[*providers.Error](last); ok {
		e = *l
		cause = fmt.Errorf("%w, after: %s", cause, l.Error())
	} else if last != nil {
		e.Kind = providers.Unknown
	}
	e.Err = cause
	return &e
}
