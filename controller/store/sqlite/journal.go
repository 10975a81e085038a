package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/plans"
)

// Append makes a record durable, with the rows of its minutes, in one transaction.
func (s *Store) Append(ctx context.Context, c store.Claim, id rollout.RunID, rec rollout.Record) error {
	body, err := rollout.Encode(rec)
	if err != nil {
		return err
	}
	err = s.tx(ctx, func(tx *sql.Tx) error {
		if err := stands(ctx, tx, c); err != nil {
			return err
		}
		prev, err := s.last(ctx, tx, id, rec)
		if err != nil {
			return err
		}
		if m, ok := rec.Event.(rollout.MinutesArrived); ok {
			if err := putRows(ctx, tx, id, m); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO event (run, seq, epoch, body, prev, hash) VALUES (?, ?, ?, ?, ?, ?)`,
			string(id), int64(rec.Seq), c.Epoch, string(body), prev, link(prev, body)) //nolint:gosec // a run has no 2^63 records
		return err
	})
	if err != nil {
		return fmt.Errorf("append record %d of run %s: %w", rec.Seq, id, err)
	}
	return nil
}

// last returns the hash that the next record carries on, after making sure that rec is the next one.
func (s *Store) last(ctx context.Context, tx *sql.Tx, id rollout.RunID, rec rollout.Record) (string, error) {
	var seq uint64
	var hash string
	err := tx.QueryRowContext(ctx, `SELECT seq, hash FROM event WHERE run = ? ORDER BY seq DESC LIMIT 1`, string(id)).Scan(&seq, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		seq, hash, err = 0, "", putRun(ctx, tx, id, rec)
	}
	if err != nil {
		return "", err
	}
	if rec.Seq != seq+1 {
		return "", fmt.Errorf("%w: the last is %d", store.ErrOrder, seq)
	}
	return hash, nil
}

func putRun(ctx context.Context, tx *sql.Tx, id rollout.RunID, rec rollout.Record) error {
	start, ok := rec.Event.(rollout.Started)
	if !ok {
		return fmt.Errorf("%w: a run begins with started, not %s", store.ErrOrder, rollout.Kind(rec.Event))
	}
	domain, name := "", ""
	if p, problems := plans.Parse("journal", []byte(start.Plan)); !problems.HasErrors() {
		domain, name = p.Domain, p.Name
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO run (id, domain, name, started) VALUES (?, ?, ?, ?)`,
		string(id), domain, name, rec.At.UTC().Format(time.RFC3339Nano))
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

func link(prev string, body []byte) string {
	h := sha256.New()
	h.Write([]byte(prev))
	h.Write([]byte{'\n'})
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// Read returns a run's records with their rows, after checking numbers, chain and digests.
func (s *Store) Read(ctx context.Context, id rollout.RunID) ([]rollout.Record, error) {
	records, missing, err := s.ReadKept(ctx, id)
	if err == nil && len(missing) > 0 {
		return nil, &store.CorruptError{Run: id, Seq: missing[0], Why: "its rows are gone: no minutes are kept under the record's digest"}
	}
	return records, err
}

// ReadKept is Read for a journal whose rows may lie elsewhere in part, as those of a run that another controller began. missing lists the
// records whose rows are not kept here; they come without rows, so the run must not be replayed beyond the first of them.
func (s *Store) ReadKept(ctx context.Context, id rollout.RunID) (records []rollout.Record, missing []uint64, err error) {
	if records, err = s.readChain(ctx, id); err != nil {
		return nil, nil, err
	}
	missing, err = s.attachRows(ctx, id, records)
	return records, missing, err
}

// readChain reads the records without rows, and checks their numbers and the chain.
func (s *Store) readChain(ctx context.Context, id rollout.RunID) ([]rollout.Record, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT seq, body, prev, hash FROM event WHERE run = ? ORDER BY seq`, string(id))
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", id, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	var records []rollout.Record
	hash := ""
	for rows.Next() {
		var seq uint64
		var body, prev, sum string
		if err := rows.Scan(&seq, &body, &prev, &sum); err != nil {
			return nil, fmt.Errorf("read run %s: %w", id, err)
		}
		rec, err := rollout.Decode([]byte(body))
		switch {
		case err != nil:
			return nil, &store.CorruptError{Run: id, Seq: seq, Why: err.Error()}
		case rec.Seq != seq || seq != uint64(len(records))+1:
			return nil, &store.CorruptError{Run: id, Seq: seq, Why: "a record is missing or misplaced"}
		case prev != hash || sum != link(prev, []byte(body)):
			return nil, &store.CorruptError{Run: id, Seq: seq, Why: "the hash chain is broken"}
		}
		hash = sum
		records = append(records, rec)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read run %s: %w", id, err)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("read run %s: %w", id, store.ErrNoRun)
	}
	return records, nil
}

// attachRows puts the kept rows back into their records, and lists the records that have none.
func (s *Store) attachRows(ctx context.Context, id rollout.RunID, records []rollout.Record) (missing []uint64, err error) {
	kept, err := s.keptRows(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read minutes of run %s: %w", id, err)
	}
	for i := range records {
		m, ok := records[i].Event.(rollout.MinutesArrived)
		if !ok {
			continue
		}
		body, ok := kept[m.Digest]
		if !ok {
			missing = append(missing, records[i].Seq)
			continue
		}
		m.Batch.Rows, err = rollout.DecodeRows([]byte(body), m.Digest)
		if err != nil {
			return nil, &store.CorruptError{Run: id, Seq: records[i].Seq, Why: err.Error()}
		}
		records[i].Event = m
	}
	return missing, nil
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
	rows, err := s.db.QueryContext(ctx, `SELECT id, domain, name, started, (SELECT max(seq) FROM event WHERE run = id) FROM run ORDER BY rowid DESC`)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	var runs []store.Run
	for rows.Next() {
		var r store.Run
		var started string
		if err := rows.Scan(&r.ID, &r.Domain, &r.Name, &started, &r.Records); err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		if r.Started, err = time.Parse(time.RFC3339Nano, started); err != nil {
			return nil, fmt.Errorf("list runs: start of %s: %w", r.ID, err)
		}
		runs = append(runs, r)
	}
	return runs, rows.Err()
}
