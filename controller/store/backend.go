package store

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
)

// What every back end does alike.

// CheckTerms refuses a claim that could never stand: without a key, or for less than the back end's least time.
func CheckTerms(keys []string, ttl, least time.Duration) error {
	if len(keys) == 0 {
		return errors.New("a claim needs a key")
	}
	if ttl < least {
		return fmt.Errorf("a claim for %s is too short; %s is the least", ttl, least)
	}
	return nil
}

// Begin is the run that a first record begins under a claim. It fails with ErrOrder when the record is no Started.
func Begin(c Claim, id rollout.RunID, rec rollout.Record) (Run, error) {
	start, ok := rec.Event.(rollout.Started)
	if !ok {
		return Run{}, fmt.Errorf("%w: a run begins with started, not %s", ErrOrder, rollout.Kind(rec.Event))
	}
	r := Run{ID: id, Keys: c.Keys, Started: rec.At.UTC()}
	r.Domain, r.Name = start.Names()
	return r, nil
}

// CheckEnd refuses a phase that is no end of a run.
func CheckEnd(end rollout.Phase) error {
	if !end.Terminal() || End(end.String()) != end {
		return fmt.Errorf("%s is no end of a run", end)
	}
	return nil
}

// Rows are the stored form of a record's minutes, deflated, and their digest; nil and "" for a record without any. Rows that are not those
// of the record's digest are refused.
func Rows(rec rollout.Record) (digest string, packed []byte, err error) {
	m, ok := rec.Event.(rollout.MinutesArrived)
	if !ok {
		return "", nil, nil
	}
	data, digest, err := rollout.EncodeRows(m.Batch.Rows)
	if err != nil {
		return "", nil, err
	}
	if digest != m.Digest {
		return "", nil, fmt.Errorf("rows of source %s: digest %s, the record says %s", m.Batch.Source, digest, m.Digest)
	}
	packed, err = pack(data)
	return digest, packed, err
}

// packers are kept because one holds more than half a megabyte.
var packers = sync.Pool{New: func() any { //nolint:gochecknoglobals // a pool is one for all who pack
	z, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(fmt.Sprintf("store: compress at level %d: %v", flate.BestSpeed, err))
	}
	return z
}}

// pack deflates rows: most of their text repeats, and most of their minutes were there a minute before.
func pack(data []byte) ([]byte, error) {
	z, ok := packers.Get().(*flate.Writer)
	if !ok {
		panic("store: a packer is something else")
	}
	defer packers.Put(z)
	var b bytes.Buffer
	z.Reset(&b)
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

// mostRows bounds what rows may unpack to, in bytes: more than a month of minutes of thirty series.
const mostRows = 64 << 20

// UnpackRows undoes what Rows did. What is damaged comes as far as it can be read; its digest tells.
func UnpackRows(packed []byte) string {
	body, _ := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), mostRows)) // the digest tells
	return string(body)
}
