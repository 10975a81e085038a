package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/storetest"
)

// mount returns an empty disk whose files are those of the test.
func mount(t *testing.T) (*disk, settings, string) {
	t.Helper()
	dir := t.TempDir()
	d := &disk{dir: dir, dice: rand.New(rand.NewPCG(1, 1)), files: map[string]*file{}}
	vfs.Register(t.Name(), tellingFull{d})
	t.Cleanup(func() { vfs.Unregister(t.Name()) })
	return d, settings{vfs: t.Name(), synchronous: durable().synchronous, pragmas: []string{"wal_autocheckpoint(16)"}}, filepath.Join(dir, "j.db")
}

// goOn does what is left of the workload, whatever of it is there.
func goOn(ctx context.Context, s *Store) (done, error) {
	c, err := s.Claim(ctx, []string{"domain:x", "record:y"}, "a", time.Hour)
	if err != nil {
		return done{}, err
	}
	d := done{epoch: c.Epoch}
	for _, rec := range storetest.Records(workload) {
		if err := s.Append(ctx, c, "run", rec); err != nil {
			return d, fmt.Errorf("record %d: %w", rec.Seq, err)
		}
		d.records = rec.Seq
	}
	err = s.Finish(ctx, c, "run", rollout.Succeeded)
	d.finished = err == nil
	return d, err
}

// On a full disk the reserve is given up once: what a way back writes finds room. When that is gone too, nothing is lost, and appending
// works again as soon as there is room.
func TestAFullDisk(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "j.db")
	d := &disk{dir: dir, files: map[string]*file{}, limit: 1 << 20, reserve: path + reserveSuffix}
	vfs.Register(t.Name(), tellingFull{d})
	defer vfs.Unregister(t.Name())
	s, err := openWith(t.Context(), path, settings{vfs: t.Name(), synchronous: "full"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	c, err := s.Claim(t.Context(), []string{"domain:x"}, "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	afterwards, n := 0, 0
	records := storetest.Records(40_000)
	for ; n < len(records) && err == nil; n++ {
		if err = s.Append(t.Context(), c, "run", records[n]); err == nil && s.Full() {
			afterwards++
		}
	}
	if !errors.Is(err, sqlite3.FULL) || afterwards < 2000 {
		t.Fatalf("%d records went in, %d of them on the reserve: %v", n-1, afterwards, err)
	}
	if _, err := os.Stat(path + reserveSuffix); err == nil {
		t.Error("the reserve is still there")
	}
	d.limit *= 2
	if err := s.Append(t.Context(), c, "run", records[n-1]); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if got, err := store.Read(t.Context(), s, "run"); err != nil || len(got) != n {
		t.Errorf("%d records are there of %d: %v", len(got), n, err)
	}
}

// From any operation on there may be no room. Then nothing is lost and the store is not broken: it goes on as soon as there is room.
func TestADiskThatIsFullFromAnyOperationOn(t *testing.T) {
	d, set, path := mount(t)
	full := 0
	for k := 1; ; k++ {
		d.set(func() { d.files, d.ops, d.fullAt = map[string]*file{}, 0, k })
		s, err := openWith(t.Context(), path, set)
		if err != nil && !noRoom(err) {
			t.Errorf("opened on a disk full from operation %d on: want it said, got %v", k, err)
		}
		if err == nil {
			acknowledged := work(t.Context(), s)
			if !d.hit() {
				t.Logf("full from each of %d operations on", full)
				if err := s.Close(); err != nil || full < 100 {
					t.Errorf("%d operations, %v", full, err)
				}
				return
			}
			d.set(func() { d.fullAt = 0 })
			if what := acknowledged.lost(t.Context(), s); what != "" {
				t.Errorf("full from operation %d on: %s", k, what)
			}
		} else {
			d.set(func() { d.fullAt = 0 })
			if s, err = openWith(t.Context(), path, set); err != nil {
				t.Fatalf("opened with room again: %v", err)
			}
		}
		full++
		finishAndReboot(t, fmt.Sprint("full from operation ", k, " on"), d, set, path, s)
	}
}

// finishAndReboot does what is left of a workload, cuts the power and looks whether all of it is there.
func finishAndReboot(t *testing.T, when string, d *disk, set settings, path string, s *Store) {
	t.Helper()
	acknowledged, err := goOn(t.Context(), s)
	if err != nil {
		t.Errorf("%s: with all well again: %v", when, err)
	}
	d.set(func() { d.dead = true })
	_ = s.Close()
	d.reboot()
	if s, err = openWith(t.Context(), path, set); err != nil {
		t.Errorf("%s: after a power cut: %v", when, err)
		return
	}
	if what := acknowledged.lost(t.Context(), s); what != "" {
		t.Errorf("%s: after a power cut: %s", when, what)
	}
	_ = s.Close()
}

// A process that starts on a full disk gets at its journal by the reserve.
func TestAStartOnAFullDisk(t *testing.T) {
	d, set, path := mount(t)
	if err := os.WriteFile(path+reserveSuffix, make([]byte, reserveSize), 0o600); err != nil {
		t.Fatal(err)
	}
	d.limit, d.reserve = 1, path+reserveSuffix
	s, err := openWith(t.Context(), path, set)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Full() {
		t.Error("it does not say that it lives on the reserve")
	}
	if _, err := goOn(t.Context(), s); err != nil {
		t.Error(err)
	}
	_ = s.Close()
}

// The reserve is there again after the next start with room.
func TestTheReserveIsMadeAgain(t *testing.T) {
	_, set, path := mount(t)
	for range 2 {
		s, err := openWith(t.Context(), path, set)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path + reserveSuffix)
		if err != nil || info.Size() != reserveSize || s.Full() {
			t.Errorf("the reserve is %+v, %v; full: %v", info, err, s.Full())
		}
		if !s.reserve.give() || !s.Full() || s.reserve.give() {
			t.Error("the reserve is given up once, and then it is said")
		}
		_ = s.Close()
	}
}
