package engine_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/sqlite"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// controller is a supervisor in a life of its own.
type controller struct {
	*engine.Supervisor
	frozen freeze
	stop   context.CancelFunc
	ended  chan struct{}

	mu   sync.Mutex
	last rollout.Run // as it was seen last
}

// frozenStore stands still with its controller.
type frozenStore struct {
	store.Store
	frozen *freeze
}

func (s frozenStore) Append(ctx context.Context, c store.Claim, id rollout.RunID, rec rollout.Record) error {
	s.frozen.pass()
	return s.Store.Append(ctx, c, id, rec)
}

func (s frozenStore) Renew(ctx context.Context, c store.Claim, ttl time.Duration) error {
	s.frozen.pass()
	return s.Store.Renew(ctx, c, ttl)
}

func (s frozenStore) Unfinished(ctx context.Context, keys ...string) ([]store.Run, error) {
	s.frozen.pass()
	return s.Store.Unfinished(ctx, keys...)
}

func (s frozenStore) Full() bool {
	f, ok := s.Store.(interface{ Full() bool })
	return ok && f.Full()
}

func startController(t *testing.T, who string, s store.Store, m *model) *controller {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &controller{stop: cancel, ended: make(chan struct{})}
	c.Supervisor = engine.NewSupervisor(engine.Surroundings{
		Store: frozenStore{s, &c.frozen}, Holder: who, TTL: engine.LeaseTTL, Log: zap.NewNop(), Tool: "test",
		Connect: func(*plans.Plan, func(context.Context) error) (engine.Ports, error) {
			return view{m, who, &c.frozen}.ports(), nil
		},
		Tell: func(u rollout.Urgency, text string) { t.Log(who, u, text) },
		Watch: func(_, after rollout.Run, _ rollout.Record) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.last = after
		},
	})
	go func() {
		defer close(c.ended)
		_ = c.Run(ctx)
	}()
	return c
}

func (c *controller) run() rollout.Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// await lets the bubble's time pass until f holds.
func await(t *testing.T, limit time.Duration, f func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for began := time.Now(); !f(); <-tick.C {
		if time.Since(began) > limit {
			t.Fatalf("it did not come in %s", limit)
		}
		synctest.Wait()
	}
}

func openStore(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func begin(t *testing.T, c *controller, p *plans.Plan) {
	t.Helper()
	if err := c.Start(t.Context(), p, rollout.Started{Run: "run", Plan: string(plans.Encode(p)), Digest: plans.Digest(p), Actor: "test", Tool: "test"}); err != nil {
		t.Fatal(err)
	}
}

// Two controllers share a store. The one that carries the run freezes; the other goes on with it within two lease times; the frozen one
// wakes up and can write neither to the store nor to a cloud.
func TestAFrozenControllerIsReplacedAndHarmless(t *testing.T) {
	for _, fault := range []world.Fault{world.None, world.Errors10} {
		t.Run(fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { frozenAndReplaced(t, fault) })
		})
	}
}

func frozenAndReplaced(t *testing.T, fault world.Fault) {
	s := openStore(t)
	defer s.Close() //nolint:errcheck // a test
	p := shortPlan(t)
	m := newModel(p, fault)
	a := startController(t, "a", s, m)
	defer func() { a.stop(); <-a.ended }()
	begin(t, a, p)
	await(t, time.Hour, func() bool { return a.run().InForce == 10 })
	b := startController(t, "b", s, m)
	defer func() { b.stop(); <-b.ended }()
	await(t, time.Minute, func() bool { return len(a.Runs()) == 1 })
	if got := b.Runs(); len(got) > 0 {
		t.Fatalf("b took %v from a controller that lives", got)
	}
	a.frozen.stop()
	await(t, 2*engine.LeaseTTL, func() bool { return slices.Contains(b.Runs(), "run") })
	before := len(m.writers())
	a.frozen.wake()
	await(t, time.Minute, func() bool { return len(a.Runs()) == 0 })
	await(t, 4*time.Hour, func() bool { return b.run().End != nil })
	for _, who := range m.writers()[before:] {
		if who != "b" {
			t.Errorf("after the takeover the clouds were written by %v", m.writers()[before:])
			break
		}
	}
	want := map[world.Fault]rollout.Phase{world.None: rollout.Succeeded, world.Errors10: rollout.RolledBack}[fault]
	if got := b.run().Phase(); got != want {
		t.Errorf("ended as %s (%+v), want %s", got, b.run().End, want)
	}
	records, err := store.Read(t.Context(), s, "run")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, rollout.Replay(records).Phase()); diff != "" {
		t.Errorf("the replay's end (-want +got):\n%s", diff)
	}
	await(t, time.Minute, func() bool { runs, err := s.List(t.Context()); return err == nil && runs[0].Ended == want })
}

