package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/schedule"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/sqlite"
	"github.com/tlsroll/tlsroll/plans"
)

// A claim outlives its process by claimTTL at most; reference measurements advise against less than 30 s.
const (
	claimTTL     = 30 * time.Second
	claimRenewal = 5 * time.Second
	journalPause = 5 * time.Second
	abortAfter   = time.Second // a second Ctrl-C counts from then on: wrappers send it twice
)

// local runs a plan in this process.
type local struct {
	io    stdio
	plan  *plans.Plan
	clock plans.Clock
	store string // path
	// watch is told of every turn.
	watch func(before, after rollout.Run, rec rollout.Record)
	tell  func(rollout.Urgency, string)
	talk  func(string) // about the process itself
	log   string       // file for the log; "" is none
	again bool         // start another run although the last one of this plan has ended
	// resume ends a hold that a person or drift began, when an unfinished run is gone on with.
	resume bool
	// order looks at every turn and may give an order, as a person would; nil never does.
	order func(rollout.Run) rollout.Event
}

// do starts or resumes the run, and returns it at its end.
func (l *local) do(ctx context.Context) (rollout.Run, error) {
	s, err := sqlite.Open(ctx, l.store)
	if err != nil {
		if _, locked := errors.AsType[*sqlite.LockedError](err); locked {
			return rollout.Run{}, &exitError{code: exitPrecondition, err: err}
		}
		return rollout.Run{}, err
	}
	defer s.Close() //nolint:errcheck // every record is durable already
	run, err := l.earlier(ctx, s)
	if err != nil || run.End != nil {
		return run, err
	}
	claim, err := l.claim(ctx, s)
	if err != nil {
		return rollout.Run{}, err
	}
	defer s.Release(context.WithoutCancel(ctx), claim) //nolint:errcheck // it runs out by itself
	return l.drive(ctx, s, claim, run)
}

// earlier returns the run to go on with, the last one of this plan when it has ended and had touched something, or a zero run: then
// another one is started.
func (l *local) earlier(ctx context.Context, s *sqlite.Store) (rollout.Run, error) {
	runs, err := s.List(ctx)
	if err != nil {
		return rollout.Run{}, err
	}
	for _, known := range runs {
		if known.Domain != l.plan.Domain {
			continue
		}
		records, err := s.Read(ctx, known.ID)
		if err != nil {
			return rollout.Run{}, err
		}
		run := rollout.Replay(records)
		switch {
		case run.End != nil && run.Touched && !l.again && run.Digest == plans.Digest(l.plan):
			l.talk(fmt.Sprintf("run %s of this plan has ended: %s, %s; --again starts another one", run.ID, run.End.Phase, run.End.Why))
			return run, nil
		case run.End != nil:
			continue
		case run.Digest != plans.Digest(l.plan):
			return rollout.Run{}, &exitError{
				code: exitPrecondition,
				err:  fmt.Errorf("run %s of another plan for %s is not finished: %s", run.ID, run.Plan.Domain, run.Live()),
				hint: "apply the plan it was started with to go on with it; tlsroll status " + string(run.ID) + " shows it",
			}
		}
		l.plan = run.Plan
		l.talk(fmt.Sprintf("resuming run %s after record %d, %s", run.ID, run.Seq, run.Phase()))
		return run, nil
	}
	return rollout.Run{}, nil
}

func (l *local) claim(ctx context.Context, s *sqlite.Store) (store.Claim, error) {
	host, _ := os.Hostname()
	var nonce [4]byte
	_, _ = rand.Read(nonce[:]) // never fails
	holder := fmt.Sprintf("pid %d on %s (%s)", os.Getpid(), host, hex.EncodeToString(nonce[:]))
	keys := []string{"domain:" + l.plan.Domain, "record:" + l.plan.DNS.Record + "." + l.plan.DNS.Zone}
	for {
		// The file's lock is ours, so whoever held a claim in it is gone, and what is left of the claim holds nobody up.
		c, err := s.Claim(ctx, keys, holder, claimTTL)
		held, ok := errors.AsType[*store.HeldError](err)
		if !ok {
			return c, err
		}
		if err := s.Evict(ctx, held.Key); err != nil {
			return c, err
		}
	}
}

