package sqlite_test

import (
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/sqlite"
	"github.com/tlsroll/tlsroll/controller/store/storetest"
)

func openBench(b *testing.B) (*sqlite.Store, store.Claim) {
	b.Helper()
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "j.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	c, err := s.Claim(b.Context(), []string{"domain:x", "record:y"}, "a", time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	return s, c
}

func BenchmarkAppend(b *testing.B) {
	s, c := openBench(b)
	recs := storetest.Records(200_000)
	for i := 0; b.Loop(); i++ {
		if err := s.Append(b.Context(), c, "run", recs[i]); err != nil {
			b.Fatal(err)
		}
	}
}

// Sixty-four runs append at once, each one record after the other.
func BenchmarkAppendManyRuns(b *testing.B) {
	s, c := openBench(b)
	recs := storetest.Records(20_000)
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for run := range 64 {
		id := rollout.RunID(strconv.Itoa(run))
		wg.Go(func() {
			for i := 0; left.Add(-1) >= 0; i++ {
				if err := s.Append(b.Context(), c, id, recs[i]); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// A journal of 100,000 records is loaded, verified and decoded. It is put there below the interface: one by one it would take a minute.
func BenchmarkReadAHundredThousand(b *testing.B) {
	path := filepath.Join(b.TempDir(), "j.db")
	s, err := sqlite.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // a benchmark
	j := storetest.Journal(100_000)
	db := raw(b, path)
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	put := func(text string, args ...any) {
		if _, err := tx.ExecContext(b.Context(), text, args...); err != nil {
			b.Fatal(err)
		}
	}
	put(`INSERT INTO run VALUES ('run', 'd', 'n', '[]', '2026-03-02T18:00:00Z', ?, ?, '')`, int(j.Head.Seq), j.Head.Hash)
	for digest, body := range j.Rows {
		put(`INSERT INTO minutes VALUES ('run', ?, ?)`, digest, body)
	}
	for _, e := range j.Entries {
		put(`INSERT INTO event VALUES ('run', ?, ?, ?, ?, ?)`, int(e.Seq), e.Epoch, e.Body, e.Prev, e.Hash)
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		got, err := store.Read(b.Context(), s, "run")
		if err != nil || len(got) != len(j.Entries) {
			b.Fatalf("%d records, %v", len(got), err)
		}
	}
}
