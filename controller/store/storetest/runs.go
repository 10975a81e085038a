package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
)

func listing(t *testing.T, b Backend) {
	s := b.Open(t)
	if runs, err := s.List(t.Context()); err != nil || len(runs) > 0 {
		t.Fatalf("an empty store lists %+v, %v", runs, err)
	}
	keys := []string{"domain:x", "record:y"}
	c := claim(t, s, "a", keys...)
	other := claim(t, s, "a", "domain:z")
	var want []store.Run
	for i := range 12 {
		r := store.Run{
			ID: rollout.RunID(fmt.Sprint("run-", 11*i%12)), Domain: "cdn.example.com", Name: "suite", Keys: keys,
			Started: Records(1)[0].At.Add(-time.Duration(i) * time.Hour), Records: uint64(1 + i%3),
		}
		recs, under := Records(1+i%3), c
		if i%5 == 2 {
			r.Keys, under = other.Keys, other
		}
		recs[0].At = r.Started
		fill(t, s, under, r.ID, recs...)
		if i%4 == 1 {
			r.Ended = rollout.Succeeded + rollout.Phase(i/4)
			if err := s.Finish(t.Context(), under, r.ID, r.Ended); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, r)
	}
	fill(t, s, c, want[3].ID, Records(2)[1]) // a record more makes a run no newer
	want[3].Records++
	slices.Reverse(want)
	for _, when := range []string{"at once", "after a reopening"} {
		runs, err := s.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, runs); diff != "" {
			t.Errorf("%s, runs mismatch (-want +got):\n%s", when, diff)
		}
		unfinished(t, s, when, want)
		for _, r := range want {
			if j, err := s.Load(t.Context(), r.ID); err != nil || cmp.Diff(r, j.Run) != "" {
				t.Errorf("%s, List says %+v, Load %+v, %v", when, r, j.Run, err)
			}
		}
		s = b.Reopen(t, s)
	}
}

func unfinished(t *testing.T, s store.Store, when string, all []store.Run) {
	t.Helper()
	for _, keys := range [][]string{nil, {"domain:x"}, {"domain:z", "record:y"}, {"domain:z"}, {"domain:", "y"}} {
		var want []store.Run
		for _, r := range all {
			if r.Ended == 0 && (keys == nil || r.Shares(keys)) {
				want = append(want, r)
			}
		}
		got, err := s.Unfinished(t.Context(), keys...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s, unfinished runs of %q mismatch (-want +got):\n%s", when, keys, diff)
		}
	}
}

func finish(t *testing.T, s store.Store) {
	c := claim(t, s, "a", "domain:x")
	recs := Records(3)
	fill(t, s, c, "run", recs[:2]...)
	for _, p := range []rollout.Phase{0, rollout.Baking, rollout.Missed + 1} {
		if err := s.Finish(t.Context(), c, "run", p); err == nil {
			t.Errorf("%s was taken for an end", p)
		}
	}
	untouched(t, s, 2)
	if err := s.Finish(t.Context(), c, "nobody", rollout.Halted); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("the end of an unknown run: want ErrNoRun, got %v", err)
	}
	for p := rollout.Succeeded; p <= rollout.Missed; p++ {
		if err := s.Finish(t.Context(), c, "run", p); err != nil {
			t.Fatal(err)
		}
		if j, err := s.Load(t.Context(), "run"); err != nil || j.Run.Ended != p {
			t.Errorf("want a run that ended %s, got %s, %v", p, j.Run.Ended, err)
		}
	}
	fill(t, s, c, "run", recs[2]) // what an ended run has still to tell
	j, err := s.Load(t.Context(), "run")
	if err != nil || j.Run.Ended != rollout.Missed || j.Run.Records != 3 {
		t.Errorf("a record after the end: want three and the end as it was, got %+v, %v", j.Run, err)
	}
	kept(t, s, "run", recs...)
}

func removal(t *testing.T, s store.Store) {
	c := claim(t, s, "a", "domain:x")
	recs := Records(9)
	for _, id := range []rollout.RunID{"run", "run-2", "ru"} {
		fill(t, s, c, id, recs...)
	}
	if err := s.Remove(t.Context(), "run"); !errors.Is(err, store.ErrUnfinished) {
		t.Errorf("removal of a run that goes on: want ErrUnfinished, got %v", err)
	}
	kept(t, s, "run", recs...)
	if err := s.Finish(t.Context(), c, "run", rollout.RolledBack); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), "run"); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), "run"); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("second removal: want ErrNoRun, got %v", err)
	}
	if _, err := s.Load(t.Context(), "run"); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("a removed run: want ErrNoRun, got %v", err)
	}
	if err := s.Append(t.Context(), c, "run", recs[8]); !errors.Is(err, store.ErrOrder) {
		t.Errorf("a record of a removed run: want ErrOrder, got %v", err)
	}
	kept(t, s, "run-2", recs...)
	kept(t, s, "ru", recs...)
	if runs, err := s.List(t.Context()); err != nil || len(runs) != 2 {
		t.Errorf("want the two other runs, got %+v, %v", runs, err)
	}
	if err := s.Renew(t.Context(), c, ttl); err != nil {
		t.Errorf("the removal took the claim with it: %v", err)
	}
	fill(t, s, c, "run", recs[0]) // another run may have the name
	untouched(t, s, 1)
	if j, err := s.Load(t.Context(), "run"); err != nil || len(j.Rows) > 0 {
		t.Errorf("the rows of the removed run are there: %v, %v", j.Rows, err)
	}
}

func unknown(t *testing.T, s store.Store) {
	if _, err := s.Load(t.Context(), "nobody"); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("Load of an unknown run: want ErrNoRun, got %v", err)
	}
	if _, err := store.Read(t.Context(), s, "nobody"); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("Read of an unknown run: want ErrNoRun, got %v", err)
	}
	if err := s.Remove(t.Context(), "nobody"); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("Remove of an unknown run: want ErrNoRun, got %v", err)
	}
}