// drive hands everything to the engine.
func (l *local) drive(parent context.Context, s *sqlite.Store, claim store.Claim, run rollout.Run) (rollout.Run, error) {
	c, err := connect(l.io, l.plan, l.clock, l.tell)
	if err != nil {
		return run, &exitError{code: exitInvalid, err: err}
	}
	log, err := openLog(l.log)
	if err != nil {
		return run, err
	}
	defer log.Sync() //nolint:errcheck // the journal is the record; the log is a help
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	live := engine.NewLive(l.clock, l.plan, c.ports, log)
	defer live.Wait()
	id, first, err := l.first(ctx, c, run)
	if err != nil {
		return run, err
	}
	live.Post(ctx, first)
	if l.resume && run.Plan != nil {
		live.Order(ctx, rollout.ResumeOrdered{Actor: actor(l.io), Reason: "apply --resume"})
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop(nil)
	wg.Go(func() { renew(ctx, s, claim, stop) })
	wg.Go(func() { l.signals(ctx, live, stop) })
	watch := func(before, after rollout.Run, rec rollout.Record) {
		l.watch(before, after, rec)
		if l.order == nil {
			return
		}
		if e := l.order(after); e != nil {
			live.Order(ctx, e)
		}
	}
	run, err = engine.Drive(ctx, engine.World{Inbox: live, Starter: live, Journal: journal{s, claim, id, l.tell}, Watch: watch}, run)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if _, chosen := errors.AsType[*exitError](err); err != nil && !chosen {
		err = &exitError{
			code: exitUnexpected, err: fmt.Errorf("%w; the run is not watched any more. Live now: %s", err, run.Live()),
			hint: "the same command goes on where the run was",
		}
	}
	return run, err
}

// first is the event that a run begins or goes on with, and the run's name.
func (l *local) first(ctx context.Context, c *connections, run rollout.Run) (rollout.RunID, rollout.Event, error) {
	if run.Plan != nil {
		return run.ID, rollout.Resumed{Actor: actor(l.io), Tool: view.Version()}, nil
	}
	if err := c.haveKeys(ctx); err != nil {
		return "", nil, &exitError{code: exitPrecondition, err: err, hint: "nothing was touched, and no run was begun"}
	}
	start, _, err := schedule.Start(l.plan, l.clock.At(time.Now()))
	if err != nil {
		return "", nil, &exitError{code: exitInvalid, err: err}
	}
	id := l.newID()
	return id, rollout.Started{
		Begin: start.UTC(), Run: id, Plan: string(plans.Encode(l.plan)), Digest: plans.Digest(l.plan), Actor: actor(l.io), Tool: view.Version(),
	}, nil
}

// renew keeps the claim until ctx ends, and ends ctx when the claim is lost.
func renew(ctx context.Context, s *sqlite.Store, claim store.Claim, stop context.CancelCauseFunc) {
	tick := time.NewTicker(claimRenewal)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			// Only the loss of the claim ends the run. A disk that is slow for a moment must not leave it unwatched.
			if err := s.Renew(ctx, claim, claimTTL); errors.Is(err, store.ErrFenced) {
				stop(err)
				return
			}
		}
	}
}

// signals: the first Ctrl-C holds, another one a second later aborts; SIGTERM ends the process and leaves the run as it is; a lost terminal
// changes nothing.
func (l *local) signals(ctx context.Context, live *engine.Live, stop context.CancelCauseFunc) {
	signal.Ignore(syscall.SIGPIPE) // whoever reads the output may go away; the run goes on
	got := make(chan os.Signal, 4)
	signal.Notify(got, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(got)
	var held time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case sig := <-got:
			switch {
			case sig == syscall.SIGHUP:
				l.talk("the terminal is gone; the run goes on")
			case sig == syscall.SIGTERM:
				l.talk("terminated: the run stays as it is, and nobody watches its guardrails until it is resumed with the same command")
				stop(&exitError{code: exitTerminated})
			case held.IsZero():
				held = time.Now()
				l.talk(fmt.Sprintf("asked to hold (a rollback goes on). To roll back, press Ctrl-C again; to go on, kill %d and start the same command with --resume", os.Getpid()))
				live.Post(ctx, rollout.PauseOrdered{Actor: actor(l.io), Reason: "Ctrl-C"})
			case time.Since(held) < abortAfter:
				l.talk("too soon after the first: press Ctrl-C once more to abort")
			default:
				l.talk("aborting: the run rolls back, if it does not already")
				live.Post(ctx, rollout.AbortOrdered{Actor: actor(l.io), Reason: "Ctrl-C"})
			}
		}
	}
}

