package sqlite

// version is the form of a file that this release writes; PRAGMA user_version holds it. 0 is a new file, or the form before there were
// numbers.
const version = 2

const minutesTable = `
CREATE TABLE minutes (
	run    TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	digest TEXT NOT NULL, -- of the JSON
	body   ANY  NOT NULL, -- a JSON array of rows: a BLOB is deflated (RFC 1951), a TEXT is not
	PRIMARY KEY (run, digest)
) STRICT, WITHOUT ROWID;
`

// runIndex finds the runs that have not ended among thousands that have.
const runIndex = `CREATE INDEX run_unfinished ON run(ended) WHERE ended = '';`

// schema is append-only where the journal is concerned: triggers refuse to change a record, and to remove one unless its whole run goes,
// which it does only when it has ended.
const schema = `
CREATE TABLE run (
	id      TEXT PRIMARY KEY,
	domain  TEXT    NOT NULL,
	name    TEXT    NOT NULL,
	keys    TEXT    NOT NULL, -- JSON array
	started TEXT    NOT NULL,
	seq     INTEGER NOT NULL, -- of the last record
	hash    TEXT    NOT NULL, -- of the last record
	ended   TEXT    NOT NULL DEFAULT '' -- the phase it ended in
) STRICT;
CREATE TABLE event (
	run   TEXT    NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	seq   INTEGER NOT NULL,
	epoch INTEGER NOT NULL,
	body  TEXT    NOT NULL,
	prev  TEXT    NOT NULL,
	hash  TEXT    NOT NULL,
	PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;
` + minutesTable + runIndex + `
CREATE TABLE claim (
	key      TEXT PRIMARY KEY,
	holder   TEXT    NOT NULL,
	epoch    INTEGER NOT NULL,
	since    INTEGER NOT NULL, -- milliseconds of Unix time
	until    INTEGER NOT NULL, -- the same; 0: nobody holds it
	released INTEGER NOT NULL  -- 1: its last holder gave it up; 0: he holds it, or it ran out
) STRICT;
CREATE TRIGGER event_no_update BEFORE UPDATE ON event
	BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER event_no_delete BEFORE DELETE ON event WHEN EXISTS (SELECT 1 FROM run WHERE id = OLD.run)
	BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER run_no_delete BEFORE DELETE ON run WHEN OLD.ended = ''
	BEGIN SELECT RAISE(ABORT, 'the run has not ended'); END;
`
