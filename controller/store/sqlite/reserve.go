package sqlite

import (
	"errors"
	"io"
	"os"
	"sync"
)

const (
	reserveSuffix = ".reserve"
	// reserveSize is room for a way back on a full disk: some hundred records of the run and of its minutes take about 5 MB, and a page
	// may be written twice, to the log and to the file.
	reserveSize = 16 << 20
)

// reserve is a file that only takes up room, to be given up when the disk is full.
type reserve struct {
	path string

	mu    sync.Mutex
	spent bool
}

// make fills the file. Without room there is no reserve, which is no reason not to start.
func (r *reserve) make() {
	if s, err := os.Stat(r.path); err == nil && s.Size() == reserveSize {
		return
	}
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return
	}
	err = allocate(f, reserveSize)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(r.path)
	}
}

// give frees the room, and reports whether there was any.
func (r *reserve) give() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	had := os.Remove(r.path) == nil
	r.spent = r.spent || had
	return had
}

// Full reports whether the disk was full since the store was opened: what is written since then lives on its reserve. Whoever may stop
// should.
func (s *Store) Full() bool {
	s.reserve.mu.Lock()
	defer s.reserve.mu.Unlock()
	return s.reserve.spent
}

// fill writes the file, not only its size: a hole takes up no room.
func fill(f *os.File, size int64) error {
	_, err := io.CopyN(f, zeros{}, size)
	return err
}

type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
