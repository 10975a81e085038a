package sqlite_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/storetest"
)

// The peer is a file that takes the same bytes, ready made, one write and one fdatasync for each.
func BenchmarkAppendToAPlainFile(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "j.log"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // a benchmark
	var lines [][]byte
	for _, rec := range storetest.Records(1000)[1:] {
		e, err := store.NewEntry("", 1, rec)
		if err != nil {
			b.Fatal(err)
		}
		lines = append(lines, []byte(e.Body+e.Hash+e.Hash+"\n"))
	}
	for i := 0; b.Loop(); i++ {
		if _, err := f.Write(lines[i%len(lines)]); err != nil {
			b.Fatal(err)
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			b.Fatal(err)
		}
	}
}
