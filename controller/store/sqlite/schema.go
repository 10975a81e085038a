package sqlite

import (
	"context"
	"database/sql"
	"fmt"
)

// version is what PRAGMA user_version says of a file with this schema. A file of version 0 that has tables was written before the first
// release and cannot be read.
const version = 2

// schema is append-only where the journal is concerned: triggers refuse to change a record, and to remove one of a run that has not ended.
const schema = `
CREATE TABLE IF NOT EXISTS run (
	id      TEXT PRIMARY KEY,
	domain  TEXT NOT NULL,
	name    TEXT NOT NULL,
	started TEXT NOT NULL,
	keys    TEXT NOT NULL, -- JSON
	seq     INTEGER NOT NULL, -- of the last record
	hash    TEXT NOT NULL,
	ended   INTEGER NOT NULL -- the phase; 0: not noted
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
CREATE TRIGGER IF NOT EXISTS event_no_delete BEFORE DELETE ON event WHEN (SELECT ended FROM run WHERE id = OLD.run) = 0
	BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
`

// migrate makes the tables in a new file, and refuses a file that another version wrote.
func (s *Store) migrate(ctx context.Context) error {
	var is, tables int
	if err := s.db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&is); err != nil {
		return err
	}
	if err := s.db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil {
		return err
	}
	switch {
	case is == version:
		return nil
	case is > version:
		return fmt.Errorf("its version is %d, and this tlsroll knows up to %d: use the newer one that wrote it", is, version)
	case tables > 0:
		return fmt.Errorf("its version is %d, and this tlsroll begins with %d: name another file with --store", is, version)
	}
	return s.tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, schema); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, version))
		return err
	})
}
