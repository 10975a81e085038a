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

// Append makes a record durable, with the rows of its minutes and the run's new head, in one transaction, which records of others may share.
func (s *Store) Append(ctx context.Context, c store.Claim, id rollout.RunID, rec rollout.Record) error {
	a, err := newAddition(c, id, rec)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = s.commit(ctx, a)
	}
	if err != nil {
		return fmt.Errorf("append record %d of run %s: %w", rec.Seq, id, err)
	}
	return nil
}

// addition is a record to be appended, as far as it can be made before it is known what it follows, and what came of it.
type addition struct {
	claim store.Claim
	run   rollout.RunID
	rec   rollout.Record
	entry store.Entry

	digest string // of its minutes, "" when it has none
	rows   []byte // deflated

	lead  chan struct{} // closed when it has to lead a group
	leads bool          // guarded by the queue
	done  chan struct{} // closed when err is known
	err   error
}

func newAddition(c store.Claim, id rollout.RunID, rec rollout.Record) (*addition, error) {
	e, err := store.NewEntry("", c.Epoch, rec)
	if err != nil {
		return nil, err
	}
	digest, rows, err := store.Rows(rec)
	if err != nil {
		return nil, err
	}
	return &addition{
		claim: c, run: id, rec: rec, entry: e, digest: digest, rows: rows, lead: make(chan struct{}), done: make(chan struct{}),
	}, nil
}

// put appends within a transaction. refused is the record's own answer: nothing was written. err fails the transaction.
func (a *addition) put(ctx context.Context, tx txn) (refused, err error) {
	if err := stands(ctx, tx, a.claim); err != nil {
		return verdict(err)
	}
	head, err := headOf(ctx, tx, a.run)
	switch {
	case err != nil:
		return nil, err
	case a.entry.Seq != head.Seq+1:
		return verdict(again(ctx, tx, a.run, a.entry, head))
	case a.entry.Seq == 1:
		begun, err := store.Begin(a.claim, a.run, a.rec)
		if err == nil {
			err = putRun(ctx, tx, begun)
		}
		if err != nil {
			return verdict(err)
		}
	}
	return nil, a.putAs(ctx, tx, a.entry.After(head.Hash))
}

// verdict tells the answers of the contract, which one record gets, from what fails a transaction.
func verdict(err error) (refused, failed error) {
	if errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrOrder) {
		return err, nil
	}
	return nil, err
}

// headOf returns the number and hash of a run's last record; 0 and "" when there is no such run.
func headOf(ctx context.Context, tx txn, id rollout.RunID) (store.Entry, error) {
	var head store.Entry
	err := tx.QueryRowContext(ctx, selectHead, string(id)).Scan(&head.Seq, &head.Hash)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Entry{}, nil
	}
	return head, err
}

// again accepts a record that is there already: whoever lost the answer to its first Append may not know that.
func again(ctx context.Context, tx txn, id rollout.RunID, e, head store.Entry) error {
	var body string
	err := tx.QueryRowContext(ctx, selectRecord, string(id), int64(e.Seq)).Scan(&body) //nolint:gosec // a run has no 2^63 records
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && body != e.Body:
		return fmt.Errorf("%w: the last is %d", store.ErrOrder, head.Seq)
	case err != nil:
		return err
	}
	return nil
}

func putRun(ctx context.Context, tx txn, r store.Run) error {
	keys, err := json.Marshal(r.Keys)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO run (id, domain, name, keys, started, seq, hash) VALUES (?, ?, ?, ?, ?, 0, '')`,
		string(r.ID), r.Domain, r.Name, string(keys), r.Started.Format(time.RFC3339Nano))
	return err
}

// putAs writes the record, chained to the one before, with its rows, and moves the head of the run.
func (a *addition) putAs(ctx context.Context, tx txn, e store.Entry) error {
	if a.digest != "" {
		_, err := tx.ExecContext(ctx, insertRows, string(a.run), a.digest, a.rows)
		if err != nil {
			return err
		}
	}
	seq := int64(e.Seq) //nolint:gosec // a run has no 2^63 records
	_, err := tx.ExecContext(ctx, insertEvent, string(a.run), seq, e.Epoch, e.Body, e.Prev, e.Hash)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, updateHead, seq, e.Hash, string(a.run))
	return err
}

// Finish notes under a claim that a run has ended.
func (s *Store) Finish(ctx context.Context, c store.Claim, id rollout.RunID, end rollout.Phase) error {
	err := s.tx(ctx, func(tx txn) error {
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
	err := s.tx(ctx, func(tx txn) error {
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
