package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/ncruces/go-sqlite3"

	"github.com/tlsroll/tlsroll/controller/store"
)

// The statements of an Append are prepared once: parsing them took a third of its time.
const (
	countStanding = `SELECT count(*) FROM claim WHERE key IN (?, ?) AND holder = ? AND epoch = ? AND until > 0`
	selectHead    = `SELECT seq, hash FROM run WHERE id = ?`
	updateHead    = `UPDATE run SET seq = ?, hash = ? WHERE id = ?`
	insertEvent   = `INSERT INTO event (run, seq, epoch, body, prev, hash) VALUES (?, ?, ?, ?, ?, ?)`
	insertRows    = `INSERT INTO minutes (run, digest, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`
	updateUntil   = `UPDATE claim SET until = ? WHERE key = ? AND holder = ? AND epoch = ? AND until > 0`
	selectRecord  = `SELECT body FROM event WHERE run = ? AND seq = ?`
)

// prepared are statements by their text.
type prepared map[string]*sql.Stmt

func prepare(ctx context.Context, db *sql.DB) (prepared, error) {
	p := prepared{}
	for _, text := range []string{countStanding, selectHead, updateHead, insertEvent, insertRows, updateUntil, selectRecord} {
		stmt, err := db.PrepareContext(ctx, text)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p[text] = stmt
	}
	return p, nil
}

func (p prepared) close() error {
	var errs []error
	for _, stmt := range p {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

// txn is a transaction that knows the prepared statements.
type txn struct {
	*sql.Tx
	prepared prepared
}

// ExecContext is that of sql.Tx.
func (tx txn) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	if stmt := tx.prepared[text]; stmt != nil {
		return tx.StmtContext(ctx, stmt).ExecContext(ctx, args...)
	}
	return tx.Tx.ExecContext(ctx, text, args...)
}

// QueryRowContext is that of sql.Tx.
func (tx txn) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	if stmt := tx.prepared[text]; stmt != nil {
		return tx.StmtContext(ctx, stmt).QueryRowContext(ctx, args...)
	}
	return tx.Tx.QueryRowContext(ctx, text, args...)
}

// tx runs f in one immediate transaction. When the disk is full the reserve is given up, and f is run again. After a failed read or write of
// the disk nothing is written any more: what a failed sync has dropped, the next one would report as safe.
func (s *Store) tx(ctx context.Context, f func(txn) error) error {
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

func (s *Store) try(ctx context.Context, f func(txn) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(txn{tx, s.prepared}); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
