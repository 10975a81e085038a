package sqlite_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/sqlite"
	"github.com/tlsroll/tlsroll/controller/store/storetest"
)

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // closing twice is an error that says nothing new
	return s
}

func TestConformance(t *testing.T) {
	paths := map[store.Store]string{}
	storetest.Run(t, storetest.Backend{
		TTL: 10 * time.Millisecond,
		Open: func(t *testing.T) store.Store {
			path := filepath.Join(t.TempDir(), "a folder", "journal 100%.db")
			s := open(t, path)
			paths[s] = path
			return s
		},
		Reopen: func(t *testing.T, s store.Store) store.Store {
			if err := s.(*sqlite.Store).Close(); err != nil {
				t.Fatal(err)
			}
			again := open(t, paths[s])
			paths[again] = paths[s]
			return again
		},
		Overwrite: func(t *testing.T, s store.Store, j store.Journal) { overwrite(t, paths[s], j) },
	})
}

// overwrite does what the triggers refuse, and sets them up again.
func overwrite(t *testing.T, path string, j store.Journal) {
	t.Helper()
	db := raw(t, path)
	db.SetMaxOpenConns(1)
	triggers := map[string]string{}
	rows, err := db.QueryContext(t.Context(), `SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		triggers[name] = text
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(triggers) == 0 {
		t.Fatalf("triggers: %v, %v", triggers, err)
	}
	for name := range triggers {
		exec(t, db, "DROP TRIGGER "+name)
	}
	id := string(j.Run.ID)
	exec(t, db, `DELETE FROM event WHERE run = ?`, id)
	exec(t, db, `DELETE FROM minutes WHERE run = ?`, id)
	exec(t, db, `UPDATE run SET seq = ?, hash = ? WHERE id = ?`, int(j.Head.Seq), j.Head.Hash, id)
	for _, e := range j.Entries {
		exec(t, db, `INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)`, id, int(e.Seq), e.Epoch, e.Body, e.Prev, e.Hash)
	}
	for digest, body := range j.Rows {
		exec(t, db, `INSERT INTO minutes VALUES (?, ?, ?)`, id, digest, body)
	}
	for _, text := range triggers {
		exec(t, db, text)
	}
}

// The file defends its records against a slip in any SQL tool; against intent there is the chain.
func TestAJournalDoesNotLetItselfBeChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	s := open(t, path)
	c, err := s.Claim(t.Context(), []string{"x"}, "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range storetest.Records(3) {
		if err := s.Append(t.Context(), c, "run", rec); err != nil {
			t.Fatal(err)
		}
	}
	db := raw(t, path)
	for _, statement := range []string{`UPDATE event SET body = '' WHERE seq = 2`, `DELETE FROM event WHERE seq = 3`, `DELETE FROM event`, `DELETE FROM run`} {
		if _, err := db.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s was done", statement)
		}
	}
	if err := s.Finish(t.Context(), c, "run", rollout.Succeeded); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `DELETE FROM event WHERE seq = 3`); err == nil {
		t.Error("the last record of a run that ended was removed by itself")
	}
	if got, err := store.Read(t.Context(), s, "run"); err != nil || len(got) != 3 {
		t.Errorf("want 3 records, got %d, %v", len(got), err)
	}
}

func TestOneProcessWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	s := open(t, path)
	_, err := sqlite.Open(t.Context(), path)
	locked, ok := errors.AsType[*sqlite.LockedError](err)
	if !ok || !strings.HasPrefix(locked.Holder, "pid ") || !strings.Contains(err.Error(), "wait for it") {
		t.Fatalf("second writer: want a LockedError that names the process and the way out, got %v", err)
	}
	if w, err := sqlite.Writer(path); err != nil || w != locked.Holder {
		t.Errorf("Writer says %q, %v", w, err)
	}
	reader, err := sqlite.OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatalf("a reader beside the writer: %v", err)
	}
	if _, err := reader.Claim(t.Context(), []string{"x"}, "a", 1); err == nil {
		t.Error("a reader could write")
	}
	if err := errors.Join(reader.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if w, err := sqlite.Writer(path); err != nil || w != "" {
		t.Errorf("after the writer closed, Writer says %q, %v", w, err)
	}
	if err := open(t, path).Close(); err != nil {
		t.Errorf("after the writer closed: %v", err)
	}
}

func TestReadingWhatIsNotThere(t *testing.T) {
	if _, err := sqlite.OpenReadOnly(t.Context(), filepath.Join(t.TempDir(), "none.db")); err == nil {
		t.Error("a store that does not exist was opened for reading")
	}
}

// What a process that is gone had begun may still be on its way.
func TestAfterAnEvictionAClaimIsLapsed(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "j.db"))
	gone, err := s.Claim(t.Context(), []string{"x"}, "gone", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Evict(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if held, err := s.Claims(t.Context()); err != nil || len(held) > 0 {
		t.Errorf("after the eviction: %+v, %v", held, err)
	}
	if err := s.Renew(t.Context(), gone, time.Hour); !errors.Is(err, store.ErrFenced) {
		t.Errorf("renewal of an evicted claim: want ErrFenced, got %v", err)
	}
	if err := s.Release(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(t.Context(), []string{"x"}, "b", time.Hour)
	if err != nil || !c.Lapsed || c.Epoch <= gone.Epoch {
		t.Errorf("want a later epoch and Lapsed, got %+v, %v", c, err)
	}
}
