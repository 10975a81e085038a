package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/plans"
)

const abortAfter = time.Second // a second Ctrl-C counts from then on: wrappers send it twice

// local runs a plan in this process.
type local struct {
	io    stdio
	plan  *plans.Plan
	clock plans.Clock
	store string // as --store says
	// watch is told of every turn.
	watch func(before, after rollout.Run, rec rollout.Record)
	tell  func(rollout.Urgency, string)
	talk  func(string) // about the process itself
	log   string       // file for the log; "" is none
	again bool         // start another run although the last one of this plan has ended
	// standby waits until whoever works on the domain stops or dies, and then goes on with his run.
	standby  bool
	claimTTL time.Duration
	// resume ends a hold that a person or drift began, when an unfinished run is gone on with.
	resume bool
	// order looks at every turn and may give an order, as a person would; nil never does.
	order func(rollout.Run) rollout.Event
}

// do starts or resumes the run, and returns it at its end.
func (l *local) do(ctx context.Context) (rollout.Run, error) {
	waiting := l.talk
	if !l.standby {
		waiting = nil
	}
	s, err := openStore(ctx, l.io, l.store, waiting)
	if err != nil {
		return rollout.Run{}, err
	}
	defer s.Close() //nolint:errcheck // every record is durable already
	lease, err := l.take(ctx, s, waiting)
	if err != nil {
		return rollout.Run{}, err
	}
	defer lease.Release(context.WithoutCancel(ctx)) //nolint:errcheck // it runs out by itself
	log, err := openLog(l.log)
	if err != nil {
		return rollout.Run{}, err
	}
	defer log.Sync() //nolint:errcheck // the journal is the record; the log is a help
	c := carrier{local: l, store: s, lease: lease, log: log}
	run, over, err := c.earlier(ctx)
	if err != nil || over {
		return run, err
	}
	return c.carry(ctx, run)
}

// take claims the plan's domain and record.
func (l *local) take(ctx context.Context, s openedStore, waiting func(string)) (*engine.Lease, error) {
	host, _ := os.Hostname()
	var nonce [4]byte
	_, _ = rand.Read(nonce[:]) // never fails
	holder := fmt.Sprintf("pid %d on %s (%s)", os.Getpid(), host, hex.EncodeToString(nonce[:]))
	return await(ctx, waiting, func() (*engine.Lease, string, error) {
		lease, err := engine.Take(ctx, s, rollout.Keys(l.plan), holder, l.claimTTL)
		held, ok := errors.AsType[*store.HeldError](err)
		for file, mine := s.(evicter); ok && mine; held, ok = errors.AsType[*store.HeldError](err) {
			if err := file.Evict(ctx, held.Key); err != nil {
				return nil, "", err
			}
			lease, err = engine.Take(ctx, s, rollout.Keys(l.plan), holder, l.claimTTL)
		}
		if !ok {
			return lease, "", err
		}
		return nil, held.Key + " is held by " + held.Holder, &exitError{code: exitPrecondition, err: err, hint: standbyHint}
	})
}

// evicter is a store whose file is locked by this process: whoever held a claim in it is gone, and what is left of the claim holds nobody up.
type evicter interface {
	Evict(ctx context.Context, key string) error
}

// signals: the first Ctrl-C holds, another one a second later aborts; SIGTERM ends the process and leaves the run as it is; a lost terminal
// changes nothing.
func (l *local) signals(ctx context.Context, run *engine.Session, stop context.CancelCauseFunc) {
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
				run.Order(ctx, rollout.PauseOrdered{Actor: actor(l.io), Reason: "Ctrl-C"})
			case time.Since(held) < abortAfter:
				l.talk("too soon after the first: press Ctrl-C once more to abort")
			default:
				l.talk("aborting: the run rolls back, if it does not already")
				run.Order(ctx, rollout.AbortOrdered{Actor: actor(l.io), Reason: "Ctrl-C"})
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
