package storetest

import (
	"errors"
	"testing"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
)

// refuse checks that nothing can be done under a claim: rec is the next record of the run "run".
func refuse(t *testing.T, s store.Store, what string, c store.Claim, rec rollout.Record) {
	t.Helper()
	if err := s.Append(t.Context(), c, "run", rec); !errors.Is(err, store.ErrFenced) {
		t.Errorf("append under %s: want ErrFenced, got %v", what, err)
	}
	if err := s.Renew(t.Context(), c, ttl); !errors.Is(err, store.ErrFenced) {
		t.Errorf("renewal of %s: want ErrFenced, got %v", what, err)
	}
	if err := s.Finish(t.Context(), c, "run", rollout.Halted); !errors.Is(err, store.ErrFenced) {
		t.Errorf("finish under %s: want ErrFenced, got %v", what, err)
	}
}

// untouched checks that a run has n records and no end.
func untouched(t *testing.T, s store.Store, n uint64) {
	t.Helper()
	j, err := s.Load(t.Context(), "run")
	if err != nil || j.Run.Records != n || uint64(len(j.Entries)) != n || j.Run.Ended != 0 {
		t.Errorf("want a run with %d records that goes on, got %+v with %d, %v", n, j.Run, len(j.Entries), err)
	}
}

func fencing(t *testing.T, s store.Store) {
	recs := Records(3)
	old := claim(t, s, "a", "domain:x")
	fill(t, s, old, "run", recs[0])
	if err := s.Release(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	refuse(t, s, "a claim that was released", old, recs[1])
	next := claim(t, s, "b", "domain:x")
	refuse(t, s, "a claim that was released and taken", old, recs[1])
	if err := s.Release(t.Context(), old); err != nil {
		t.Errorf("release of a lost claim: %v", err)
	}
	fill(t, s, next, "run", recs[1])
	own := claim(t, s, "b", "domain:x")
	refuse(t, s, "one's own earlier claim", next, recs[2])
	if err := s.Release(t.Context(), next); err != nil {
		t.Errorf("release of one's own earlier claim: %v", err)
	}
	if err := s.Renew(t.Context(), own, ttl); err != nil {
		t.Errorf("the release of an earlier claim gave up the one that stands: %v", err)
	}
	untouched(t, s, 2)
}

func forgery(t *testing.T, s store.Store) {
	recs := Records(2)
	c := claim(t, s, "a", "domain:x", "record:y")
	fill(t, s, c, "run", recs[0])
	forge := func(change func(*store.Claim)) store.Claim {
		f := c
		change(&f)
		return f
	}
	for what, f := range map[string]store.Claim{
		"no claim":                  {},
		"a claim with no keys":      forge(func(f *store.Claim) { f.Keys = nil }),
		"a claim of another holder": forge(func(f *store.Claim) { f.Holder = "b" }),
		"a claim to come":           forge(func(f *store.Claim) { f.Epoch++ }),
		"a claim that was before":   forge(func(f *store.Claim) { f.Epoch-- }),
		"a claim of a key too many": forge(func(f *store.Claim) { f.Keys = []string{"domain:x", "domain:z"} }),
		"a claim of another key":    forge(func(f *store.Claim) { f.Keys = []string{"domain:z"} }),
	} {
		refuse(t, s, what, f, recs[1])
	}
	for _, f := range []store.Claim{forge(func(f *store.Claim) { f.Holder = "b" }), forge(func(f *store.Claim) { f.Epoch-- })} {
		if err := s.Release(t.Context(), f); err != nil {
			t.Errorf("release of a claim that is not held: %v", err)
		}
	}
	fill(t, s, c, "run", recs[1])
	untouched(t, s, 2)
}

func lostKey(t *testing.T, b Backend) {
	s := b.Open(t)
	recs := Records(2)
	own := claim(t, s, "a", "domain:x")
	fill(t, s, own, "run", recs[0])
	if err := s.Release(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	both := brief(t, b, s, "a", "domain:x", "record:y")
	claim(t, s, "b", "record:y")
	refuse(t, s, "a claim that lost its second key", both, recs[1])
	both = brief(t, b, s, "a", "domain:x", "record:z")
	claim(t, s, "b", "domain:x")
	refuse(t, s, "a claim that lost its first key", both, recs[1])
	untouched(t, s, 1)
}
