package sqlite_test

import (
	"database/sql"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/sqlite"
	"github.com/tlsroll/tlsroll/controller/store/storetest"
)

// version0 is what the release before wrote, word for word.
const version0 = `
CREATE TABLE IF NOT EXISTS run (
	id      TEXT PRIMARY KEY,
	domain  TEXT NOT NULL,
	name    TEXT NOT NULL,
	started TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS event (
	run   TEXT    NOT NULL REFERENCES run(id),
	seq   INTEGER NOT NULL,
	epoch INTEGER NOT NULL,
	body  TEXT    NOT NULL,
	prev  TEXT    NOT NULL,
	hash  TEXT    NOT NULL,
	PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS minutes (
	run    TEXT NOT NULL REFERENCES run(id),
	digest TEXT NOT NULL,
	body   TEXT NOT NULL,
	PRIMARY KEY (run, digest)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claim (
	key    TEXT PRIMARY KEY,
	holder TEXT    NOT NULL,
	epoch  INTEGER NOT NULL,
	since  INTEGER NOT NULL,
	until  INTEGER NOT NULL
) STRICT;
CREATE TRIGGER IF NOT EXISTS event_no_update BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER IF NOT EXISTS event_no_delete BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
`

// raw opens a file as anybody can who has an SQLite.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+(&url.URL{Path: path}).EscapedPath())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func exec(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// oldRuns are the runs of oldFile and how many records they have, oldest first.
var oldRuns = []store.Run{{ID: "z", Records: 9}, {ID: "a", Records: 5}}

