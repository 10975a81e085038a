// Package store is the contract for keeping journals and claims.
//
// Laws, checked for every back end by package storetest:
//
//   - A record that Append acknowledged is there after any crash, whole and in order.
//   - Append works only under a claim that still stands: an older epoch is refused in the same transaction.
//   - Records of a run are numbered from 1 without a gap; an Append that would leave one, or replace a record, is refused.
//   - Each record carries the hash of the one before it, and the run carries the number and the hash of its last one. [Journal.Records]
//     verifies all of them and says where they break: a changed, removed, added or swapped record is found, at the end too.
//   - The rows of minutes are kept beside the journal by digest, in the same transaction where the back end can.
//   - A claim covers all of its keys or none. An epoch is never given twice for one key.
package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
)

// Claim is the right to act for some keys. An older claim for one of the same keys has a lower epoch.
type Claim struct {
	Keys   []string
	Holder string
	Epoch  int64
	// Lapsed says that somebody held one of the keys before and did not release it: he died, or sleeps, and a call of his may still be on
	// its way. He may have had this holder's name: who takes his own keys again without a Release is told so, too.
	Lapsed bool
}

// Held is a key that somebody holds.
type Held struct {
	Key    string
	Holder string
	Epoch  int64
	Since  time.Time // wall time
	Until  time.Time // unless it is renewed
}

// Run is what List tells of a run.
type Run struct {
	ID      rollout.RunID
	Domain  string
	Name    string
	Keys    []string  // of the claim under which it was begun
	Started time.Time // the run's time
	Records uint64
	Ended   rollout.Phase // as Finish was told; 0: nobody has said yet that it ended
}

// Shares reports whether the run was begun under a claim of one of the keys.
func (r Run) Shares(keys []string) bool {
	return slices.ContainsFunc(r.Keys, func(k string) bool { return slices.Contains(keys, k) })
}

// Store keeps journals and claims. All methods may be called by several goroutines. The caller owns what it is given.
type Store interface { //nolint:interfacebloat // claims and journal share transactions, so they are one contract
	// Claim takes every key for holder, for ttl from now. It fails with a *HeldError when somebody else holds one of them.
	// Taking one's own keys again gives a new epoch. A claim of no keys, and one for no time, is refused.
	Claim(ctx context.Context, keys []string, holder string, ttl time.Duration) (Claim, error)
	// Renew extends a claim that still stands; else it fails with ErrFenced.
	Renew(ctx context.Context, c Claim, ttl time.Duration) error
	// Release gives a claim up. A claim that was lost already is not an error.
	Release(ctx context.Context, c Claim) error
	// Claims returns what is held now, sorted by key.
	Claims(ctx context.Context) ([]Held, error)
	// Append makes a record durable under a claim. The first record of a run is a Started. It fails with ErrFenced when the claim
	// no longer stands, and with ErrOrder when the record's number does not follow the run's last. After any other error the record may
	// be there or not: appending it again fails with ErrOrder, or succeeds when it is the same record, byte for byte.
	Append(ctx context.Context, c Claim, id rollout.RunID, rec rollout.Record) error
	// Finish notes under a claim that a run has ended, so that nobody looks at it again to go on with it. end is a terminal phase. The
	// journal is the truth; this is an index of it. It fails with ErrNoRun when there is no such run.
	Finish(ctx context.Context, c Claim, id rollout.RunID, end rollout.Phase) error
	// Load returns a run's journal as it is kept, unverified; it fails with ErrNoRun when there is no such run. [Read] is what most
	// callers want.
	Load(ctx context.Context, id rollout.RunID) (Journal, error)
	// List returns every run, newest first.
	List(ctx context.Context) ([]Run, error)
	// Unfinished returns the runs that Finish was not told of, newest first: all of them, or those that share one of the keys.
	Unfinished(ctx context.Context, keys ...string) ([]Run, error)
	// Remove deletes a run that Finish was told of, records and rows; another one is refused with ErrUnfinished, and one that is not there
	// with ErrNoRun.
	Remove(ctx context.Context, id rollout.RunID) error
}

// End returns the terminal phase of a name: a back end keeps names, since a number means another phase as soon as one is added. It is 0 for
// a name that is no end of a run.
func End(name string) rollout.Phase {
	for p := rollout.Succeeded; p <= rollout.Missed; p++ {
		if p.String() == name {
			return p
		}
	}
	return 0
}

// ErrFenced means that the claim no longer stands: somebody else acts now.
var ErrFenced = errors.New("the claim is no longer held: another controller has taken over")

// ErrOrder means that a record's number is not the next one.
var ErrOrder = errors.New("the record does not follow the last one")

// ErrNoRun means that there is no such run.
var ErrNoRun = errors.New("no such run")

// ErrUnfinished means that a run has not ended, so its journal is needed.
var ErrUnfinished = errors.New("the run has not ended")

// ErrBroken means that what the store lies on has failed in a way that leaves open what is durable. Every later write is refused with it,
// until the store is opened again and says what is there.
var ErrBroken = errors.New("the store has failed and must be opened again")

// HeldError says who holds a key.
type HeldError struct{ Held }

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
