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
	"github.com/tlsroll/tlsroll/plans"
)

// Append makes a record durable, with the rows of its minutes, in one transaction.
func (s *Store) Append(ctx context.Context, c store.Claim, id rollout.RunID, rec rollout.Record) error {
	err := s.tx(ctx, func(tx *sql.Tx) error {
		if err := stands(ctx, tx, c); err != nil {
			return err
		}
		head, err := head(ctx, tx, id)
		if errors.Is(err, sql.ErrNoRows) {
			err = putRun(ctx, tx, c, id, rec)
		}
		if err != nil {
			return err
		}
		e, err := store.NewEntry(head.Hash, c.Epoch, rec)
		if err != nil {
			return err
		}
		if rec.Seq != head.Seq+1 {
			return repeated(ctx, tx, id, e, head.Seq)
		}
		return put(ctx, tx, id, e, rec)
	})
	if err != nil {
		return fmt.Errorf("append record %d of run %s: %w", rec.Seq, id, err)
	}
	return nil
}

func head(ctx context.Context, tx *sql.Tx, id rollout.RunID) (e store.Entry, err error) {
	err = tx.QueryRowContext(ctx, `SELECT seq, hash FROM run WHERE id = ?`, string(id)).Scan(&e.Seq, &e.Hash)
	return e, err
}

// repeated is nil when the last record is the one that is appended: its writer did not know.
func repeated(ctx context.Context, tx *sql.Tx, id rollout.RunID, e store.Entry, last uint64) error {
	var body string
	err := tx.QueryRowContext(ctx, `SELECT body FROM event WHERE run = ? AND seq = ?`, string(id), int64(e.Seq)).Scan(&body) //nolint:gosec // a run has no 2^63 records
	if err == nil && body == e.Body && e.Seq == last {
		return nil
	}
	return fmt.Errorf("%w: the last is %d", store.ErrOrder, last)
}

func put(ctx context.Context, tx *sql.Tx, id rollout.RunID, e store.Entry, rec rollout.Record) error {
	if m, ok := rec.Event.(rollout.MinutesArrived); ok {
		if err := putRows(ctx, tx, id, m); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO event (run, seq, epoch, body, prev, hash) VALUES (?, ?, ?, ?, ?, ?)`,
		string(id), int64(e.Seq), e.Epoch, e.Body, e.Prev, e.Hash) //nolint:gosec // as above
	if err == nil {
		_, err = tx.ExecContext(ctx, `UPDATE run SET seq = ?, hash = ? WHERE id = ?`, int64(e.Seq), e.Hash, string(id)) //nolint:gosec // as above
	}
	return err
}

func putRun(ctx context.Context, tx *sql.Tx, c store.Claim, id rollout.RunID, rec rollout.Record) error {
	start, ok := rec.Event.(rollout.Started)
	if !ok || rec.Seq != 1 {
		return fmt.Errorf("%w: a run begins with started, not with record %d, %s", store.ErrOrder, rec.Seq, rollout.Kind(rec.Event))
	}
	domain, name := "", ""
	if p, problems := plans.Parse("journal", []byte(start.Plan)); !problems.HasErrors() {
		domain, name = p.Domain, p.Name
	}
	keys, err := json.Marshal(c.Keys)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO run (id, domain, name, started, keys, seq, hash, ended) VALUES (?, ?, ?, ?, ?, 0, '', 0)`,
		string(id), domain, name, rec.At.UTC().Format(time.RFC3339Nano), string(keys))
	return err
}

func putRows(ctx context.Context, tx *sql.Tx, id rollout.RunID, m rollout.MinutesArrived) error {
	rows, digest, err := rollout.EncodeRows(m.Batch.Rows)
	if err != nil {
		return err
	}
	if digest != m.Digest {
		return fmt.Errorf("rows of source %s: digest %s, the record says %s", m.Batch.Source, digest, m.Digest)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO minutes (run, digest, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, string(id), digest, string(rows))
	return err
}

// Finish notes under a claim that a run has ended.
func (s *Store) Finish(ctx context.Context, c store.Claim, id rollout.RunID, end rollout.Phase) error {
	err := s.tx(ctx, func(tx *sql.Tx) error {
		if err := stands(ctx, tx, c); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE run SET ended = ? WHERE id = ?`, int(end), string(id))
		return err
	})
	if err != nil {
		return fmt.Errorf("finish run %s: %w", id, err)
	}
	return nil
}

// Remove deletes a run that has ended.
func (s *Store) Remove(ctx context.Context, id rollout.RunID) error {
	err := s.tx(ctx, func(tx *sql.Tx) error {
		var ended int
		err := tx.QueryRowContext(ctx, `SELECT ended FROM run WHERE id = ?`, string(id)).Scan(&ended)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return store.ErrNoRun
		case err == nil && ended == 0:
			return store.ErrUnfinished
		}
		for _, table := range []string{`DELETE FROM event WHERE run = ?`, `DELETE FROM minutes WHERE run = ?`, `DELETE FROM run WHERE id = ?`} {
			if err == nil {
				_, err = tx.ExecContext(ctx, table, string(id))
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	return nil
}

// Load returns a run's journal as it is kept.
func (s *Store) Load(ctx context.Context, id rollout.RunID) (store.Journal, error) {
	var j store.Journal
	runs, err := s.runs(ctx, string(id))
	if err == nil && len(runs) == 0 {
		err = store.ErrNoRun
	}
	if err == nil {
		j.Run = runs[0]
		err = s.db.QueryRowContext(ctx, `SELECT seq, hash FROM run WHERE id = ?`, string(id)).Scan(&j.Head.Seq, &j.Head.Hash)
	}
	if err == nil {
		j.Entries, err = s.entries(ctx, id)
	}
	if err == nil {
		j.Rows, err = s.keptRows(ctx, id)
	}
	if err != nil {
		return j, fmt.Errorf("read run %s: %w", id, err)
	}
	return j, nil
}

func (s *Store) entries(ctx context.Context, id rollout.RunID) ([]store.Entry, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT seq, epoch, body, prev, hash FROM event WHERE run = ? ORDER BY seq`, string(id))
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

func (s *Store) keptRows(ctx context.Context, id rollout.RunID) (map[string]string, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT digest, body FROM minutes WHERE run = ?`, string(id))
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	kept := map[string]string{}
	for rows.Next() {
		var digest, body string
		if err := rows.Scan(&digest, &body); err != nil {
			return nil, err
		}
		kept[digest] = body
	}
	return kept, rows.Err()
}

// List returns every run, newest first.
func (s *Store) List(ctx context.Context) ([]store.Run, error) {
	runs, err := s.runs(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return runs, nil
}

// runs are those with an id, or all.
func (s *Store) runs(ctx context.Context, id string) ([]store.Run, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT id, domain, name, started, keys, seq, ended FROM run WHERE ?1 IN ('', id) ORDER BY rowid DESC`, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	var runs []store.Run
	for rows.Next() {
		var r store.Run
		var started, keys string
		if err := rows.Scan(&r.ID, &r.Domain, &r.Name, &started, &keys, &r.Records, &r.Ended); err != nil {
			return nil, err
		}
		if r.Started, err = time.Parse(time.RFC3339Nano, started); err != nil {
			return nil, fmt.Errorf("start of %s: %w", r.ID, err)
		}
		if err := json.Unmarshal([]byte(keys), &r.Keys); err != nil {
			return nil, fmt.Errorf("keys of %s: %w", r.ID, err)
		}
		runs = append(runs, r)
	}
	return runs, rows.Err()
}
