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
}

// Append implements Journal. It repeats what a full disk, a busy file or a store that is away refuses, for as long as it takes: a run that
// ends for it would be watched by nobody. The store knows a record that is appended twice.
func (j journal) Append(ctx context.Context, rec rollout.Record) error {
	pause := backoff.NewExponentialBackOff()
	for told := false; ; told = true {
		err := j.store.Append(ctx, j.claim, j.run, rec)
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
