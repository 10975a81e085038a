package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"runtime"
	"sync"

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
	n := len(j.Entries)
	if n == 0 {
		return nil, nil, j.corrupt(1, "its records are gone: a run has one at least")
	}
	records = make([]rollout.Record, n)
	for _, part := range j.inParts(records) {
		if part.err != nil {
			return nil, nil, part.err
		}
		missing = append(missing, part.missing...)
	}
	switch last := j.Entries[n-1]; {
	case j.Head.Seq != last.Seq:
		return nil, nil, j.corrupt(min(last.Seq, j.Head.Seq)+1, "the end is not the one that was written: a record is missing or was added")
	case j.Head.Hash != last.Hash:
		return nil, nil, j.corrupt(last.Seq, "the end is not the one that was written: another record stands in its place")
	}
	return records, missing, nil
}

// part is what came of some of the records.
type part struct {
	missing []uint64
	err     error // that of the first that is damaged
}

// partSize is how many records are worth a goroutine: they take some 2 ms.
const partSize = 256

// inParts verifies and decodes the records, as many at once as there are processors: whether an entry is whole can be said from it and the
// one before it, so the parts need not wait for each other.
func (j Journal) inParts(records []rollout.Record) []part {
	n := min(runtime.GOMAXPROCS(0), len(records)/partSize+1)
	parts := make([]part, n)
	var wg sync.WaitGroup
	for i := range parts {
		from, to := i*len(records)/n, (i+1)*len(records)/n
		wg.Go(func() {
			for k := from; k < to && parts[i].err == nil; k++ {
				rec, there, err := j.record(k)
				records[k], parts[i].err = rec, err
				if err == nil && !there {
					parts[i].missing = append(parts[i].missing, rec.Seq)
				}
			}
		})
	}
	wg.Wait()
	return parts
}

// record verifies and decodes the entry at i, and reports whether its rows are there.
func (j Journal) record(i int) (rec rollout.Record, there bool, err error) {
	e, seq, before := j.Entries[i], uint64(i)+1, "" //nolint:gosec // an index is not negative
	if i > 0 {
		before = j.Entries[i-1].Hash
	}
	rec, err = rollout.Decode([]byte(e.Body))
	switch {
	case e.Seq != seq:
		return rec, false, j.corrupt(seq, "a record is missing or misplaced")
	case e.Prev != before || e.Hash != link(e.Prev, e.Body):
		return rec, false, j.corrupt(seq, "the hash chain is broken")
	case err != nil:
		return rec, false, j.corrupt(seq, err.Error())
	case rec.Seq != seq:
		return rec, false, j.corrupt(seq, "a record is missing or misplaced")
	}
	if rec, there, err = j.withRows(rec); err != nil {
		return rec, false, j.corrupt(seq, err.Error())
	}
	return rec, there, nil
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
