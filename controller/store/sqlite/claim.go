package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tlsroll/tlsroll/controller/store"
)

// Claim takes every key or none. Its times are wall time in whole milliseconds.
func (s *Store) Claim(ctx context.Context, keys []string, holder string, ttl time.Duration) (store.Claim, error) {
	c := store.Claim{Keys: slices.Clone(keys), Holder: holder}
	err := s.tx(ctx, func(tx txn) error {
		now := time.Now()
		if err := store.CheckTerms(keys, ttl, leastTTL); err != nil {
			return err
		}
		for _, key := range keys {
			last, lapsed, err := free(ctx, tx, key, holder, now)
			if err != nil {
				return err
			}
			c.Epoch, c.Lapsed = max(c.Epoch, last+1), c.Lapsed || lapsed
		}
		for _, key := range keys {
			_, err := tx.ExecContext(ctx, `INSERT INTO claim (key, holder, epoch, since, until, released) VALUES (?, ?, ?, ?, ?, 0)
				ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, epoch = excluded.epoch, since = excluded.since, until = excluded.until, released = 0`,
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

// leastTTL is the unit of a claim's times.
const leastTTL = time.Millisecond

// free returns the key's last epoch and whether its last claim was not released, or a HeldError.
func free(ctx context.Context, tx txn, key, holder string, now time.Time) (last int64, lapsed bool, err error) {
	var who string
	var since, until int64
	var released bool
	err = tx.QueryRowContext(ctx, `SELECT holder, epoch, since, until, released FROM claim WHERE key = ?`, key).Scan(&who, &last, &since, &until, &released)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	case who != holder && until > now.UnixMilli():
		return 0, false, &store.HeldError{Held: store.Held{Key: key, Holder: who, Epoch: last, Since: time.UnixMilli(since), Until: time.UnixMilli(until)}}
	}
	return last, !released, nil
}

// Renew extends a claim that still stands.
func (s *Store) Renew(ctx context.Context, c store.Claim, ttl time.Duration) error {
	err := s.tx(ctx, func(tx txn) error {
		if err := stands(ctx, tx, c); err != nil {
			return err
		}
		if err := store.CheckTerms(c.Keys, ttl, leastTTL); err != nil {
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
	err := s.tx(ctx, func(tx txn) error {
		for _, key := range c.Keys {
			_, err := tx.ExecContext(ctx, `UPDATE claim SET until = 0, released = 1 WHERE key = ? AND holder = ? AND epoch = ? AND until > 0`, key, c.Holder, c.Epoch)
			if err != nil {
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

// RenewAll is Renew for many claims in one transaction. What it returns for each is nil or ErrFenced.
func (s *Store) RenewAll(ctx context.Context, claims []store.Claim, ttl time.Duration) ([]error, error) {
	each := make([]error, len(claims))
	err := s.tx(ctx, func(tx txn) error {
		until := time.Now().Add(ttl).UnixMilli()
		for i, c := range claims {
			each[i] = nil
			for _, key := range c.Keys {
				res, err := tx.ExecContext(ctx, updateUntil, until, key, c.Holder, c.Epoch)
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

// Evict ends the claim on a key whose process is known to be gone: whoever has the file's lock knows that of everybody else. What that
// process had begun may still be on its way, so a claim taken after it is Lapsed.
func (s *Store) Evict(ctx context.Context, key string) error {
	err := s.tx(ctx, func(tx txn) error {
		_, err := tx.ExecContext(ctx, `UPDATE claim SET until = 0 WHERE key = ?`, key)
		return err
	})
	if err != nil {
		return fmt.Errorf("evict claim %s: %w", key, err)
	}
	return nil
}

// Claims returns what is held now, sorted by key.
func (s *Store) Claims(ctx context.Context) ([]store.Held, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT key, holder, epoch, since, until FROM claim WHERE until > ? ORDER BY key`, time.Now().UnixMilli())
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
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	return all, nil
}

// stands reports ErrFenced unless every key is still the claim's. A claim whose time ran out stands as long as nobody took it: the
// transaction sees to it that nobody can meanwhile.
func stands(ctx context.Context, tx txn, c store.Claim) error {
	if len(c.Keys) == 0 {
		return store.ErrFenced
	}
	for keys := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(c.Keys))), 2) { // a run has two
		var standing int
		if err := tx.QueryRowContext(ctx, countStanding, keys[0], keys[len(keys)-1], c.Holder, c.Epoch).Scan(&standing); err != nil {
			return err
		}
		if standing != len(keys) {
			return store.ErrFenced
		}
	}
	return nil
}
