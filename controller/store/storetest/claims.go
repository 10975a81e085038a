package storetest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tlsroll/tlsroll/controller/store"
)

func allOrNone(t *testing.T, s store.Store) {
	held := claim(t, s, "a", "record:y")
	_, err := s.Claim(t.Context(), []string{"domain:x", "record:y"}, "b", ttl)
	e, ok := errors.AsType[*store.HeldError](err)
	if !ok || e.Key != "record:y" || e.Holder != "a" || e.Epoch != held.Epoch || e.Since.IsZero() || !e.Until.After(e.Since) {
		t.Fatalf("want a HeldError for record:y by a with epoch %d and times, got %+v", held.Epoch, err)
	}
	if !strings.Contains(err.Error(), "held by a since") {
		t.Errorf("the error does not say who holds it since when: %v", err)
	}
	if c := claim(t, s, "c", "domain:x"); c.Lapsed {
		t.Error("the claim that was refused took domain:x for a moment, and left it lapsed")
	}
	if err := s.Renew(t.Context(), held, ttl); err != nil {
		t.Errorf("the claim that was refused disturbed the one that stands: %v", err)
	}
}

// clockSkew is how far the times of a back end may be from the test's own: it may count in whole seconds.
const clockSkew = 2 * time.Second

func look(t *testing.T, s store.Store) []store.Held {
	t.Helper()
	held, err := s.Claims(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func whoHolds(t *testing.T, s store.Store) {
	if held := look(t, s); len(held) > 0 {
		t.Fatalf("an empty store says that %+v are held", held)
	}
	begin := time.Now()
	a, b := claim(t, s, "a", "record:y", "domain:x"), claim(t, s, "b", "domain:a")
	end := time.Now()
	want := []store.Held{
		{Key: "domain:a", Holder: "b", Epoch: b.Epoch},
		{Key: "domain:x", Holder: "a", Epoch: a.Epoch},
		{Key: "record:y", Holder: "a", Epoch: a.Epoch},
	}
	first := look(t, s)
	if diff := cmp.Diff(want, first, cmpopts.IgnoreFields(store.Held{}, "Since", "Until")); diff != "" {
		t.Fatalf("claims mismatch (-want +got):\n%s", diff)
	}
	for _, h := range first {
		if !between(h.Since, begin, end) || !between(h.Until.Add(-ttl), begin, end) {
			t.Errorf("%s was claimed between %v and %v for %v, but %+v", h.Key, begin, end, ttl, h)
		}
		_, err := s.Claim(t.Context(), []string{h.Key}, "nobody", ttl)
		if e, ok := errors.AsType[*store.HeldError](err); !ok || cmp.Diff(h, e.Held, timesWithin(clockSkew)) != "" {
			t.Errorf("a refusal says %v, Claims says %+v", err, h)
		}
	}
	if err := s.Renew(t.Context(), a, 2*ttl); err != nil {
		t.Fatal(err)
	}
	if h := look(t, s)[1]; !h.Since.Equal(first[1].Since) || h.Epoch != a.Epoch || h.Until.Before(first[1].Until.Add(ttl/2)) {
		t.Errorf("after a renewal want the same since and epoch and a later until, was %+v, is %+v", first[1], h)
	}
	if err := s.Release(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[:1], look(t, s), cmpopts.IgnoreFields(store.Held{}, "Since", "Until")); diff != "" {
		t.Errorf("claims after a release mismatch (-want +got):\n%s", diff)
	}
}

func between(at, begin, end time.Time) bool {
	return !at.Before(begin.Add(-clockSkew)) && !at.After(end.Add(clockSkew))
}

func timesWithin(d time.Duration) cmp.Option {
	return cmp.Comparer(func(a, b time.Time) bool { return a.Sub(b).Abs() <= d })
}

func noClaim(t *testing.T, s store.Store) {
	for _, bad := range []struct {
		keys []string
		ttl  time.Duration
	}{{nil, ttl}, {[]string{}, ttl}, {[]string{"domain:x"}, 0}, {[]string{"domain:x"}, -time.Second}} {
		if c, err := s.Claim(t.Context(), bad.keys, "a", bad.ttl); err == nil {
			t.Errorf("a claim of %v for %v was granted: %+v", bad.keys, bad.ttl, c)
		}
	}
	c := claim(t, s, "a", "domain:x")
	if c.Epoch < 1 || c.Lapsed || c.Holder != "a" || !slices.Equal(c.Keys, []string{"domain:x"}) {
		t.Errorf("the first claim: got %+v", c)
	}
	if err := s.Renew(t.Context(), c, 0); err == nil {
		t.Error("a renewal for no time was granted")
	}
	if err := s.Renew(t.Context(), c, ttl); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func expiry(t *testing.T, b Backend) {
	s := b.Open(t)
	brief(t, b, s, "a", "domain:x")
	c := claim(t, s, "b", "domain:x")
	if err := s.Renew(t.Context(), c, time.Hour); err != nil {
		t.Fatal(err)
	}
	_, err := s.Claim(t.Context(), []string{"domain:x"}, "c", ttl)
	if e, ok := errors.AsType[*store.HeldError](err); !ok || time.Until(e.Until) < 30*time.Minute {
		t.Errorf("a renewed claim: want a HeldError for an hour, got %v", err)
	}
}

func epochs(t *testing.T, b Backend) {
	s := b.Open(t)
	last := map[string]int64{}
	see := func(how string, c store.Claim) {
		for _, key := range c.Keys {
			if c.Epoch <= last[key] {
				t.Errorf("%s: epoch %d of %s does not follow %d", how, c.Epoch, key, last[key])
			}
			last[key] = c.Epoch
		}
	}
	release := func(c store.Claim) {
		if err := s.Release(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		c := claim(t, s, "a", "x")
		see("claimed again after a release", c)
		release(c)
	}
	c := claim(t, s, "a", "x", "y")
	see("with a second key", c)
	see("one's own again", claim(t, s, "a", "y"))
	release(c)
	c = claim(t, s, "a", "y", "x")
	see("both again", c)
	release(c)
	see("run out", brief(t, b, s, "b", "x"))
	see("taken after it ran out", claim(t, s, "c", "x"))
	s = b.Reopen(t, s)
	see("after a reopening", claim(t, s, "c", "x"))
	c = claim(t, s, "d", "y", "z")
	see("with a key that was never claimed", c)
	release(c)
	s = b.Reopen(t, s)
	see("after a release and a reopening", claim(t, s, "d", "z"))
}

func lapsed(t *testing.T, b Backend) {
	s := b.Open(t)
	expect := func(how string, c store.Claim, want bool) store.Claim {
		t.Helper()
		if c.Lapsed != want {
			t.Errorf("%s: want Lapsed %v, got %+v", how, want, c)
		}
		return c
	}
	release := func(c store.Claim) {
		if err := s.Release(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	release(expect("never held", claim(t, s, "a", "x"), false))
	c := expect("released", claim(t, s, "b", "x"), false)
	if err := s.Renew(t.Context(), c, ttl); err != nil {
		t.Fatal(err)
	}
	release(c)
	expect("renewed, then released", brief(t, b, s, "c", "x"), false)
	release(expect("run out", claim(t, s, "d", "x", "y"), true))
	expect("released after it was taken from somebody", brief(t, b, s, "e", "x"), false)
	s = b.Reopen(t, s)
	release(expect("run out, then reopened", claim(t, s, "e", "x"), true))
	claim(t, s, "f", "x")
	c = expect("one's own, not released", claim(t, s, "f", "x", "y"), true)
	release(c)
	release(expect("the other key", claim(t, s, "g", "y"), false))
	brief(t, b, s, "h", "y")
	expect("one key of two", claim(t, s, "i", "x", "y"), true)
}

// brief claims keys and waits until that has run out.
func brief(t *testing.T, b Backend, s store.Store, holder string, keys ...string) store.Claim {
	t.Helper()
	c, err := s.Claim(t.Context(), keys, holder, b.TTL)
	if err != nil {
		t.Fatal(err)
	}
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C { // the test's deadline is the limit
		if !slices.ContainsFunc(look(t, s), func(h store.Held) bool { return slices.Contains(keys, h.Key) }) {
			tick.Stop()
			return c
		}
	}
}
