package sqlite

import (
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// disk is a file system in memory that tells what is synced from what is only written, and whose power goes at one operation. Creating
// and deleting a file count as durable at once.
type disk struct {
	dir     string // real files for the index of the log, which is shared memory and does not survive
	dice    *rand.Rand
	cutAt   int    // the operation at which the power goes; 0: never
	limit   int    // bytes that fit; 0: any
	reserve string // real file whose room is the disk's while it does not exist
	fullAt  int    // the operation from which on no file grows; 0: never
	failing int    // the sync that fails, counted from 1; 0: none
	badRead int    // the read that fails, counted from 1; 0: none
	short   bool   // it does not fail but ends in the middle

	mu    sync.Mutex
	ops   int
	syncs int
	reads int
	dead  bool
	files map[string]*file
}

// file is one file. current is what a program sees; synced is what is safe; pending is what lies between.
type file struct {
	disk    *disk
	current []byte
	synced  []byte
	pending []change
}

type change struct {
	at   int64
	data []byte // nil: truncated at
}

const sector = 512

// act counts an operation; it fails once the power is gone.
func (d *disk) act() error {
	d.ops++
	if d.ops == d.cutAt {
		d.dead = true
	}
	if d.dead {
		return sqlite3.IOERR
	}
	return nil
}

// reboot makes what survives what is there. Each pending change survives or not, one after the other up to a point, or sector by sector.
func (d *disk) reboot() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		f := d.files[name]
		mode, upTo := d.dice.IntN(3), d.dice.IntN(len(f.pending)+1)
		for i, c := range f.pending {
			switch {
			case mode == 0, mode == 1 && i >= upTo: // lost
			case mode == 1 || c.data == nil:
				f.synced = c.apply(f.synced)
			default:
				f.synced = c.tear(f.synced, d.dice)
			}
		}
		f.current, f.pending = slices.Clone(f.synced), nil
	}
	d.dead, d.cutAt = false, 0
}

// set changes a disk that is in use.
func (d *disk) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *disk) hit() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead || d.fullAt > 0 && d.ops >= d.fullAt || d.failing > 0 && d.syncs >= d.failing || d.badRead > 0 && d.reads >= d.badRead
}

func (c change) apply(to []byte) []byte {
	if c.data == nil {
		return to[:min(int(c.at), len(to))]
	}
	if end := int(c.at) + len(c.data); end > len(to) {
		to = append(to, make([]byte, end-len(to))...)
	}
	copy(to[c.at:], c.data)
	return to
}

func (c change) tear(to []byte, dice *rand.Rand) []byte {
	for i := 0; i < len(c.data); i += sector {
		if dice.IntN(2) == 0 {
			to = change{c.at + int64(i), c.data[i:min(i+sector, len(c.data))]}.apply(to)
		}
	}
	return to
}

// room reports whether the disk takes so many bytes more.
func (d *disk) room(more int) bool {
	if d.fullAt > 0 && d.ops+1 >= d.fullAt {
		return false
	}
	limit := d.limit
	if _, err := os.Stat(d.reserve); err != nil {
		limit += reserveSize
	}
	used := 0
	for _, f := range d.files {
		used += len(f.current)
	}
	return d.limit == 0 || used+more <= limit
}

// Open implements vfs.VFS.
func (d *disk) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return nil, flags, sqlite3.CANTOPEN
	}
	f := d.files[name]
	if f == nil {
		if flags&vfs.OPEN_CREATE == 0 {
			return nil, flags, sqlite3.CANTOPEN
		}
		f = &file{disk: d}
		d.files[name] = f
	}
	shm := vfs.NewSharedMemory(filepath.Join(d.dir, filepath.Base(name)+"-shm"), flags)
	return &handle{f, shm}, flags, nil
}

// Delete implements vfs.VFS.
func (d *disk) Delete(name string, _ bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.act(); err != nil {
		return err
	}
	if d.files[name] == nil {
		return sqlite3.IOERR_DELETE_NOENT
	}
	delete(d.files, name)
	return nil
}

// Access implements vfs.VFS.
func (d *disk) Access(name string, _ vfs.AccessFlag) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files[name] != nil, nil
}

// FullPathname implements vfs.VFS.
func (d *disk) FullPathname(name string) (string, error) { return name, nil }

// handle is an open file.
type handle struct {
	*file
	shm vfs.SharedMemory
}

func (h *handle) SharedMemory() vfs.SharedMemory { return h.shm }

func (h *handle) Close() error {
	if h.shm != nil {
		return h.shm.Close()
	}
	return nil
}

func (h *handle) ReadAt(b []byte, off int64) (int, error) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	h.disk.reads++
	if h.disk.reads == h.disk.badRead {
		if !h.disk.short {
			return 0, &fs.PathError{Op: "read", Err: syscall.EIO}
		}
		b = b[:len(b)/2]
		clear(b)
		return copy(b, h.current[min(off, int64(len(h.current))):]), io.EOF
	}
	if off >= int64(len(h.current)) {
		return 0, io.EOF
	}
	n := copy(b, h.current[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (h *handle) change(c change) error {
	if err := h.disk.act(); err != nil {
		h.pending = append(h.pending, c) // the one that was under way may have reached the disk in part
		return err
	}
	h.current = c.apply(h.current)
	h.pending = append(h.pending, c)
	return nil
}

func (h *handle) WriteAt(b []byte, off int64) (int, error) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if more := int(off) + len(b) - len(h.current); more > 0 && !h.disk.room(more) {
		h.disk.ops++
		return 0, &fs.PathError{Op: "write", Err: syscall.ENOSPC}
	}
	if err := h.change(change{off, slices.Clone(b)}); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (h *handle) Truncate(size int64) error {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	return h.change(change{at: size})
}

func (h *handle) Sync(vfs.SyncFlag) error {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if err := h.disk.act(); err != nil {
		return err
	}
	h.disk.syncs++
	if h.disk.syncs == h.disk.failing {
		h.pending = nil // dropped, as a kernel does
		return &fs.PathError{Op: "sync", Err: syscall.EIO}
	}
	for _, c := range h.pending {
		h.synced = c.apply(h.synced)
	}
	h.pending = nil
	return nil
}

func (h *handle) Size() (int64, error) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	return int64(len(h.current)), nil
}

// One connection uses the disk, so locks need not be kept.

func (h *handle) Lock(vfs.LockLevel) error         { return nil }
func (h *handle) Unlock(vfs.LockLevel) error       { return nil }
func (h *handle) CheckReservedLock() (bool, error) { return false, nil }
func (h *handle) SectorSize() int                  { return sector }
func (h *handle) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return 0
}
