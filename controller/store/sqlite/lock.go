package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// LockedError means that another process writes to the file.
type LockedError struct {
	Path   string
	Holder string // "pid 4711 on host"
}

// Error says who has the file and what to do.
func (e *LockedError) Error() string {
	return fmt.Sprintf("store %s is in use by %s; one process writes to a store, and two must never work on one domain: wait for it", e.Path, e.Holder)
}

// takeLock locks a file beside the store. The kernel frees it when the process ends, however it ends.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the user names the store
	if err != nil {
		return nil, fmt.Errorf("lock store: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		holder, _ := os.ReadFile(path + ".lock") //nolint:gosec // as above
		closing := f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &LockedError{Path: path, Holder: strings.TrimSpace(string(holder))}
		}
		return nil, errors.Join(fmt.Errorf("lock store %s: %w", path, err), closing)
	}
	host, _ := os.Hostname()
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(fmt.Sprintf("pid %d on %s\n", os.Getpid(), host)), 0)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock store %s: %w", path, err), f.Close())
		}
	}
	return f, nil
}

// Writer names the process that has a store open for writing; "" when there is none.
func Writer(path string) (string, error) {
	f, err := os.Open(path + ".lock") //nolint:gosec // the user names the store
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for the store's writer: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read; it frees the lock, too
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err == nil {
		return "", nil
	}
	holder, err := os.ReadFile(path + ".lock") //nolint:gosec // as above
	if err != nil {
		return "", fmt.Errorf("look for the store's writer: %w", err)
	}
	return strings.TrimSpace(string(holder)), nil
}
