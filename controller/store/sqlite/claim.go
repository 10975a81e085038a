package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/tlsroll/tlsroll/controller/store"
)

var _ store.Store = (*Store)(nil)

// Claim takes every key or none. Its times are wall time in whole milliseconds.
func (s *Store) Claim(ctx context.Context, keys []string, holder string, ttl time.Duration) (store.Claim, error) {
	c := store.Claim{Keys: keys, Holder: holder}
	err := s.tx(ctx, func(tx *sql.Tx) error {
		now := time.Now()
		for _, key := range keys {
			last, err := s.free(ctx, tx, key, holder, now)
			if err != nil {
				return err
			}
			c.Epoch = max(c.Epoch, last.Epoch+1)
			c.Lapsed = c.Lapsed || last.Epoch > 0 && !released(last)
		}
		for _, key := range keys {
			_, err := tx.ExecContext(ctx, `INSERT INTO claim (key, holder, epoch, since, until) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, epoch = excluded.epoch, since = excluded.since, until = excluded.until`,
				key, holder, c.Epoch, now.UnixMilli(), now.Add(ttl).UnixMilli())
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return store.Claim{}, fmt.Errorf("claim %v: %w", keys, err)
	}
	return c, nil
}

// free returns who had the key last, or a HeldError.
func (s *Store) free(ctx context.Context, tx *sql.Tx, key, holder string, now time.Time) (store.Held, error) {
	h := store.Held{Key: key}
	var since, until int64
	err := tx.QueryRowContext(ctx, `SELECT holder, epoch, since, until FROM claim WHERE key = ?`, key).Scan(&h.Holder, &h.Epoch, &since, &until)
	if errors.Is(err, sql.ErrNoRows) {
		return h, nil
	}
	h.Since, h.Until = time.UnixMilli(since), time.UnixMilli(until)
	if err == nil && h.Holder != holder && until > now.UnixMilli() {
		return h, &store.HeldError{Held: h}
	}
	return h, err
}

// A released claim's time is 0, that of one whose holder was evicted is 1: both are long past.
const (
	atRelease  = 0
	atEviction = 1
)

func released(h store.Held) bool { return h.Until.UnixMilli() == atRelease }

// Renew extends a claim that still stands.
func (s *Store) Renew(ctx context.Context, c store.Claim, ttl time.Duration) error {
	err := s.tx(ctx, func(tx *sql.Tx) error {
		if err := stands(ctx, tx, c); err != nil {
			return err
		}
		for _, key := range c.Keys {
			if _, err := tx.ExecContext(ctx, `UPDATE claim SET until = ? WHERE key = ?`, time.Now().Add(ttl).UnixMilli(), key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("renew claim %v: %w", c.Keys, err)
	}
	return nil
}

// Release gives a claim up. The epoch stays, so that it never goes back.
func (s *Store) Release(ctx context.Context, c store.Claim) error {
	err := s.tx(ctx, func(tx *sql.Tx) error {
		for _, key := range c.Keys {
			if _, err := tx.ExecContext(ctx, `UPDATE claim SET until = ? WHERE key = ? AND holder = ? AND epoch = ?`, atRelease, key, c.Holder, c.Epoch); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("release claim %v: %w", c.Keys, err)
	}
	return nil
}

// stands reports ErrFenced unless every key is still the claim's. A claim whose time ran out stands as long as nobody took it: the
// transaction sees to it that nobody can meanwhile.
func stands(ctx context.Context, tx *sql.Tx, c store.Claim) error {
	for _, key := range c.Keys {
		var holder string
		var epoch, until int64
		err := tx.QueryRowContext(ctx, `SELECT holder, epoch, until FROM claim WHERE key = ?`, key).Scan(&holder, &epoch, &until)
		if errors.Is(err, sql.ErrNoRows) || err == nil && (holder != c.Holder || epoch != c.Epoch || until <= atEviction) {
			return store.ErrFenced
		}
		if err != nil {
			return err
		}
	}
	if len(c.Keys) == 0 {
		return store.ErrFenced
	}
	return nil
}

// tx runs f in one immediate transaction. When the disk is full the reserve is given up, and f is run again. After a failed read or write of
// the disk nothing is written any more: what a failed sync has dropped, the next one would report as safe.
func (s *Store) tx(ctx context.Context, f func(*sql.Tx) error) error {
	if s.broken.Load() {
		return store.ErrBroken
	}
	err := s.try(ctx, f)
	if errors.Is(err, sqlite3.FULL) && s.reserve.give() {
		err = s.try(ctx, f)
	}
	if errors.Is(err, sqlite3.IOERR) {
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

// Claims returns what is held now, sorted by key.
func (s *Store) Claims(ctx context.Context) ([]store.Held, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT key, holder, epoch, since, until FROM claim WHERE until > ? ORDER BY key`, time.Now().UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	var all []store.Held
	for rows.Next() {
		var h store.Held
		var since, until int64
		if err := rows.Scan(&h.Key, &h.Holder, &h.Epoch, &since, &until); err != nil {
			return nil, fmt.Errorf("list claims: %w", err)
		}
		h.Since, h.Until = time.UnixMilli(since), time.UnixMilli(until)
		all = append(all, h)
	}
	return all, rows.Err()
}

// RenewAll renews many claims in one transaction. What it returns for each is nil or ErrFenced.
func (s *Store) RenewAll(ctx context.Context, claims []store.Claim, ttl time.Duration) ([]error, error) {
	each := make([]error, len(claims))
	err := s.tx(ctx, func(tx *sql.Tx) error {
		until := time.Now().Add(ttl).UnixMilli()
		for i, c := range claims {
			each[i] = nil
			for _, key := range c.Keys {
				res, err := tx.ExecContext(ctx, `UPDATE claim SET until = ? WHERE key = ? AND holder = ? AND epoch = ? AND until > ?`, until, key, c.Holder, c.Epoch, atEviction)
				if err != nil {
					return err
				}
				if n, err := res.RowsAffected(); err != nil || n == 0 {
					each[i] = store.ErrFenced
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("renew %d claims: %w", len(claims), err)
	}
	return each, nil
}

// Evict ends the claim on a key whose process is known to be gone: whoever has the file's lock knows that of everybody else.
func (s *Store) Evict(ctx context.Context, key string) error {
	err := s.tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE claim SET until = ? WHERE key = ?`, atEviction, key)
		return err
	})
	if err != nil {
		return fmt.Errorf("evict claim %s: %w", key, err)
	}
	return nil
}
