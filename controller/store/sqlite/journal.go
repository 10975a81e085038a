package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
)

// Append makes a record durable, with the rows of its minutes and the run's new head, in one transaction.
func (s *Store) Append(ctx context.Context, c store.Claim, id rollout.RunID, rec rollout.Record) error {
	err := s.append(ctx, c, id, rec)
	if err != nil {
		return fmt.Errorf("append record %d of run %s: %w", rec.Seq, id, err)
	}
	return nil
}

func (s *Store) append(ctx context.Context, c store.Claim, id rollout.RunID, rec rollout.Record) error {
	e, err := store.NewEntry("", c.Epoch, rec)
	if err != nil {
		return err
	}
	digest, rows, err := store.Rows(rec)
	if err != nil {
		return err
	}
	return s.tx(ctx, func(tx *sql.Tx) error {
		if err := stands(ctx, tx, c); err != nil {
			return err
		}
		head, err := headOf(ctx, tx, id)
		if err != nil {
			return err
		}
		if e.Seq != head.Seq+1 {
			return again(ctx, tx, id, e, head)
		}
		if e.Seq == 1 {
			r, err := store.Begin(c, id, rec)
			if err == nil {
				err = putRun(ctx, tx, r)
			}
			if err != nil {
				return err
			}
		}
		return put(ctx, tx, id, e.After(head.Hash), digest, rows)
	})
}

// headOf returns the number and hash of a run's last record; 0 and "" when there is no such run.
func headOf(ctx context.Context, tx *sql.Tx, id rollout.RunID) (store.Entry, error) {
	var head store.Entry
	err := tx.QueryRowContext(ctx, `SELECT seq, hash FROM run WHERE id = ?`, string(id)).Scan(&head.Seq, &head.Hash)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Entry{}, nil
	}
	return head, err
}

// again accepts a record that is there already: whoever lost the answer to its first Append may not know that.
func again(ctx context.Context, tx *sql.Tx, id rollout.RunID, e, head store.Entry) error {
	var body string
	err := tx.QueryRowContext(ctx, `SELECT body FROM event WHERE run = ? AND seq = ?`, string(id), int64(e.Seq)).Scan(&body) //nolint:gosec // a run has no 2^63 records
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && body != e.Body:
		return fmt.Errorf("%w: the last is %d", store.ErrOrder, head.Seq)
	case err != nil:
		return err
	}
	return nil
}

func putRun(ctx context.Context, tx *sql.Tx, r store.Run) error {
	keys, err := json.Marshal(r.Keys)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO run (id, domain, name, keys, started, seq, hash) VALUES (?, ?, ?, ?, ?, 0, '')`,
		string(r.ID), r.Domain, r.Name, string(keys), r.Started.Format(time.RFC3339Nano))
	return err
}

func put(ctx context.Context, tx *sql.Tx, id rollout.RunID, e store.Entry, digest, rows string) error {
	if digest != "" {
		_, err := tx.ExecContext(ctx, `INSERT INTO minutes (run, digest, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, string(id), digest, rows)
		if err != nil {
			return err
		}
	}
	seq := int64(e.Seq) //nolint:gosec // a run has no 2^63 records
	_, err := tx.ExecContext(ctx, `INSERT INTO event (run, seq, epoch, body, prev, hash) VALUES (?, ?, ?, ?, ?, ?)`,
		string(id), seq, e.Epoch, e.Body, e.Prev, e.Hash)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE run SET seq = ?, hash = ? WHERE id = ?`, seq, e.Hash, string(id))
	return err
}

// Finish notes under a claim that a run has ended.
func (s *Store) Finish(ctx context.Context, c store.Claim, id rollout.RunID, end rollout.Phase) error {
	err := s.tx(ctx, func(tx *sql.Tx) error {
		if err := store.CheckEnd(end); err != nil {
			return err
		}
		if err := stands(ctx, tx, c); err != nil {
			return err
		}
		return one(tx.ExecContext(ctx, `UPDATE run SET ended = ? WHERE id = ?`, end.String(), string(id)))
	})
	if err != nil {
		return fmt.Errorf("finish run %s: %w", id, err)
	}
	return nil
}

// Remove deletes a run that has ended; its records and rows go with it.
func (s *Store) Remove(ctx context.Context, id rollout.RunID) error {
	err := s.tx(ctx, func(tx *sql.Tx) error {
		var ended bool
		err := tx.QueryRowContext(ctx, `SELECT ended <> '' FROM run WHERE id = ?`, string(id)).Scan(&ended)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return store.ErrNoRun
		case err != nil:
			return err
		case !ended:
			return store.ErrUnfinished
		}
		return one(tx.ExecContext(ctx, `DELETE FROM run WHERE id = ?`, string(id)))
	})
	if err != nil {
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	return nil
}

// one reports ErrNoRun when a statement changed no run.
func one(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return store.ErrNoRun
	}
	return err
}

// tx runs f in one immediate transaction. When the disk is full the reserve is given up, and f is run again. After a failed read or write of
// the disk nothing is written any more: what a failed sync has dropped, the next one would report as safe.
func (s *Store) tx(ctx context.Context, f func(*sql.Tx) error) error {
	switch {
	case s.db == nil:
		return errors.New("the store is open for reading only")
	case s.broken.Load():
		return store.ErrBroken
	}
	err := s.try(ctx, f)
	if noRoom(err) && s.reserve.give() {
		err = s.try(ctx, f)
	}
	if errors.Is(err, sqlite3.IOERR) && !noRoom(err) {
		s.broken.Store(true)
		return errors.Join(store.ErrBroken, err)
	}
	return err
}

func (s *Store) try(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
