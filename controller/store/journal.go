package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/tlsroll/tlsroll/controller/rollout"
)

// Entry is one record as it is kept.
type Entry struct {
	Seq   uint64 `json:"seq"`
	Epoch int64  `json:"epoch"` // of the claim it was appended under
	Body  string `json:"body"`  // the record's journal form
	Prev  string `json:"prev"`  // hash of the record before; "" for the first
	Hash  string `json:"hash"`
}

// Journal is a run as it is kept: every record, and the rows of its minutes by digest.
type Journal struct {
	Run     Run
	Head    Entry // the last record's Seq and Hash as the run itself says; its other fields are empty
	Entries []Entry
	Rows    map[string]string
}

// NewEntry links a record to the one before it.
func NewEntry(prev string, epoch int64, rec rollout.Record) (Entry, error) {
	body, err := rollout.Encode(rec)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Seq: rec.Seq, Epoch: epoch, Body: string(body)}.After(prev), nil
}

// After returns the entry linked to the one whose hash is prev: what an entry says can be made before it is known what it follows.
func (e Entry) After(prev string) Entry {
	e.Prev, e.Hash = prev, link(prev, e.Body)
	return e
}

func link(prev, body string) string {
	h := sha256.New()
	h.Write([]byte(prev))
	h.Write([]byte{'\n'})
	h.Write([]byte(body))
	return hex.EncodeToString(h.Sum(nil))
}

// Read returns a run's records in order, rows included. It fails with a *CorruptError when they are not what was written.
func Read(ctx context.Context, s Store, id rollout.RunID) ([]rollout.Record, error) {
	j, err := s.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	records, missing, err := j.Records()
	if err == nil && len(missing) > 0 {
		return nil, &CorruptError{Run: id, Seq: missing[0], Why: "its rows are gone: no minutes are kept under the record's digest"}
	}
	return records, err
}

// Records verifies numbers, chain, head and digests, and returns the records with their rows. It fails with a *CorruptError. missing
// lists the records whose rows are not in the journal, as those that another controller fetched; they come without rows.
func (j Journal) Records() (records []rollout.Record, missing []uint64, err error) {
	hash := ""
	for i, e := range j.Entries {
		rec, err := rollout.Decode([]byte(e.Body))
		seq := uint64(i) + 1
		switch {
		case e.Seq != seq:
			return nil, nil, j.corrupt(seq, "a record is missing or misplaced")
		case e.Prev != hash || e.Hash != link(e.Prev, e.Body):
			return nil, nil, j.corrupt(seq, "the hash chain is broken")
		case err != nil:
			return nil, nil, j.corrupt(seq, err.Error())
		case rec.Seq != seq:
			return nil, nil, j.corrupt(seq, "a record is missing or misplaced")
		}
		hash = e.Hash
		rec, there, err := j.withRows(rec)
		if err != nil {
			return nil, nil, j.corrupt(seq, err.Error())
		}
		if !there {
			missing = append(missing, seq)
		}
		records = append(records, rec)
	}
	switch n := uint64(len(records)); {
	case n == 0:
		return nil, nil, j.corrupt(1, "its records are gone: a run has one at least")
	case j.Head.Seq != n:
		return nil, nil, j.corrupt(min(n, j.Head.Seq)+1, "the end is not the one that was written: a record is missing or was added")
	case j.Head.Hash != hash:
		return nil, nil, j.corrupt(max(n, 1), "the end is not the one that was written: another record stands in its place")
	}
	return records, missing, nil
}

func (j Journal) withRows(rec rollout.Record) (rollout.Record, bool, error) {
	m, ok := rec.Event.(rollout.MinutesArrived)
	if !ok {
		return rec, true, nil
	}
	body, ok := j.Rows[m.Digest]
	if !ok {
		return rec, false, nil
	}
	var err error
	m.Batch.Rows, err = rollout.DecodeRows([]byte(body), m.Digest)
	rec.Event = m
	return rec, true, err
}

func (j Journal) corrupt(seq uint64, why string) error {
	return &CorruptError{Run: j.Run.ID, Seq: seq, Why: why}
}
