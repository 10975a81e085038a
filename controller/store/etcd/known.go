package etcd

import (
	"context"
	"fmt"
	"slices"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
)

// known is what a store has seen last, so that an append needs one request. It is never believed: each transaction compares it with what
// is there.
type known struct {
	mu     sync.Mutex
	claims map[string][]clientv3.Cmp
	heads  map[rollout.RunID]head
}

// head is a run's key and the revision at which it was written.
type head struct {
	run      runValue
	revision int64
}

func nameOf(c store.Claim) string { return fmt.Sprintf("%q %q %d", c.Keys, c.Holder, c.Epoch) }

// fence returns what must be compared so that a write counts only while the claim stands, or ErrFenced.
func (s *Store) fence(ctx context.Context, c store.Claim) ([]clientv3.Cmp, error) {
	s.known.mu.Lock()
	when, ok := s.known.claims[nameOf(c)]
	s.known.mu.Unlock()
	if ok {
		return slices.Clip(when), nil
	}
	when, _, err := s.stand(ctx, c)
	if err != nil {
		return nil, err
	}
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	if s.known.claims == nil {
		s.known.claims = map[string][]clientv3.Cmp{}
	}
	s.known.claims[nameOf(c)] = when
	return slices.Clip(when), nil
}

// head returns a run's key, and at which revision it was written; it fails with ErrNoRun.
func (s *Store) head(ctx context.Context, id rollout.RunID) (runValue, int64, error) {
	s.known.mu.Lock()
	h, ok := s.known.heads[id]
	s.known.mu.Unlock()
	if ok {
		return h.run, h.revision, nil
	}
	return s.run(ctx, id)
}

func (s *Store) remember(id rollout.RunID, run runValue, revision int64) {
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	if s.known.heads == nil {
		s.known.heads = map[rollout.RunID]head{}
	}
	s.known.heads[id] = head{run, revision}
}

// forget makes the next append look.
func (s *Store) forget(c store.Claim, id rollout.RunID) {
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	delete(s.known.claims, nameOf(c))
	delete(s.known.heads, id)
}
