// Package sqlite keeps journals and claims in one SQLite file, readable with the sqlite3 tool while it is in use.
//
// WAL and synchronous=FULL are set and read back on every connection: with less, a power cut loses records that were acknowledged.
// SQLite before 3.51.3 can lose committed pages when two connections write and checkpoint at one instant, so an older library is
// refused, and so is a file on another machine. One process writes to a file: a lock beside it says which. Readers need no lock.
//
// Records that are appended at once share a transaction and its sync. On a full disk a reserve is given up, so that a way back finds room.
// After a read or write that failed for any other reason nothing is written until the file is opened again.
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

	_ "github.com/ncruces/go-sqlite3/driver" // the database/sql driver "sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// Store is a journal file. See [github.com/tlsroll/tlsroll/controller/store.Store].
type Store struct {
	db   *sql.DB  // one connection, which writes; nil: read only
	read *sql.DB  // connections that cannot write, so that nobody who reads a long journal holds up an Append
	lock *os.File // nil: read only

	prepared prepared
	queue    queue
	reserve  reserve
	broken   atomic.Bool // the disk has failed
}

// settings are what tests change: the power is cut below another VFS, and only synchronous=FULL survives it.
type settings struct {
	vfs         string
	synchronous string
	pragmas     []string
}

func durable() settings { return settings{vfs: osFiles, synchronous: "full"} }

// Open opens a store for reading and writing. It makes the file when there is none, and brings one of an older release up to date. It fails
// with a *LockedError when another process has it open for writing.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the store's folder: %w", err)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the lock goes by the file, not by the name it was opened under
	}
	if err := checkLocal(filepath.Dir(path), kindOf); err != nil {
		return nil, err
	}
	lock, err := takeLock(path)
	if err != nil {
		return nil, err
	}
	vfs.Register(osFiles, tellingFull{vfs.Find("")})
	s, err := openWith(ctx, path, durable())
	if err == nil {
		s.lock = lock
		if err = checkDurable(ctx, s.db); err != nil {
			err, lock = errors.Join(err, s.Close()), nil
		}
	}
	if err != nil && lock != nil {
		err = errors.Join(err, lock.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	return s, nil
}

// openWith opens a store for writing, without a lock.
func openWith(ctx context.Context, path string, set settings) (*Store, error) {
	s := &Store{reserve: reserve{path: path + reserveSuffix}}
	err := s.open(ctx, path, set)
	if noRoom(err) && s.reserve.give() {
		err = errors.Join(s.Close(), s.open(ctx, path, set))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.reserve.make()
	return s, nil
}

func (s *Store) open(ctx context.Context, path string, set settings) (err error) {
	s.db, s.read, s.prepared = nil, nil, nil
	pragmas := append([]string{"busy_timeout(10000)", "journal_mode(wal)", "synchronous(" + set.synchronous + ")", "foreign_keys(on)"}, set.pragmas...)
	if s.db, err = open(ctx, path, set.vfs, pragmas...); err != nil {
		return err
	}
	s.db.SetMaxOpenConns(1) // one writer, whose pragmas are read back
	if err := fold(ctx, s.db); err != nil {
		return err
	}
	if err := s.tx(ctx, func(tx txn) error { return upgrade(ctx, tx) }); err != nil {
		return err
	}
	if s.prepared, err = prepare(ctx, s.db); err != nil {
		return err
	}
	s.read, err = openRead(ctx, path, set.vfs)
	return err
}

// fold moves the log into the file and empties it. A sync that failed may have left records in the log that the kernel shows and the disk has
// not: what is appended behind such a hole is lost in the next power cut, however well it is synced. While somebody reads, it stays.
func fold(ctx context.Context, db *sql.DB) error {
	var busy, frames, moved int
	if err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(truncate)").Scan(&busy, &frames, &moved); err != nil {
		return fmt.Errorf("fold its log into it: %w", err)
	}
	return nil
}

// OpenReadOnly opens an existing store for reading; another process may be writing to it. A file of an older release is refused: only Open
// brings it up to date.
func OpenReadOnly(ctx context.Context, path string) (*Store, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	db, err := openRead(ctx, path, "")
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	if err := readable(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, err), db.Close())
	}
	return &Store{read: db}, nil
}

// Close closes the file and frees it for others. The connection that writes goes last: it folds the log into the file.
func (s *Store) Close() error {
	errs := []error{s.prepared.close()}
	for _, db := range []*sql.DB{s.read, s.db} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// readers is how many goroutines may read a store at once; more wait for one of them.
const readers = 4

func openRead(ctx context.Context, path, files string) (*sql.DB, error) {
	db, err := open(ctx, path, files, "busy_timeout(10000)", "query_only(on)")
	if err == nil {
		db.SetMaxOpenConns(readers)
	}
	return db, err
}

func open(ctx context.Context, path, files string, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_pragma": pragmas}
	if files != "" {
		q.Set("vfs", files)
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
