package engine

import "context"

// slots bound what all runs of a process ask for at once. nil is no bound.
type slots chan struct{}

// bulkAtOnce is how many days of minutes may be on their way into the runs of a process: one takes some 70 KB, and a run asks for fourteen
// when it begins.
const bulkAtOnce = 64

func (s slots) take(ctx context.Context) error {
	if s == nil {
		return nil
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slots) give() {
	if s != nil {
		<-s
	}
}
