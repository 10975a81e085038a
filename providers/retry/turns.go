package retry

import (
	"context"
	"slices"
	"sync"
)

// turns lets one call at a time have its turn: urgent ones first, then by arrival.
type turns struct {
	mu      sync.Mutex
	taken   bool
	waiting [other + 1][]chan struct{}
}

// rank orders the calls that wait for one bucket.
type rank int

const (
	urgent rank = iota
	other
)

func rankOf(o Options) rank {
	if o.Urgent {
		return urgent
	}
	return other
}

// take waits for a turn, which ends with pass. It fails when ctx ends first; no turn is lost then.
func (t *turns) take(ctx context.Context, r rank) error {
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	q := &t.waiting[r]
	*q = append(*q, mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(*q, mine)
	if i >= 0 {
		*q = slices.Delete(*q, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 { // the turn came at the same moment
		t.pass()
	}
	return ctx.Err()
}

// pass gives the turn to the next.
func (t *turns) pass() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.waiting {
		if q := t.waiting[i]; len(q) > 0 {
			close(q[0])
			t.waiting[i] = q[1:]
			return
		}
	}
	t.taken = false
}

// ahead counts the calls that would go before a new one, the one that has its turn left out.
func (t *turns) ahead(r rank) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, q := range t.waiting[:r+1] {
		n += len(q)
	}
	return n
}
