package store

import (
	"errors"
	"fmt"
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

// Rows are the stored form of a record's minutes, and their digest; both are "" for a record without any. Rows that are not those of the
// record's digest are refused.
func Rows(rec rollout.Record) (digest, body string, err error) {
	m, ok := rec.Event.(rollout.MinutesArrived)
	if !ok {
		return "", "", nil
	}
	data, digest, err := rollout.EncodeRows(m.Batch.Rows)
	if err != nil {
		return "", "", err
	}
	if digest != m.Digest {
		return "", "", fmt.Errorf("rows of source %s: digest %s, the record says %s", m.Batch.Source, digest, m.Digest)
	}
	return digest, string(data), nil
}