func (l *local) newID() rollout.RunID {
	var nonce [3]byte
	_, _ = rand.Read(nonce[:]) // never fails
	at := l.clock.At(time.Now()).UTC().Format("20060102T150405Z")
	return rollout.RunID(l.plan.Name + "-" + at + "-" + hex.EncodeToString(nonce[:]))
}

// openLog returns a logger that appends JSON lines to a file, or one that says nothing.
func openLog(path string) (*zap.Logger, error) {
	if path == "" {
		return zap.NewNop(), nil
	}
	cfg := zap.NewProductionConfig()
	cfg.OutputPaths, cfg.ErrorOutputPaths = []string{path}, []string{path}
	cfg.Sampling = nil // a run has few commands, and the one that is missing is the one that is wanted
	cfg.EncoderConfig.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	log, err := cfg.Build()
	if err != nil {
		return nil, usage(fmt.Errorf("--log %s: %w", path, err))
	}
	return log, nil
}

func actor(io stdio) string {
	if u := io.getenv("USER"); u != "" {
		return u
	}
	return "uid " + strconv.Itoa(os.Getuid())
}

// journal appends to the store under the claim.
type journal struct {
	store *sqlite.Store
	claim store.Claim
	id    rollout.RunID
	tell  func(rollout.Urgency, string)
}

// Append implements engine.Journal. It repeats what a full disk or a busy file refuses, for as long as it takes: a run that ends for it would be watched by nobody.
func (j journal) Append(ctx context.Context, rec rollout.Record) error {
	pause := backoff.NewExponentialBackOff()
	for told := false; ; told = true {
		err := j.store.Append(ctx, j.claim, j.id, rec)
		if err == nil || errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrOrder) || ctx.Err() != nil {
			return err
		}
		if !told {
			j.tell(rollout.Page, "The journal cannot be written, so nothing can be done: "+err.Error()+". It is tried again until it can.")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(pause.NextBackOff(), journalPause)):
		}
	}
}

// storePath resolves --store: a path, or sqlite:PATH; the default is a file in the user's state directory.
func storePath(io stdio, flag string) (string, error) {
	if flag != "" {
		if kind, path, ok := strings.Cut(flag, ":"); ok && kind == "sqlite" {
			return strings.TrimPrefix(path, "//"), nil
		}
		if strings.Contains(flag, "://") {
			return "", usage(fmt.Errorf("store %q: this release keeps journals in a file: --store sqlite:PATH", flag))
		}
		return flag, nil
	}
	dir := io.getenv("XDG_STATE_HOME")
	if dir == "" {
		home := io.getenv("HOME")
		if home == "" {
			return "", usage(errors.New("neither XDG_STATE_HOME nor HOME is set: name the store with --store PATH"))
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "tlsroll", "journal.db"), nil
}

// ended turns the end of a run into the program's exit.
func ended(run rollout.Run) error {
	if run.End == nil {
		return &exitError{code: exitUnexpected, err: errors.New("the run did not end")}
	}
	switch run.End.Phase {
	case rollout.Succeeded:
		return nil
	case rollout.RolledBack:
		return &exitError{code: exitRolledBack}
	case rollout.RolledBackUnverified:
		return &exitError{code: exitUnverified}
	case rollout.Missed:
		return &exitError{code: exitPrecondition}
	case rollout.Halted:
		if run.Touched {
			return &exitError{code: exitUnverified}
		}
		return &exitError{code: exitPrecondition}
	case rollout.Scheduled, rollout.Preflight, rollout.Applying, rollout.Verifying, rollout.Baking, rollout.Holding, rollout.WaitingApproval, rollout.RollingBack:
	}
	return &exitError{code: exitStopped}
}
