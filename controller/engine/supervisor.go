package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/plans"
)

// Surroundings are what a supervisor needs. All fields must be set, except Watch.
type Surroundings struct {
	Store   store.Store
	Holder  string // names this process in claims; each run's claim adds a number, so that two of them exclude each other
	TTL     time.Duration
	Clock   plans.Clock
	Log     *zap.Logger
	Connect func(p *plans.Plan, permit func(context.Context) error) (Ports, error)
	Tell    func(rollout.Urgency, string)
	Tool    string // version, for Resumed
	Watch   func(before, after rollout.Run, rec rollout.Record)
}

// Supervisor carries many runs in one process, each in a session of its own. It goes on with every run of the store that nobody holds:
// those of this process's earlier life, and those of another controller that died or froze. Its methods may be called by several
// goroutines.
type Supervisor struct {
	Surroundings

	starts   chan start
	bulk     slots
	sessions sync.WaitGroup

	mu      sync.Mutex
	carried map[rollout.RunID]carried
	claims  int // taken so far
}

// carried is a run that this process has.
type carried struct {
	lease   *Lease
	session *Session
	stop    context.CancelCauseFunc
}

// start is a run that is to begin.
type start struct {
	lease *Lease
	plan  *plans.Plan
	first rollout.Started
	done  chan error
}

// NewSupervisor returns a supervisor that carries nothing yet: Run does.
func NewSupervisor(s Surroundings) *Supervisor {
	return &Supervisor{Surroundings: s, starts: make(chan start), bulk: make(slots, bulkAtOnce), carried: map[rollout.RunID]carried{}}
}

// ErrNotHere means that this process does not carry the run.
var ErrNotHere = errors.New("the run is not carried by this process")

// Run carries what it finds until ctx ends, and waits for its sessions. It looks for runs that nobody holds as often as it renews claims,
// so that one whose controller died goes on within the length of a claim and one look.
func (s *Supervisor) Run(ctx context.Context) error {
	defer s.sessions.Wait()
	every := s.TTL / renewPart
	tick := time.NewTicker(every)
	defer tick.Stop()
	err := s.adopt(ctx)
	for {
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("look for runs", zap.Error(err))
		}
		err = nil
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			s.renew(ctx)
			err = s.adopt(ctx)
		case b := <-s.starts:
			b.done <- s.carry(ctx, b.lease, rollout.Run{}, b.plan, b.first.Run, b.first)
		}
	}
}

// ErrUnfinished means that an earlier run of the same domain or record has not ended: it must be gone on with, not started again.
var ErrUnfinished = errors.New("an earlier run has not ended")

// Start begins a run of a plan, which goes on while Run does. It fails with a *store.HeldError when somebody works on its domain or record,
// this process too, and with ErrUnfinished when nobody does and an earlier run has not ended.
func (s *Supervisor) Start(ctx context.Context, p *plans.Plan, first rollout.Started) error {
	lease, err := s.take(ctx, rollout.Keys(p))
	if err != nil {
		return err
	}
	if err := s.unfinished(ctx, p); err != nil {
		return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
	}
	b := start{lease, p, first, make(chan error, 1)}
	select {
	case s.starts <- b:
		return <-b.done
	case <-ctx.Done():
		return errors.Join(ctx.Err(), lease.Release(context.WithoutCancel(ctx)))
	}
}

// take claims keys under a name of its own.
func (s *Supervisor) take(ctx context.Context, keys []string) (*Lease, error) {
	s.mu.Lock()
	s.claims++
	holder := fmt.Sprintf("%s, claim %d", s.Holder, s.claims)
	s.mu.Unlock()
	return Take(ctx, s.Store, keys, holder, s.TTL)
}

// unfinished looks for a run that shares a key with a plan and has not ended. One that has ended, and still has something to tell, does not
// count.
func (s *Supervisor) unfinished(ctx context.Context, p *plans.Plan) error {
	runs, err := s.Store.Unfinished(ctx, rollout.Keys(p)...)
	if err != nil {
		return err
	}
	for _, known := range runs {
		records, err := store.Read(ctx, s.Store, known.ID)
		if err != nil {
			return err
		}
		if run := rollout.Replay(records); run.End == nil {
			return fmt.Errorf("start a run of %s: %w: %s, %s", p.Domain, ErrUnfinished, known.ID, run.Live())
		}
	}
	return nil
}

