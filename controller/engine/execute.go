package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// Executor carries out commands of one run. Do may be called by several goroutines.
type Executor struct {
	Run   rollout.RunID // part of the key of what is told and called
	Plan  *plans.Plan
	Ports Ports
}

// Do carries out a command and returns the event that answers it. Wake is not for it: whoever owns the clock answers that.
func (x *Executor) Do(ctx context.Context, c rollout.Command) rollout.Event {
	if a, ok := c.Action.(rollout.FetchMinutes); ok {
		return x.fetch(ctx, c.ID, a)
	}
	res, err := x.result(ctx, c)
	if err != nil {
		return rollout.CommandFailed{ID: c.ID, Kind: KindOf(err), Text: err.Error()}
	}
	return rollout.CommandSucceeded{ID: c.ID, Result: res}
}

func (x *Executor) result(ctx context.Context, c rollout.Command) (rollout.Result, error) {
	switch a := c.Action.(type) {
	case rollout.ReadState:
		s, err := x.readState(ctx)
		return rollout.StateRead{State: s}, err
	case rollout.SetShare:
		s, err := x.setShare(ctx, a)
		return rollout.ShareSet{DNS: s}, err
	case rollout.SetTLS:
		s, err := x.setTLS(ctx, a)
		return rollout.TLSSet{TLS: s}, err
	case rollout.Handshake:
		hs, err := x.Ports.Prober.Handshake(ctx, a.Leg)
		return rollout.HandshakesDone{Handshakes: hs}, err
	case rollout.Resolve:
		as, err := x.Ports.Resolver.Resolve(ctx, a.Names.Primary, a.Names.Backup, a.Queries)
		return rollout.Resolved{Answers: as}, err
	case rollout.Rehearse:
		return rollout.Done{}, x.rehearse(ctx, a)
	case rollout.Notify:
		return rollout.Done{}, x.Ports.Notifier.Notify(ctx, x.key(c.ID), a.Urgency, a.Text)
	case rollout.Call:
		return rollout.Done{}, x.Ports.Caller.Call(ctx, x.key(c.ID), a.URL, a.Expect)
	case rollout.FetchMinutes, rollout.Wake:
	}
	panic(fmt.Sprintf("engine: command %d, %#v, is not for the executor", c.ID, c.Action))
}

func (x *Executor) key(id rollout.CommandID) Key { return Key(fmt.Sprintf("%s/%d", x.Run, id)) }

// fetch answers with the minutes, or with the failure as an event of its own.
func (x *Executor) fetch(ctx context.Context, id rollout.CommandID, a rollout.FetchMinutes) rollout.Event {
	source, ok := x.Ports.Sources[a.Source]
	if !ok {
		return rollout.SourceFailed{ID: id, Source: a.Source, Kind: rollout.Invalid, Text: "the plan names no such source"}
	}
	rows, err := source.Fetch(ctx, a.From, a.To)
	if err != nil {
		return rollout.SourceFailed{ID: id, Source: a.Source, Kind: KindOf(err), Text: err.Error()}
	}
	b := guardrails.Batch{Source: a.Source, Settle: x.settle(a.Source), From: a.From, To: a.To, Rows: rows}.Resolved(x.Ports.Now())
	e := rollout.MinutesArrived{ID: id, Batch: b}
	if !x.Ports.KeepNothing {
		if _, e.Digest, err = rollout.EncodeRows(b.Rows); err != nil {
			return rollout.SourceFailed{ID: id, Source: a.Source, Kind: rollout.Invalid, Text: err.Error()}
		}
	}
	return e
}

func (x *Executor) settle(source string) time.Duration {
	for _, s := range x.Plan.Sources {
		if s.Name == source {
			return s.Settle
		}
	}
	return 0
}

// readState asks the three providers at the same time.
func (x *Executor) readState(ctx context.Context) (plans.State, error) {
	var s plans.State
	var errs [3]error
	var wg sync.WaitGroup
	wg.Go(func() { s.Primary, errs[0] = x.Ports.Primary.Read(ctx) })
	wg.Go(func() { s.Backup, errs[1] = x.Ports.Backup.Read(ctx) })
	wg.Go(func() { s.DNS, errs[2] = x.Ports.DNS.Read(ctx) })
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return plans.State{}, err
		}
	}
	return s, nil
}
