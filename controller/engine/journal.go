package engine

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
)

// journalPause is the longest between two tries to append a record.
const journalPause = 5 * time.Second

// journal appends to a store under a claim.
type journal struct {
	store store.Store
	claim store.Claim
	run   rollout.RunID
	tell  func(rollout.Urgency, string)
	full  bool                // told already
	hold  func(reason string) // asks the run to hold
}

// filler is a store whose disk may have been full: what it takes since then lives on a reserve.
type filler interface{ Full() bool }

// lookAtTheDisk holds the run and pages, once, when the disk has become full: there is room for a way back, and not for a night.
func (j *journal) lookAtTheDisk(err error) {
	if f, ok := j.store.(filler); !ok || err != nil || j.full || !f.Full() {
		return
	}
	j.full = true
	const text = "the disk of the journal is full, and what is written lives on its reserve"
	j.tell(rollout.Page, text+": make room, then resume the run")
	j.hold(text)
}

// Append implements Journal. It repeats what a full disk, a busy file or a store that is away refuses, for as long as it takes: a run that
// ends for it would be watched by nobody. The store knows a record that is appended twice.
func (j *journal) Append(ctx context.Context, rec rollout.Record) error {
	pause := backoff.NewExponentialBackOff()
	for told := false; ; told = true {
		err := j.store.Append(ctx, j.claim, j.run, rec)
		j.lookAtTheDisk(err)
		if err == nil || errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrOrder) || errors.Is(err, store.ErrBroken) || ctx.Err() != nil {
			return err
		}
		if !told {
			j.tell(rollout.Page, "The journal cannot be written, so nothing can be done: "+err.Error()+". It is tried again until it can.")
		}
		if err := sleep(ctx, min(pause.NextBackOff(), journalPause)); err != nil {
			return err
		}
	}
}