// Order gives a run an event: what a person orders. It fails with ErrNotHere when another process has the run.
func (s *Supervisor) Order(ctx context.Context, id rollout.RunID, e rollout.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.carried[id]
	if !ok {
		return fmt.Errorf("order for run %s: %w", id, ErrNotHere)
	}
	c.session.Order(ctx, e)
	return nil
}

// Runs are the runs that this process carries, sorted.
func (s *Supervisor) Runs() []rollout.RunID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.carried))
}

// adopt takes the runs that have not ended and that nobody holds.
func (s *Supervisor) adopt(ctx context.Context) error {
	runs, err := s.Store.Unfinished(ctx)
	if err != nil {
		return err
	}
	held, err := s.held(ctx)
	if err != nil {
		return err
	}
	for _, known := range runs {
		if s.has(known.ID) || slices.ContainsFunc(known.Keys, func(k string) bool { return held[k] }) {
			continue
		}
		if err := s.adoptOne(ctx, known); err != nil && ctx.Err() == nil {
			s.Log.Error("go on with run", zap.String("run", string(known.ID)), zap.Error(err))
		}
	}
	return nil
}

// held are the keys that somebody holds.
func (s *Supervisor) held(ctx context.Context) (map[string]bool, error) {
	claims, err := s.Store.Claims(ctx)
	if err != nil {
		return nil, err
	}
	held := map[string]bool{}
	for _, c := range claims {
		held[c.Key] = true
	}
	return held, nil
}

func (s *Supervisor) adoptOne(ctx context.Context, known store.Run) error {
	lease, err := s.take(ctx, known.Keys)
	if _, taken := errors.AsType[*store.HeldError](err); taken {
		return nil // another controller was quicker
	}
	if err != nil {
		return err
	}
	records, err := store.Read(ctx, s.Store, known.ID)
	if err != nil {
		return errors.Join(err, lease.Release(ctx))
	}
	run := rollout.Replay(records)
	if run.Plan == nil {
		return errors.Join(errors.New("its plan cannot be read by this version"), lease.Release(ctx))
	}
	return s.carry(ctx, lease, run, run.Plan, run.ID, rollout.Resumed{Actor: s.Holder, Tool: s.Tool})
}

// carry opens a session for a run and lets it go on in the background. It releases the lease when it ends or cannot begin.
func (s *Supervisor) carry(parent context.Context, lease *Lease, run rollout.Run, p *plans.Plan, id rollout.RunID, first rollout.Event) error {
	ports, err := s.Connect(p, lease.MayWrite)
	if err != nil {
		return errors.Join(err, lease.Release(parent))
	}
	ports.bulk = s.bulk
	ctx, stop := context.WithCancelCause(parent)
	session := &Session{
		Store: s.Store, Lease: lease, ID: id, Plan: p, Ports: ports, Clock: s.Clock, Log: s.Log.With(zap.String("run", string(id))), Tell: s.Tell, Watch: s.Watch,
	}
	session.Open()
	s.add(id, carried{lease, session, stop})
	s.sessions.Go(func() {
		defer s.drop(id)
		defer stop(nil)
		run, err := session.Run(ctx, run, first)
		if err != nil && parent.Err() == nil {
			s.Log.Error("run is not carried any more", zap.String("run", string(id)), zap.String("live", run.Live()), zap.Error(err))
		}
		if err := lease.Release(context.WithoutCancel(ctx)); err != nil {
			s.Log.Warn("release claim", zap.String("run", string(id)), zap.Error(err))
		}
	})
	return nil
}

func (s *Supervisor) add(id rollout.RunID, c carried) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.carried[id] = c
}

func (s *Supervisor) drop(id rollout.RunID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.carried, id)
}

func (s *Supervisor) has(id rollout.RunID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.carried[id]
	return ok
}

// renew renews every lease, and ends the sessions whose lease is lost.
func (s *Supervisor) renew(ctx context.Context) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.carried))
	s.mu.Unlock()
	leases := make([]*Lease, len(all))
	for i, c := range all {
		leases[i] = c.lease
	}
	for i, err := range renewAll(ctx, leases) {
		if errors.Is(err, store.ErrFenced) {
			all[i].stop(err)
		}
	}
}
