package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
)

// form is what a file is: its version, how many tables it has, and whether one of them keeps events.
type form struct {
	version, tables int
	events          bool
}

func formOf(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
},
) (form, error) {
	var f form
	if err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&f.version); err != nil {
		return form{}, err
	}
	err := q.QueryRowContext(ctx, `SELECT count(*), coalesce(max(name = 'event'), 0) FROM sqlite_schema WHERE type = 'table'`).Scan(&f.tables, &f.events)
	switch {
	case err != nil:
		return form{}, err
	case f.version > version:
		return form{}, fmt.Errorf("a newer tlsroll wrote it: its schema is version %d, this release knows %d; use that release, or name another file with --store",
			f.version, version)
	case f.version == 0 && f.tables > 0 && !f.events:
		return form{}, errors.New("it is a database of something else; name another file with --store")
	}
	return f, nil
}

// readable refuses a file that cannot be read before somebody brings it up to date.
func readable(ctx context.Context, db *sql.DB) error {
	f, err := formOf(ctx, db)
	switch {
	case err != nil:
		return err
	case f.tables == 0:
		return errors.New("it holds no journal yet")
	case f.version < version:
		return fmt.Errorf("an older tlsroll wrote it: its schema is version %d, this release reads %d; "+
			"the next run or controller that uses it brings it up to date", f.version, version)
	}
	return nil
}

// upgrade gives a new file its tables, and one of an earlier version the tables of this one. It is all done or not at all.
func upgrade(ctx context.Context, tx txn) error {
	f, err := formOf(ctx, tx)
	if err != nil || f.version == version {
		return err
	}
	steps := []string{schema}
	switch {
	case f.version == 1:
		steps = []string{widen}
	case f.events:
		steps = []string{setAside, schema, takeOver}
	}
	for _, step := range append(steps, fmt.Sprint("PRAGMA user_version = ", version)) {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("bring it from schema version %d to %d: %w", f.version, version, err)
		}
	}
	if f.version == 0 && f.events {
		return putKeys(ctx, tx)
	}
	return nil
}

// The rows of version 1 could only be text.
const widen = `ALTER TABLE minutes RENAME TO old_minutes;` + minutesTable + `
INSERT INTO minutes SELECT run, digest, body FROM old_minutes;
DROP TABLE old_minutes;
` + runIndex

// The tables of version 0 had no head, keys or end in the run, and did not tell a claim that was released from one that was evicted. All of
// them count as lapsed: the worst that comes of it is one wait for calls that are not there.
const (
	setAside = `
DROP TRIGGER IF EXISTS event_no_update;
DROP TRIGGER IF EXISTS event_no_delete;
ALTER TABLE run RENAME TO old_run;
ALTER TABLE event RENAME TO old_event;
ALTER TABLE minutes RENAME TO old_minutes;
ALTER TABLE claim RENAME TO old_claim;
`
	takeOver = `
INSERT INTO run (id, domain, name, keys, started, seq, hash)
	SELECT id, domain, name, '[]', started, 0, '' FROM old_run ORDER BY rowid;
INSERT INTO event SELECT run, seq, epoch, body, prev, hash FROM old_event;
INSERT INTO minutes SELECT run, digest, body FROM old_minutes;
INSERT INTO claim SELECT key, holder, epoch, since, until, 0 FROM old_claim;
UPDATE run SET seq = last.seq, hash = last.hash FROM event AS last
	WHERE last.run = run.id AND last.seq = (SELECT max(seq) FROM event WHERE run = run.id);
DROP TABLE old_event;
DROP TABLE old_minutes;
DROP TABLE old_run;
DROP TABLE old_claim;
`
)

// putKeys notes what the runs of version 0 claimed. Where a plan cannot be read any more it stays unknown.
func putKeys(ctx context.Context, tx txn) error {
	firsts, err := firstRecords(ctx, tx)
	if err != nil {
		return err
	}
	for id, body := range firsts {
		rec, err := rollout.Decode([]byte(body))
		start, ok := rec.Event.(rollout.Started)
		if err != nil || !ok {
			continue // damaged: whoever reads the journal is told
		}
		p, problems := plans.Parse("journal", []byte(start.Plan))
		if problems.HasErrors() {
			continue
		}
		keys, err := json.Marshal(rollout.Keys(p))
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE run SET keys = ? WHERE id = ?`, string(keys), id); err != nil {
			return err
		}
	}
	return nil
}

func firstRecords(ctx context.Context, tx txn) (map[string]string, error) {
	rows, err := tx.QueryContext(ctx, `SELECT run, body FROM event WHERE seq = 1`)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	firsts := map[string]string{}
	for rows.Next() {
		var id, body string
		if err := rows.Scan(&id, &body); err != nil {
			return nil, err
		}
		firsts[id] = body
	}
	return firsts, rows.Err()
}
