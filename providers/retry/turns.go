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
	waiting [2][]chan struct{} // urgent, others
}

func line(urgent bool) int {
	if urgent {
		return 0
	}
	return 1
}

// take waits for a turn, which ends with pass. It fails when ctx ends first; no turn is lost then.
func (t *turns) take(ctx context.Context, urgent bool) error {
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	q := &t.waiting[line(urgent)]
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
func (t *turns) ahead(urgent bool) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.waiting[0])
	if !urgent {
		n += len(t.waiting[1])
	}
	return n
}