func (m *model) writers() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.writes)
}

// What a process left when it was killed is gone on with by its next life.
func TestRunsOfAnEarlierLifeAreGoneOnWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		defer s.Close() //nolint:errcheck // a test
		p := shortPlan(t)
		m := newModel(p, world.None)
		a := startController(t, "a", s, m)
		begin(t, a, p)
		await(t, time.Hour, func() bool { return a.run().InForce == 10 })
		a.stop()
		<-a.ended
		b := startController(t, "b", s, m)
		defer func() { b.stop(); <-b.ended }()
		await(t, 4*time.Hour, func() bool { return b.run().Phase() == rollout.Succeeded })
		if err := b.Order(t.Context(), "run", rollout.AbortOrdered{}); err == nil {
			await(t, time.Minute, func() bool { return len(b.Runs()) == 0 })
			err = b.Order(t.Context(), "run", rollout.AbortOrdered{})
			if !errors.Is(err, engine.ErrNotHere) {
				t.Errorf("an order for a run that has ended: %v", err)
			}
		}
	})
}

// A second run for the same domain or record is refused while one goes on.
func TestOneRunForADomain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		defer s.Close() //nolint:errcheck // a test
		p := shortPlan(t)
		m := newModel(p, world.None)
		a := startController(t, "a", s, m)
		defer func() { a.stop(); <-a.ended }()
		begin(t, a, p)
		await(t, time.Minute, func() bool { return a.run().Seq > 0 })
		b := startController(t, "b", s, m)
		defer func() { b.stop(); <-b.ended }()
		for _, c := range []*controller{a, b} {
			err := c.Start(t.Context(), p, rollout.Started{Run: "other", Plan: string(plans.Encode(p))})
			held, ok := errors.AsType[*store.HeldError](err)
			if !ok || !strings.HasPrefix(held.Holder, "a, claim ") {
				t.Errorf("want a HeldError that names a, got %v", err)
			}
		}
		for _, c := range []*controller{a, b} { // the run is not finished, and nobody has it
			c.stop()
			<-c.ended
		}
		err := b.Start(t.Context(), p, rollout.Started{Run: "other", Plan: string(plans.Encode(p))})
		if !errors.Is(err, engine.ErrUnfinished) || !strings.Contains(err.Error(), "run, ") {
			t.Errorf("want ErrUnfinished that names the run, got %v", err)
		}
	})
}

// fullStore is a store whose disk becomes full.
type fullStore struct {
	store.Store
	full atomic.Bool
}

func (s *fullStore) Full() bool { return s.full.Load() }

// On a full disk the run holds where it is, and somebody is told; it can still go back.
func TestAFullDiskHoldsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := openStore(t)
		defer inner.Close() //nolint:errcheck // a test
		s := &fullStore{Store: inner}
		p := shortPlan(t)
		m := newModel(p, world.None)
		a := startController(t, "a", s, m)
		defer func() { a.stop(); <-a.ended }()
		begin(t, a, p)
		await(t, time.Hour, func() bool { return a.run().InForce == 10 })
		s.full.Store(true)
		await(t, 2*time.Minute, func() bool { return a.run().Held != nil })
		if held := a.run().Held; !held.Manual || !strings.Contains(held.Text, "disk of the journal is full") {
			t.Errorf("held as %+v", held)
		}
		if err := a.Order(t.Context(), "run", rollout.AbortOrdered{Actor: "ann"}); err != nil {
			t.Fatal(err)
		}
		await(t, 2*time.Hour, func() bool { return a.run().Phase() == rollout.RolledBack })
	})
}
