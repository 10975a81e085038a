// Package store is the contract for keeping journals and claims.
//
// Laws, checked for every back end by package storetest:
//
//   - A record that Append acknowledged is there after any crash, whole and in order.
//   - Append works only under a claim that still stands: an older epoch is refused in the same transaction.
//   - Records of a run are numbered from 1 without a gap; an Append that would leave one, or replace a record, is refused.
//   - Each record carries the hash of the one before it. Read verifies the chain and says where it breaks.
//   - The rows of minutes are kept beside the journal by digest, in the same transaction where the back end can.
//   - A claim covers all of its keys or none.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
)

// Claim is the right to act for some keys. An older claim for one of the same keys has a lower epoch.
type Claim struct {
	Keys   []string
	Holder string
	Epoch  int64
}

// Run is what List tells of a run.
type Run struct {
	ID      rollout.RunID
	Domain  string
	Name    string
	Started time.Time // the run's time
	Records uint64
}

// Store keeps journals and claims. All methods may be called by several goroutines. The caller owns what it is given.
type Store interface { //nolint:interfacebloat // claims and journal share transactions, so they are one contract
	// Claim takes every key for holder, for ttl from now. It fails with a *HeldError when somebody else holds one of them.
	// Taking one's own keys again gives a new epoch.
	Claim(ctx context.Context, keys []string, holder string, ttl time.Duration) (Claim, error)
	// Renew extends a claim that still stands; else it fails with ErrFenced.
	Renew(ctx context.Context, c Claim, ttl time.Duration) error
	// Release gives a claim up. A claim that was lost already is not an error.
	Release(ctx context.Context, c Claim) error
	// Append makes a record durable under a claim. The first record of a run is a Started. It fails with ErrFenced when the claim
	// no longer stands, and with ErrOrder when the record's number does not follow the run's last.
	Append(ctx context.Context, c Claim, id rollout.RunID, rec rollout.Record) error
	// Read returns a run's records in order, rows included. It fails with a *CorruptError when they are not what was written.
	Read(ctx context.Context, id rollout.RunID) ([]rollout.Record, error)
	// List returns every run, newest first.
	List(ctx context.Context) ([]Run, error)
}

// ErrFenced means that the claim no longer stands: somebody else acts now.
var ErrFenced = errors.New("the claim is no longer held: another controller has taken over")

// ErrOrder means that a record's number is not the next one.
var ErrOrder = errors.New("the record does not follow the last one")

// ErrNoRun means that there is no such run.
var ErrNoRun = errors.New("no such run")

// HeldError says who holds a key.
type HeldError struct {
	Key    string
	Holder string
	Since  time.Time
	Until  time.Time
}

// Error says who holds what since when.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is held by %s since %s, until %s at the latest", e.Key, e.Holder, e.Since.Format(time.RFC3339), e.Until.Format(time.RFC3339))
}

// CorruptError says where a journal is not what was written.
type CorruptError struct {
	Run rollout.RunID
	Seq uint64
	Why string
}

// Error says which record is damaged and how.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("journal of run %s is damaged at record %d: %s; nothing is done with it", e.Run, e.Seq, e.Why)
}
