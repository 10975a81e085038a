package sqlite

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/tlsroll/tlsroll/controller/store"
)

// groupSize is how many records share a transaction at most. One sync of some 0.3 ms then serves them all; the transaction itself takes
// some 80 µs for each, so the first of a group waits for 20 ms.
const groupSize = 256

// queue holds the records that wait for a transaction. There is no goroutine and no timer: who finds nobody at it leads, and whatever has
// come by the time a transaction ends is the next one. Whoever is alone waits for nobody.
type queue struct {
	mu      sync.Mutex
	waiting []*addition
	led     bool // somebody has a transaction open
}

// join enqueues an addition, and reports whether its caller has to lead.
func (q *queue) join(a *addition) (lead bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, a)
	lead, q.led = !q.led, true
	return lead
}

// leave takes an addition back, and reports whether it was still there to be taken.
func (q *queue) leave(a *addition) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, a)
	if i < 0 || a.leads {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// take returns what goes into the next transaction, the leader's own first.
func (q *queue) take() []*addition {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), groupSize)
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return group
}

// next lets the first of those who wait lead.
func (q *queue) next() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.led = len(q.waiting) > 0
	if q.led {
		q.waiting[0].leads = true
		close(q.waiting[0].lead)
	}
}

// commit makes an addition durable, together with those of others that came meanwhile. Once it is in a transaction its context is not asked
// any more: the transaction is not its own.
func (s *Store) commit(ctx context.Context, a *addition) error {
	if !s.queue.join(a) {
		select {
		case <-ctx.Done():
			if s.queue.leave(a) {
				return ctx.Err()
			}
		case <-a.lead:
		case <-a.done:
			return a.err
		}
		select {
		case <-a.lead:
		case <-a.done:
			return a.err
		}
	}
	group := s.queue.take()
	s.commitGroup(context.WithoutCancel(ctx), group)
	s.queue.next()
	for _, a := range group {
		close(a.done)
	}
	return a.err
}

// commitGroup gives each of a group its answer. When the transaction fails for a reason that may be one record's, each is tried by itself.
func (s *Store) commitGroup(ctx context.Context, group []*addition) {
	err := s.tx(ctx, func(tx txn) error {
		for _, a := range group {
			var err error
			if a.err, err = a.put(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case err == nil:
	case len(group) == 1 || errors.Is(err, store.ErrBroken):
		for _, a := range group {
			a.err = err
		}
	default:
		for _, a := range group {
			s.commitGroup(ctx, []*addition{a})
		}
	}
}