// oldFile writes oldRuns and two claims, one of them held until a minute from now, the way the release before did.
func oldFile(t *testing.T, path string) {
	t.Helper()
	db := raw(t, path)
	exec(t, db, "PRAGMA journal_mode = wal")
	exec(t, db, version0)
	for _, run := range oldRuns {
		exec(t, db, `INSERT INTO run VALUES (?, 'cdn.example.com', 'suite', '2026-03-02T18:00:00.123456789Z')`, string(run.ID))
		prev := ""
		for _, rec := range storetest.Records(int(run.Records)) {
			e, err := store.NewEntry(prev, 3, rec)
			if err != nil {
				t.Fatal(err)
			}
			prev = e.Hash
			exec(t, db, `INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)`, string(run.ID), int(e.Seq), e.Epoch, e.Body, e.Prev, e.Hash)
			m, ok := rec.Event.(rollout.MinutesArrived)
			if !ok {
				continue
			}
			body, digest, err := rollout.EncodeRows(m.Batch.Rows)
			if err != nil {
				t.Fatal(err)
			}
			exec(t, db, `INSERT INTO minutes VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, string(run.ID), digest, string(body))
		}
	}
	now := time.Now()
	exec(t, db, `INSERT INTO claim VALUES ('held', 'a', 3, ?, ?)`, now.UnixMilli(), now.Add(time.Minute).UnixMilli())
	exec(t, db, `INSERT INTO claim VALUES ('free', 'a', 7, ?, 0)`, now.UnixMilli())
}

func TestAFileOfTheReleaseBeforeIsBroughtUpToDate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	oldFile(t, path)
	if _, err := sqlite.OpenReadOnly(t.Context(), path); err == nil || !strings.Contains(err.Error(), "brings it up to date") {
		t.Fatalf("a reader of the old file: want to be told what brings it up to date, got %v", err)
	}
	for _, what := range []string{"brought up to date", "opened again"} {
		s := open(t, path)
		runs, err := s.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var want []store.Run
		for _, run := range oldRuns {
			want = append([]store.Run{{
				ID: run.ID, Domain: "cdn.example.com", Name: "suite", Keys: []string{"domain:cdn.example.com", "record:cdn.example.com"},
				Started: storetest.Records(1)[0].At, Records: run.Records,
			}}, want...)
			got, err := store.Read(t.Context(), s, run.ID)
			if diff := cmp.Diff(storetest.Records(int(run.Records)), got); diff != "" || err != nil {
				t.Errorf("%s, records of run %s: %v (-want +got):\n%s", what, run.ID, err, diff)
			}
		}
		if diff := cmp.Diff(want, runs); diff != "" {
			t.Errorf("%s, runs mismatch (-want +got):\n%s", what, diff)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, path)
	if held, err := s.Claims(t.Context()); err != nil || len(held) != 1 || held[0].Key != "held" || held[0].Epoch != 3 {
		t.Errorf("want the claim that was held, got %+v, %v", held, err)
	}
	c, err := s.Claim(t.Context(), []string{"free"}, "b", time.Minute)
	if err != nil || c.Epoch != 8 || !c.Lapsed {
		t.Fatalf("want epoch 8, and Lapsed since the old file does not tell, got %+v, %v", c, err)
	}
	if err := s.Append(t.Context(), c, "a", storetest.Records(6)[5]); err != nil {
		t.Errorf("the old run cannot go on: %v", err)
	}
}

// A file of version 1 keeps its rows as text; new ones are deflated beside them.
func TestRowsOfVersion1StayReadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	recs := storetest.Records(9)
	s := open(t, path)
	c, err := s.Claim(t.Context(), []string{"x"}, "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs[:5] {
		if err := s.Append(t.Context(), c, "run", rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	asVersion1(t, path, recs[:5])
	s = open(t, path)
	for _, rec := range recs[5:] {
		if err := s.Append(t.Context(), c, "run", rec); err != nil {
			t.Fatal(err)
		}
	}
	got, err := store.Read(t.Context(), s, "run")
	if diff := cmp.Diff(recs, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// asVersion1 makes the rows of a file what version 1 wrote.
func asVersion1(t *testing.T, path string, recs []rollout.Record) {
	t.Helper()
	db := raw(t, path)
	exec(t, db, `DROP INDEX run_unfinished`)
	exec(t, db, `DROP TABLE minutes`)
	exec(t, db, `CREATE TABLE minutes (run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, digest TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (run, digest)) STRICT, WITHOUT ROWID`)
	exec(t, db, `PRAGMA user_version = 1`)
	rows := 0
	for _, rec := range recs {
		if m, ok := rec.Event.(rollout.MinutesArrived); ok {
			body, digest, err := rollout.EncodeRows(m.Batch.Rows)
			if err != nil {
				t.Fatal(err)
			}
			exec(t, db, `INSERT INTO minutes VALUES ('run', ?, ?) ON CONFLICT DO NOTHING`, digest, string(body))
			rows++
		}
	}
	if rows == 0 {
		t.Fatal("no record has rows")
	}
}

// Half a file is worse than an old one.
func TestAnUpgradeThatFailsChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	oldFile(t, path)
	db := raw(t, path)
	exec(t, db, `CREATE TABLE old_claim (in_the_way TEXT)`) // the last table to be set aside
	if _, err := sqlite.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "from schema version 0 to 2") {
		t.Fatalf("want an error that says what was tried, got %v", err)
	}
	exec(t, db, `DROP TABLE old_claim`)
	if got, err := store.Read(t.Context(), open(t, path), "z"); err != nil || len(got) != 9 {
		t.Errorf("after the obstacle is gone: want 9 records, got %d, %v", len(got), err)
	}
}

func TestAFileThatIsNotOursToWriteIsRefused(t *testing.T) {
	tests := []struct{ name, statement, want string }{
		{"of a newer release", `PRAGMA user_version = 3`, "a newer tlsroll wrote it: its schema is version 3, this release knows 2; use that release, or name another file with --store"},
		{"of something else", `CREATE TABLE song (title TEXT)`, "a database of something else; name another file with --store"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "j.db")
			exec(t, raw(t, path), test.statement)
			_, err := sqlite.Open(t.Context(), path)
			_, readErr := sqlite.OpenReadOnly(t.Context(), path)
			for _, err := range []error{err, readErr} {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("want %q, got %v", test.want, err)
				}
			}
		})
	}
}

func TestAnEmptyFileHoldsNoJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.db")
	exec(t, raw(t, path), `PRAGMA user_version = 0`)
	if _, err := sqlite.OpenReadOnly(t.Context(), path); err == nil || !strings.Contains(err.Error(), "no journal yet") {
		t.Errorf("a reader of an empty file: got %v", err)
	}
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	r, err := sqlite.OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
