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
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/schedule"
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
	for told := false; ; {
		lease, err := engine.Take(ctx, s, rollout.Keys(l.plan), holder, l.claimTTL)
		held, ok := errors.AsType[*store.HeldError](err)
		if !ok {
			return lease, err
		}
		if file, ok := s.(interface {
			Evict(ctx context.Context, key string) error
		}); ok {
			// The file's lock is ours, so whoever held a claim in it is gone, and what is left of the claim holds nobody up.
			if err := file.Evict(ctx, held.Key); err != nil {
				return nil, err
			}
			continue
		}
		if waiting == nil {
			return nil, &exitError{code: exitPrecondition, err: err, hint: "wait for it, or start with --standby, which takes over when it stops"}
		}
		if !told {
			told = true
			waiting("standing by: " + held.Error())
		}
		if err := pause(ctx, standbyPause); err != nil {
			return nil, err
		}
	}
}

// carrier is a local run with what it needs to be carried out.
type carrier struct {
	*local
	store openedStore
	lease *engine.Lease
	log   *zap.Logger
}

// earlier returns the run to go on with, the last one of this plan when it has ended and had touched something (over is true then), or a
// zero run: then another one is started. What ended runs have to tell still is told.
func (c carrier) earlier(ctx context.Context) (run rollout.Run, over bool, err error) {
	runs, err := c.store.List(ctx)
	if err != nil {
		return rollout.Run{}, false, err
	}
	for _, known := range runs {
		if known.Domain != c.plan.Domain {
			continue
		}
		records, err := store.Read(ctx, c.store, known.ID)
		if err != nil {
			return rollout.Run{}, false, err
		}
		run := rollout.Replay(records)
		if run.End != nil && known.Ended == 0 {
			if run, err = c.carry(ctx, run); err != nil {
				return run, false, err
			}
		}
		switch {
		case run.End != nil && run.Touched && !c.again && run.Digest == plans.Digest(c.plan):
			c.talk(fmt.Sprintf("run %s of this plan has ended: %s, %s; --again starts another one", run.ID, run.End.Phase, run.End.Why))
			return run, true, nil
		case run.End != nil:
			continue
		case run.Digest != plans.Digest(c.plan):
			return rollout.Run{}, false, &exitError{
				code: exitPrecondition,
				err:  fmt.Errorf("run %s of another plan for %s is not finished: %s", run.ID, run.Plan.Domain, run.Live()),
				hint: "apply the plan it was started with to go on with it; tlsroll status " + string(run.ID) + " shows it",
			}
		}
		c.plan = run.Plan
		c.talk(fmt.Sprintf("resuming run %s after record %d, %s", run.ID, run.Seq, run.Phase()))
		return run, false, nil
	}
	return rollout.Run{}, false, nil
}

// carry hands everything to the engine.
func (c carrier) carry(parent context.Context, run rollout.Run) (rollout.Run, error) {
	conn, err := connect(c.io, c.plan, c.clock, wiring{tell: c.tell, permit: c.lease.MayWrite, timeout: engine.CallTimeout(c.claimTTL)})
	if err != nil {
		return run, &exitError{code: exitInvalid, err: err}
	}
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	id, first, err := c.first(ctx, conn, run)
	if err != nil {
		return run, err
	}
	session := &engine.Session{
		Store: c.store, Lease: c.lease, ID: id, Plan: c.plan, Ports: conn.ports, Clock: c.clock, Log: c.log, Tell: c.tell,
	}
	session.Watch = func(before, after rollout.Run, rec rollout.Record) {
		c.watch(before, after, rec)
		if c.order == nil {
			return
		}
		if e := c.order(after); e != nil {
			session.Order(ctx, e)
		}
	}
	session.Open()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop(nil)
	wg.Go(func() { c.signals(ctx, session, stop) })
	wg.Go(func() {
		if err := c.lease.Keep(ctx); err != nil {
			stop(err)
		}
	})
	more := []rollout.Event{first}
	if c.resume && run.Plan != nil {
		more = append(more, rollout.ResumeOrdered{Actor: actor(c.io), Reason: "apply --resume"})
	}
	run, err = session.Run(ctx, run, more...)
	return run, c.failure(run, err)
}

// failure says what an error that ended the process means for the run.
func (c carrier) failure(run rollout.Run, err error) error {
	if _, chosen := errors.AsType[*exitError](err); err == nil || chosen {
		return err
	}
	return &exitError{
		code: exitUnexpected, err: fmt.Errorf("%w; the run is not watched by this process any more. Live now: %s", err, run.Live()),
		hint: "the same command goes on where the run was",
	}
}

// first is the event that a run begins or goes on with, and the run's name.
func (c carrier) first(ctx context.Context, conn *connections, run rollout.Run) (rollout.RunID, rollout.Event, error) {
	if run.Plan != nil {
		return run.ID, rollout.Resumed{Actor: actor(c.io), Tool: view.Version()}, nil
	}
	if err := conn.haveKeys(ctx); err != nil {
		return "", nil, &exitError{code: exitPrecondition, err: err, hint: "nothing was touched, and no run was begun"}
	}
	start, _, err := schedule.Start(c.plan, c.clock.At(time.Now()))
	if err != nil {
		return "", nil, &exitError{code: exitInvalid, err: err}
	}
	id := c.newID()
	return id, rollout.Started{
		Begin: start.UTC(), Run: id, Plan: string(plans.Encode(c.plan)), Digest: plans.Digest(c.plan), Actor: actor(c.io), Tool: view.Version(),
	}, nil
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
