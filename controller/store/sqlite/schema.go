package sqlite

// schema is append-only where the journal is concerned: triggers refuse to change or remove a record.
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
CREATE TRIGGER IF NOT EXISTS event_no_delete BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
`
