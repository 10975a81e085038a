package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/storetest"
)

// gathered makes calls wait for a leader until all of them do, and lets them go as one group.
func gathered(t *testing.T, s *Store, calls ...func()) {
	t.Helper()
	s.queue.mu.Lock()
	s.queue.led = true
	s.queue.mu.Unlock()
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(call)
		waits(s, i+1)
	}
	s.queue.next()
	wg.Wait()
	if len(s.queue.waiting) > 0 || s.queue.led {
		t.Errorf("somebody waits still: %+v", s.queue.waiting)
	}
}

// waits returns as soon as n additions wait.
func waits(s *Store, n int) {
	for {
		s.queue.mu.Lock()
		now := len(s.queue.waiting)
		s.queue.mu.Unlock()
		if now == n {
			return
		}
		runtime.Gosched()
	}
}

func claimed(t *testing.T, s *Store, key string) store.Claim {
	t.Helper()
	c, err := s.Claim(t.Context(), []string{key}, "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Records of many runs share a transaction and its sync, and each has its own answer.
func TestAGroupIsOneTransaction(t *testing.T) {
	d, set, path := mount(t)
	set.pragmas = nil // no checkpoint comes between
	s, err := openWith(t.Context(), path, set)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // a test
	recs := storetest.Records(3)
	old := claimed(t, s, "lost")
	claimed(t, s, "lost")
	var calls []func()
	want, got := map[string]error{}, map[string]error{}
	var mu sync.Mutex
	add := func(what string, c store.Claim, id rollout.RunID, rec rollout.Record, answer error) {
		want[what] = answer
		calls = append(calls, func() {
			err := s.Append(t.Context(), c, id, rec)
			mu.Lock()
			defer mu.Unlock()
			got[what] = err
		})
	}
	for i := range 40 {
		id := fmt.Sprint("run-", i)
		add(id, claimed(t, s, id), rollout.RunID(id), recs[0], nil)
	}
	c := claimed(t, s, "x")
	add("lost", old, "lost", recs[0], store.ErrFenced)
	add("a gap", c, "run-0", recs[2], store.ErrOrder)
	add("next of the same run", c, "run-0", recs[1], nil)
	add("the same again", c, "run-0", recs[1], nil)
	add("no start", c, "other", rollout.Record{Seq: 1, At: recs[0].At, Event: recs[1].Event}, store.ErrOrder)
	before := d.syncs
	gathered(t, s, calls...)
	if n := d.syncs - before; n != 1 {
		t.Errorf("%d records took %d syncs, want 1", len(calls), n)
	}
	for what, answer := range want {
		if !errors.Is(got[what], answer) {
			t.Errorf("%s: want %v, got %v", what, answer, got[what])
		}
	}
	runs, err := s.List(t.Context())
	if err != nil || len(runs) != 40 {
		t.Errorf("want 40 runs, got %d, %v", len(runs), err)
	}
}

// A record that fails the transaction costs the others nothing.
func TestOneOfAGroupFails(t *testing.T) {
	_, set, path := mount(t)
	s, err := openWith(t.Context(), path, set)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // a test
	_, err = s.db.ExecContext(t.Context(), `CREATE TRIGGER trap BEFORE INSERT ON event WHEN NEW.run = 'run-1' BEGIN SELECT RAISE(ABORT, 'caught'); END`)
	if err != nil {
		t.Fatal(err)
	}
	c := claimed(t, s, "x")
	errs := make([]error, 3)
	var calls []func()
	for i := range errs {
		calls = append(calls, func() {
			errs[i] = s.Append(t.Context(), c, rollout.RunID(fmt.Sprint("run-", i)), storetest.Records(1)[0])
		})
	}
	gathered(t, s, calls...)
	if errs[0] != nil || errs[2] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), "caught") {
		t.Errorf("want the second alone to fail, got %v", errs)
	}
	if runs, err := s.List(t.Context()); err != nil || len(runs) != 2 {
		t.Errorf("want two runs, got %+v, %v", runs, err)
	}
}

// Who gives up waiting is not waited for, and his record is not written.
func TestWaitingIsGivenUp(t *testing.T) {
	_, set, path := mount(t)
	s, err := openWith(t.Context(), path, set)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // a test
	c := claimed(t, s, "x")
	ctx, cancel := context.WithCancel(t.Context())
	var gaveUp, stayed error
	s.queue.led = true
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		gaveUp = s.Append(ctx, c, "gone", storetest.Records(1)[0])
	}()
	waits(s, 1)
	cancel()
	<-gone
	gathered(t, s, func() { stayed = s.Append(t.Context(), c, "stayed", storetest.Records(1)[0]) })
	if !errors.Is(gaveUp, context.Canceled) || stayed != nil {
		t.Errorf("want context.Canceled and nil, got %v and %v", gaveUp, stayed)
	}
	if _, err := s.Load(t.Context(), "gone"); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("the record of who gave up: want ErrNoRun, got %v", err)
	}
}

// The power goes while many append at once: whatever one of them was told is there.
func TestPowerCutInAGroup(t *testing.T) {
	d, set, path := mount(t)
	const runs, each = 8, 3
	reboots := 0
	for k := 1; ; k++ {
		d.set(func() { d.files, d.ops, d.cutAt = map[string]*file{}, 0, 0 })
		s, err := openWith(t.Context(), path, set)
		if err != nil {
			t.Fatal(err)
		}
		c := claimed(t, s, "x")
		d.set(func() { d.ops, d.cutAt = 0, k })
		var told [runs]uint64
		var wg sync.WaitGroup
		for i := range told {
			wg.Go(func() {
				for _, rec := range storetest.Records(each) {
					if s.Append(t.Context(), c, rollout.RunID(strconv.Itoa(i)), rec) != nil {
						return
					}
					told[i] = rec.Seq
				}
			})
		}
		wg.Wait()
		cut := d.hit()
		_ = s.Close()
		if !cut {
			break
		}
		d.reboot()
		reboots++
		if s, err = openWith(t.Context(), path, set); err != nil {
			t.Fatal(err)
		}
		for i, n := range told {
			got, err := store.Read(t.Context(), s, rollout.RunID(strconv.Itoa(i)))
			if n > 0 && (err != nil || uint64(len(got)) < n) {
				t.Errorf("power cut at operation %d: run %d has %d records, told were %d: %v", k, i, len(got), n, err)
			}
		}
		_ = s.Close()
	}
	t.Logf("%d reboots", reboots)
	if reboots < 10 {
		t.Errorf("only %d reboots", reboots)
	}
}
