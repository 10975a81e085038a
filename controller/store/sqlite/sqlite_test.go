package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"

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
	storetest.Run(t, func(t *testing.T) store.Store {
		path := filepath.Join(t.TempDir(), "a folder", "journal 100%.db")
		s := open(t, path)
		paths[s] = path
		return s
	}, func(t *testing.T, s store.Store) store.Store {
		if err := s.(*sqlite.Store).Close(); err != nil {
			t.Fatal(err)
		}
		again := open(t, paths[s])
		paths[again] = paths[s]
		return again
	})
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

// A journal that somebody changed is refused, and the error says where.
func TestDamageIsFound(t *testing.T) {
	tests := []struct {
		name, damage, why string
		seq               uint64
	}{
		{"a flipped byte in a record", `UPDATE event SET body = replace(body, 'no answer', 'NO answer') WHERE seq = 4`, "hash chain", 4},
		{"a record that is gone", `DELETE FROM event WHERE seq = 3`, "missing", 3},
		{"the last record is gone", `DELETE FROM event WHERE seq = 9`, "the end is not", 9},
		{"a torn record", `UPDATE event SET body = substr(body, 1, 20) WHERE seq = 7`, "hash chain", 7},
		{"rows that are gone", `DELETE FROM minutes`, "rows are gone", 3},
		{"rows that were changed", `UPDATE minutes SET body = replace(body, '100', '101')`, "rows are not those", 3},
		{"a record of a newer release", `UPDATE event SET body = replace(body, 'timer_fired', 'new_event') WHERE seq = 5`, "hash chain", 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "j.db")
			s := open(t, path)
			c, err := s.Claim(t.Context(), []string{"x"}, "a", 1<<40)
			if err != nil {
				t.Fatal(err)
			}
			for _, rec := range storetest.Records(9) {
				if err := s.Append(t.Context(), c, "run", rec); err != nil {
					t.Fatal(err)
				}
			}
			damage(t, path, test.damage)
			_, err = store.Read(t.Context(), s, "run")
			bad, ok := errors.AsType[*store.CorruptError](err)
			if !ok || bad.Seq != test.seq || !strings.Contains(bad.Why, test.why) {
				t.Errorf("want damage at record %d (%s), got %v", test.seq, test.why, err)
			}
		})
	}
}

// A journal whose rows lie elsewhere can still be read up to the first gap, and the gaps are named. Rows that were changed are damage.
func TestRecordsNameWhatIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	s := open(t, path)
	c, err := s.Claim(t.Context(), []string{"x"}, "a", 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range storetest.Records(9) {
		if err := s.Append(t.Context(), c, "run", rec); err != nil {
			t.Fatal(err)
		}
	}
	damage(t, path, `DELETE FROM minutes`)
	j, err := s.Load(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	records, missing, err := j.Records()
	if err != nil || len(records) != 9 || len(missing) == 0 || missing[0] != 3 {
		t.Errorf("want 9 records and the rows of 3 missing, got %d, %v, %v", len(records), missing, err)
	}
}

// damage does what the triggers refuse.
func damage(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // a test
	if _, err := db.ExecContext(t.Context(), statement); err == nil && strings.Contains(statement, "event") {
		t.Fatal("the journal let itself be changed without dropping its triggers")
	}
	for _, s := range []string{`DROP TRIGGER event_no_update`, `DROP TRIGGER event_no_delete`, statement} {
		res, err := db.ExecContext(t.Context(), s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		if n, err := res.RowsAffected(); s == statement && strings.Contains(s, "event") && (err != nil || n != 1) {
			t.Fatalf("%s changed %d rows, %v", s, n, err)
		}
	}
}
