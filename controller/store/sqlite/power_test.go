package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/storetest"
)

// done is what the store acknowledged before the power went.
type done struct {
	records  uint64
	epoch    int64
	finished bool
}

const workload = 24 // records

// work claims, appends, renews and finishes until something fails, and returns what was acknowledged.
func work(ctx context.Context, s *Store) (d done) {
	c, err := s.Claim(ctx, []string{"domain:x", "record:y"}, "a", time.Hour)
	if err != nil {
		return d
	}
	d.epoch = c.Epoch
	for i, rec := range storetest.Records(workload) {
		if s.Append(ctx, c, "run", rec) != nil {
			return d
		}
		d.records = rec.Seq
		if i%5 == 4 && s.Renew(ctx, c, time.Hour) != nil {
			return d
		}
	}
	d.finished = s.Finish(ctx, c, "run", rollout.Succeeded) == nil
	return d
}

// lost says what of the acknowledged is not there any more, after a reboot; "" when everything is.
func (d done) lost(ctx context.Context, s *Store) string {
	records, err := store.Read(ctx, s, "run")
	switch {
	case errors.Is(err, store.ErrNoRun):
		if d.records > 0 {
			return "the whole run"
		}
	case err != nil:
		return "torn: " + err.Error()
	case uint64(len(records)) < d.records || uint64(len(records)) > d.records+1:
		return fmt.Sprintf("%d records are there, %d were acknowledged", len(records), d.records)
	case cmp.Diff(storetest.Records(len(records)), records) != "":
		return "the records are not those that were appended"
	}
	if runs, err := s.List(ctx); err != nil || d.finished && (len(runs) != 1 || runs[0].Ended != rollout.Succeeded) {
		return fmt.Sprintf("the end: %+v, %v", runs, err)
	}
	c, err := s.Claim(ctx, []string{"domain:x", "record:y"}, "a", time.Hour)
	if err != nil || c.Epoch <= d.epoch {
		return fmt.Sprintf("the epoch went from %d to %d, %v", d.epoch, c.Epoch, err)
	}
	return ""
}

// cuts cuts the power at every operation of the workload, in several ways, and counts what came of it.
type cuts struct{ points, reboots, lost, unopenable int }

func cutEverywhere(t *testing.T, synchronous string, seeds uint64) (n cuts) {
	t.Helper()
	dir := t.TempDir()
	set := settings{vfs: t.Name(), synchronous: synchronous, pragmas: []string{"wal_autocheckpoint(16)"}}
	for k := 1; ; k++ {
		for seed := range seeds {
			d := &disk{dir: dir, cutAt: k, dice: rand.New(rand.NewPCG(seed, uint64(k))), files: map[string]*file{}}
			vfs.Register(set.vfs, tellingFull{d})
			var acknowledged done
			if s, err := openWith(t.Context(), filepath.Join(dir, "j.db"), set); err == nil {
				acknowledged = work(t.Context(), s)
				_ = s.Close()
			}
			if !d.dead {
				vfs.Unregister(set.vfs)
				n.points = k - 1
				return n
			}
			d.reboot()
			n.reboots++
			s, err := openWith(t.Context(), filepath.Join(dir, "j.db"), set)
			if err != nil {
				n.unopenable++
				continue
			}
			if what := acknowledged.lost(t.Context(), s); what != "" {
				n.lost++
				if synchronous == durable().synchronous {
					t.Errorf("power cut at operation %d, seed %d: %s", k, seed, what)
				}
			}
			_ = s.Close()
		}
	}
}

// The power goes at every write, sync, truncation and deletion of a workload with checkpoints, and each time some of what was not synced is
// lost, down to single sectors. With synchronous=FULL nothing that was acknowledged is lost or torn; with less the same test finds losses.
func TestPowerCutAtEveryOperation(t *testing.T) {
	full := cutEverywhere(t, durable().synchronous, 3)
	t.Logf("synchronous=full: %d operations, %d reboots: %d lost, %d unopenable", full.points, full.reboots, full.lost, full.unopenable)
	if full.points < 200 || full.lost > 0 || full.unopenable > 0 {
		t.Errorf("of %+v nothing may be lost", full)
	}
	less := cutEverywhere(t, "off", 1)
	t.Logf("synchronous=off: %d operations, %d reboots: %d lost, %d unopenable", less.points, less.reboots, less.lost, less.unopenable)
	if less.lost == 0 {
		t.Error("with synchronous=off nothing is lost either: the test does not bite")
	}
	normal := cutEverywhere(t, "normal", 1)
	t.Logf("synchronous=normal: %d operations, %d reboots: %d lost, %d unopenable", normal.points, normal.reboots, normal.lost, normal.unopenable)
	if normal.lost == 0 {
		t.Error("with synchronous=normal nothing is lost either: the test does not bite")
	}
}
