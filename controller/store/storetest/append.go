package storetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
)

// kept checks that a run's records are those that were appended.
func kept(t *testing.T, s store.Store, id rollout.RunID, want ...rollout.Record) {
	t.Helper()
	got, err := store.Read(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records of run %s mismatch (-want +got):\n%s", id, diff)
	}
}

func roundTrip(t *testing.T, b Backend) {
	s := b.Open(t)
	want := Records(40)
	c := claim(t, s, "a", "domain:x", "record:y")
	fill(t, s, c, "run", want[:21]...)
	s = b.Reopen(t, s)
	fill(t, s, c, "run", want[21:]...)
	kept(t, s, "run", want...)
	s = b.Reopen(t, s)
	kept(t, s, "run", want...)
	j, err := s.Load(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	like := Journal(40)
	like.Run.Keys = c.Keys
	for i := range like.Entries {
		like.Entries[i].Epoch = c.Epoch
	}
	if diff := cmp.Diff(like, j); diff != "" {
		t.Errorf("journal mismatch (-want +got):\n%s", diff)
	}
}

func order(t *testing.T, s store.Store) {
	recs := Records(5)
	c := claim(t, s, "a", "domain:x")
	none := rollout.Record{Seq: 0, At: recs[0].At, Event: recs[0].Event}
	for _, bad := range []rollout.Record{none, recs[1], {Seq: 1, At: recs[0].At, Event: rollout.TimerFired{ID: 1}}} {
		if err := s.Append(t.Context(), c, "run", bad); !errors.Is(err, store.ErrOrder) {
			t.Errorf("first record %d %s: want ErrOrder, got %v", bad.Seq, rollout.Kind(bad.Event), err)
		}
	}
	if _, err := s.Load(t.Context(), "run"); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("a run whose first record was refused: want ErrNoRun, got %v", err)
	}
	for _, step := range []struct {
		rec rollout.Record
		ok  bool
	}{{recs[0], true}, {recs[2], false}, {recs[1], true}, {recs[4], false}, {none, false}, {recs[2], true}} {
		err := s.Append(t.Context(), c, "run", step.rec)
		if step.ok && err != nil || !step.ok && !errors.Is(err, store.ErrOrder) {
			t.Errorf("append of record %d: ok should be %v, got %v", step.rec.Seq, step.ok, err)
		}
	}
	kept(t, s, "run", recs[:3]...)
}

func repeat(t *testing.T, s store.Store) {
	c := claim(t, s, "a", "domain:x")
	recs := Records(9)
	for _, rec := range recs {
		fill(t, s, c, "run", rec, rec)
	}
	fill(t, s, c, "run", recs...)
	for _, rec := range recs {
		rec.At = rec.At.Add(1)
		if err := s.Append(t.Context(), c, "run", rec); !errors.Is(err, store.ErrOrder) {
			t.Errorf("another record %d: want ErrOrder, got %v", rec.Seq, err)
		}
	}
	next := claim(t, s, "b-or-a", "domain:y")
	fill(t, s, next, "run", recs[8]) // whoever may act may ask whether it is there
	claim(t, s, "a", "domain:x")
	if err := s.Append(t.Context(), c, "run", recs[8]); !errors.Is(err, store.ErrFenced) {
		t.Errorf("the same record under a claim that was lost: want ErrFenced, got %v", err)
	}
	kept(t, s, "run", recs...)
}

func race(t *testing.T, s store.Store) {
	c := claim(t, s, "a", "domain:x")
	var want []rollout.Record
	for _, rec := range Records(30) {
		var wg sync.WaitGroup
		errs := make([]error, 4)
		others := make([]rollout.Record, len(errs))
		for i := range errs {
			others[i] = rec
			others[i].At = rec.At.Add(time.Duration(i))
			wg.Go(func() { errs[i] = s.Append(t.Context(), c, "run", others[i]) })
		}
		wg.Wait()
		won := 0
		for i, err := range errs {
			if err == nil {
				won++
				want = append(want, others[i])
			} else if !errors.Is(err, store.ErrOrder) {
				t.Errorf("record %d: %v", rec.Seq, err)
			}
		}
		if won != 1 {
			t.Fatalf("record %d was accepted %d times", rec.Seq, won)
		}
	}
	kept(t, s, "run", want...)
}

func manyRuns(t *testing.T, s store.Store) {
	const runs, records = 16, 15
	recs := Records(records)
	shared := claim(t, s, "all", "shared")
	var wg sync.WaitGroup
	errs := make(chan error, runs*records)
	for i := range runs {
		c := shared
		if i%2 == 0 {
			c = claim(t, s, "a", fmt.Sprint("domain:", i))
		}
		wg.Go(func() {
			for _, rec := range recs {
				rec.At = rec.At.Add(time.Duration(i))
				errs <- s.Append(t.Context(), c, rollout.RunID(strconv.Itoa(i)), rec)
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	for i := range runs {
		want := Records(records)
		for k := range want {
			want[k].At = want[k].At.Add(time.Duration(i))
		}
		kept(t, s, rollout.RunID(strconv.Itoa(i)), want...)
	}
}

// cancelled calls whatever there is with a context that is over. What it does then is left to it, but it must be done or not done.
func cancelled(t *testing.T, s store.Store) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	recs := Records(4)
	c := claim(t, s, "a", "domain:x")
	fill(t, s, c, "run", recs[:2]...)
	_, claimErr := s.Claim(over, []string{"domain:y"}, "b", ttl)
	_, loadErr := s.Load(over, "run")
	_, listErr := s.List(over)
	_, claimsErr := s.Claims(over)
	for what, err := range map[string]error{
		"claim": claimErr, "load": loadErr, "list": listErr, "claims": claimsErr, "append": s.Append(over, c, "run", recs[2]),
		"finish": s.Finish(over, c, "run", rollout.Halted), "remove": s.Remove(over, "run"), "renew": s.Renew(over, c, ttl),
	} {
		if err == nil || errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrOrder) || errors.Is(err, store.ErrNoRun) {
			t.Errorf("%s with a context that is over: want an error that says no more than that, got %v", what, err)
		}
	}
	fill(t, s, c, "run", recs[2:]...)
	kept(t, s, "run", recs...)
	claim(t, s, "c", "domain:z")
}
