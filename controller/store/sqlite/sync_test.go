package sqlite

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/store"
)

// A sync that fails is final for the process: a later one would succeed without what the first one dropped. A new process finds what was
// acknowledged, and what it writes then survives a power cut, whatever the failed sync has left behind.
func TestAFailedSyncIsFinal(t *testing.T) {
	for _, killed := range []bool{false, true} {
		d, set, path := mount(t)
		failed := 0
		for k := 1; ; k++ {
			d.set(func() { d.files, d.syncs, d.failing = map[string]*file{}, 0, k })
			var acknowledged done
			s, err := openWith(t.Context(), path, set)
			if err == nil {
				acknowledged = work(t.Context(), s)
				checkBroken(t, s, acknowledged)
				d.set(func() { d.dead = killed })
				_ = s.Close()
			}
			d.set(func() { d.dead = false })
			if !d.hit() {
				break
			}
			failed++
			if s, err = openWith(t.Context(), path, set); err != nil {
				t.Fatalf("opened after sync %d failed: %v", k, err)
			}
			when := fmt.Sprint("sync ", k, " failed, killed ", killed)
			if what := acknowledged.lost(t.Context(), s); what != "" {
				t.Errorf("%s: %s", when, what)
			}
			finishAndReboot(t, when, d, set, path, s)
		}
		t.Logf("each of %d syncs failed", failed)
		if failed < 30 {
			t.Errorf("only %d syncs failed", failed)
		}
	}
}

// checkBroken checks that a store that did not take the whole workload takes nothing any more, though the disk works again.
func checkBroken(t *testing.T, s *Store, acknowledged done) {
	t.Helper()
	if acknowledged.finished {
		return // the sync was one of a checkpoint, which is repeated
	}
	if _, err := s.Claim(t.Context(), []string{"z"}, "a", time.Hour); !errors.Is(err, store.ErrBroken) {
		t.Errorf("after a failed sync: want ErrBroken, got %v", err)
	}
}

// A read that fails, or ends in the middle, costs an answer and no record.
func TestAFailedRead(t *testing.T) {
	for _, short := range []bool{false, true} {
		d, set, path := mount(t)
		failed := 0
		for k := 1; ; k++ {
			d.set(func() { d.files, d.reads, d.badRead, d.short = map[string]*file{}, 0, k, short })
			var acknowledged done
			s, err := openWith(t.Context(), path, set)
			if err == nil {
				acknowledged = work(t.Context(), s)
				_, _ = store.Read(t.Context(), s, "run") // it may find damage that is not there
				_ = s.Close()
			}
			if !d.hit() {
				break
			}
			failed++
			when := fmt.Sprint("read ", k, " failed, short ", short)
			if s, err = openWith(t.Context(), path, set); err != nil {
				t.Errorf("%s: opened again: %v", when, err)
				continue
			}
			if what := acknowledged.lost(t.Context(), s); what != "" {
				t.Errorf("%s: %s", when, what)
			}
			finishAndReboot(t, when, d, set, path, s)
		}
		t.Logf("each of %d reads failed, short %v", failed, short)
	}
}
