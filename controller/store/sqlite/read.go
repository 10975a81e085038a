package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
)

// Load returns a run's journal as it is kept, all of it at one instant.
func (s *Store) Load(ctx context.Context, id rollout.RunID) (store.Journal, error) {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return store.Journal{}, fmt.Errorf("load run %s: %w", id, err)
	}
	defer tx.Rollback() //nolint:errcheck // it has only read
	j, err := load(ctx, tx, id)
	if err != nil {
		return store.Journal{}, fmt.Errorf("load run %s: %w", id, err)
	}
	return j, nil
}

func load(ctx context.Context, tx *sql.Tx, id rollout.RunID) (store.Journal, error) {
	var j store.Journal
	var err error
	if j.Run, err = scanRun(tx.QueryRowContext(ctx, selectRun+` WHERE id = ?`, string(id)), &j.Head.Hash); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = store.ErrNoRun
		}
		return store.Journal{}, err
	}
	j.Head.Seq = j.Run.Records
	if j.Entries, err = entries(ctx, tx, j.Run); err != nil {
		return store.Journal{}, err
	}
	j.Rows, err = minutes(ctx, tx, id)
	return j, err
}

const selectRun = `SELECT id, domain, name, keys, started, seq, hash, ended FROM run`

func scanRun(row interface{ Scan(into ...any) error }, hash *string) (store.Run, error) {
	var r store.Run
	var keys, started, ended string
	if err := row.Scan(&r.ID, &r.Domain, &r.Name, &keys, &started, &r.Records, hash, &ended); err != nil {
		return store.Run{}, err
	}
	if r.Ended = store.End(ended); r.Ended == 0 && ended != "" {
		return store.Run{}, fmt.Errorf("run %s ended as %q, which is no end of a run: a newer tlsroll wrote it", r.ID, ended)
	}
	if err := json.Unmarshal([]byte(keys), &r.Keys); err != nil {
		return store.Run{}, fmt.Errorf("keys of run %s: %w", r.ID, err)
	}
	var err error
	if r.Started, err = time.Parse(time.RFC3339Nano, started); err != nil {
		return store.Run{}, fmt.Errorf("start of run %s: %w", r.ID, err)
	}
	return r, nil
}

func entries(ctx context.Context, tx *sql.Tx, run store.Run) ([]store.Entry, error) {
	rows, err := tx.QueryContext(ctx, `SELECT seq, epoch, body, prev, hash FROM event WHERE run = ? ORDER BY seq`, string(run.ID))
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	var all []store.Entry
	for rows.Next() {
		var e store.Entry
		if err := rows.Scan(&e.Seq, &e.Epoch, &e.Body, &e.Prev, &e.Hash); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, rows.Err()
}

func minutes(ctx context.Context, tx *sql.Tx, id rollout.RunID) (map[string]string, error) {
	rows, err := tx.QueryContext(ctx, `SELECT digest, body FROM minutes WHERE run = ?`, string(id))
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	kept := map[string]string{}
	for rows.Next() {
		var digest string
		var body any
		if err := rows.Scan(&digest, &body); err != nil {
			return nil, err
		}
		switch body := body.(type) {
		case []byte:
			kept[digest] = store.UnpackRows(body)
		case string: // of an earlier version
			kept[digest] = body
		}
	}
	return kept, rows.Err()
}

// List returns every run, newest first.
func (s *Store) List(ctx context.Context) ([]store.Run, error) {
	runs, err := s.runs(ctx, selectRun+` ORDER BY rowid DESC`)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return runs, nil
}

// Unfinished returns the runs that Finish was not told of, newest first.
func (s *Store) Unfinished(ctx context.Context, keys ...string) ([]store.Run, error) {
	query, args := selectRun+` WHERE ended = ''`, []any(nil)
	if len(keys) > 0 {
		list, err := json.Marshal(keys)
		if err != nil {
			return nil, err
		}
		query, args = query+` AND EXISTS (SELECT 1 FROM json_each(run.keys) JOIN json_each(?) AS wanted USING (value))`, []any{string(list)}
	}
	runs, err := s.runs(ctx, query+` ORDER BY rowid DESC`, args...)
	if err != nil {
		return nil, fmt.Errorf("list unfinished runs: %w", err)
	}
	return runs, nil
}

func (s *Store) runs(ctx context.Context, query string, args ...any) ([]store.Run, error) {
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	var runs []store.Run
	for rows.Next() {
		var hash string
		r, err := scanRun(rows, &hash)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, rows.Err()
}
