package sqlite

import (
	"errors"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// osFiles are the operating system's files, but that a full disk is reported as one. The driver looks for the bare ENOSPC, and what a file
// returns has it wrapped, so that SQLite would take a full disk for a broken one: a reason to stop, where making room is enough.
const osFiles = "tlsroll"

// tellingFull is a VFS whose writes fail with FULL when there is no room.
type tellingFull struct{ vfs.VFS }

// OpenFilename implements vfs.VFSFilename.
func (v tellingFull) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := vfsutil.WrapOpenFilename(v.VFS, name, flags)
	if err != nil {
		return nil, flags, asFull(err)
	}
	return roomFile{f}, flags, nil
}

// roomFile passes everything on, and says which errors mean that there is no room.
type roomFile struct{ vfs.File }

// WriteAt implements vfs.File.
func (f roomFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	return n, asFull(err)
}

// SizeHint implements vfs.FileSizeHint.
func (f roomFile) SizeHint(size int64) error { return asFull(vfsutil.WrapSizeHint(f.File, size)) }

// SharedMemory implements vfs.FileSharedMemory: without it there is no WAL.
func (f roomFile) SharedMemory() vfs.SharedMemory { return vfsutil.WrapSharedMemory(f.File) }

// HasMoved implements vfs.FileHasMoved.
func (f roomFile) HasMoved() (bool, error) { return vfsutil.WrapHasMoved(f.File) }

// LockState implements vfs.FileLockState.
func (f roomFile) LockState() vfs.LockLevel { return vfsutil.WrapLockState(f.File) }

// PersistWAL implements vfs.FilePersistWAL.
func (f roomFile) PersistWAL() bool { return vfsutil.WrapPersistWAL(f.File) }

// SetPersistWAL implements vfs.FilePersistWAL.
func (f roomFile) SetPersistWAL(keep bool) { vfsutil.WrapSetPersistWAL(f.File, keep) }

// Unwrap implements vfs.FileUnwrap.
func (f roomFile) Unwrap() vfs.File { return f.File }

// asFull tells SQLite of an error that means no room, on the disk or within a quota.
func asFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return vfs.SystemError(err, sqlite3.FULL)
	}
	return err
}

// noRoom reports whether a transaction found no room. The index of the log, which is shared memory, has its own word for it.
func noRoom(err error) bool {
	return errors.Is(err, sqlite3.FULL) || errors.Is(err, sqlite3.IOERR_SHMSIZE)
}
