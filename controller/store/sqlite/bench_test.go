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
