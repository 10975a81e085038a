// Package sqlite keeps journals and claims in one SQLite file, readable with the sqlite3 tool while it is in use.
//
// WAL and synchronous=FULL are set and read back on every connection: with less, a power cut loses records that were acknowledged.
// SQLite before 3.51.3 can lose committed pages when two connections write and checkpoint at one instant, so an older library is
// refused. One process writes to a file: a lock beside it says which. Readers need no lock.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	_ "github.com/ncruces/go-sqlite3/driver" // the database/sql driver "sqlite3"
)

// Store is a journal file. See [github.com/tlsroll/tlsroll/controller/store.Store].
type Store struct {
	db      *sql.DB
	lock    *os.File // nil: read only
	reserve reserve
	broken  atomic.Bool
}

// settings are what tests change: the power is cut below another VFS, and only synchronous=FULL survives it.
type settings struct {
	vfs         string // "": the operating system's files
	synchronous string
	pragmas     []string
}

var durable = settings{synchronous: "full"}

// LockedError means that another process writes to the file.
type LockedError struct {
	Path   string
	Holder string // "pid 4711 on host"
}

// Error says who has the file and what to do.
func (e *LockedError) Error() string {
	return fmt.Sprintf("store %s is in use by %s; one process writes to a store, and two must never work on one domain: wait for it", e.Path, e.Holder)
}

// Open opens a store for reading and writing, and makes the file when there is none. It fails with a *LockedError when another process
// has it open for writing.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the store's folder: %w", err)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the lock goes by the file, not by the name it was opened under
	}
	lock, err := takeLock(path)
	if err != nil {
		return nil, err
	}
	s, err := openWith(ctx, path, durable)
	if err == nil {
		s.lock = lock
		if err = checkDurable(ctx, s.db); err == nil {
			return s, nil
		}
		lock = nil
		err = errors.Join(fmt.Errorf("open store %s: %w", path, err), s.Close())
	}
	if lock != nil {
		err = errors.Join(err, lock.Close())
	}
	return nil, err
}

// openWith opens a store for writing, without a lock.
func openWith(ctx context.Context, path string, set settings) (*Store, error) {
	pragmas := append([]string{"busy_timeout(10000)", "journal_mode(wal)", "synchronous(" + set.synchronous + ")", "foreign_keys(on)"}, set.pragmas...)
	s := &Store{reserve: reserve{path: path + reserveSuffix}}
	var err error
	if s.db, err = open(ctx, path, set.vfs, pragmas...); err == nil {
		s.db.SetMaxOpenConns(1) // one writer, whose pragmas are read back
		err = s.migrate(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, err), s.Close())
	}
	s.reserve.make()
	return s, nil
}

// OpenReadOnly opens an existing store for reading; another process may be writing to it.
func OpenReadOnly(ctx context.Context, path string) (*Store, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	db, err := open(ctx, path, "", "busy_timeout(10000)", "query_only(on)")
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	return &Store{db: db}, nil
}

// Close closes the file and frees it for others.
func (s *Store) Close() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

func open(ctx context.Context, path, vfs string, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_pragma": pragmas}
	if vfs != "" {
		q.Set("vfs", vfs)
	}
	dsn := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
	db, err := sql.Open("sqlite3", dsn)
	if err != nil {
		return nil, err
	}
	if err := checkVersion(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func checkVersion(ctx context.Context, db *sql.DB) error {
	var version string
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return err
	}
	if !atLeast(version, 3, 51, 3) {
		return fmt.Errorf("SQLite %s can lose committed data (fixed in 3.51.3)", version)
	}
	return nil
}

// checkDurable reads back what durability rests on.
func checkDurable(ctx context.Context, db *sql.DB) error {
	var mode string
	var synchronous int
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&synchronous); err != nil {
		return err
	}
	const full = 2
	if mode != "wal" || synchronous != full {
		return fmt.Errorf("journal_mode is %s and synchronous %d, need wal and %d: the file system may not support WAL", mode, synchronous, full)
	}
	return nil
}

func atLeast(version string, want ...int) bool {
	for i, part := range strings.Split(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || i >= len(want) {
			break
		}
		if n != want[i] {
			return n > want[i]
		}
	}
	return true
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
