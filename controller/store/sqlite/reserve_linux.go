package sqlite

import (
	"os"
	"syscall"
)

// allocate gives a file its blocks, quickly where the file system can.
func allocate(f *os.File, size int64) error {
	if syscall.Fallocate(int(f.Fd()), 0, 0, size) == nil {
		return nil
	}
	return fill(f, size)
}
