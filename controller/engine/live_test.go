package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
)

// slowDNS answers a read after ten seconds, or when it is told to stop.
type slowDNS struct {
	records
	ended chan error
}

func (s slowDNS) Read(ctx context.Context) (plans.DNSState, error) {
	t := time.NewTimer(10 * time.Second)
	defer t.Stop()
	select {
	case <-t.C:
		return s.records.Read(ctx)
	case <-ctx.Done():
		s.ended <- ctx.Err()
		return plans.DNSState{}, ctx.Err()
	}
}

func TestANewerWriteEndsTheOlderOneFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := newCloud()
		p := ports(c)
		slow := slowDNS{records{c}, make(chan error, 4)}
		p.DNS = slow
		l := engine.NewLive("run", plans.Clock{}, plan, p, zap.NewNop())
		l.Start(ctx, rollout.Command{ID: 1, Action: rollout.SetShare{Names: names, Want: tenth, Before: origin}})
		synctest.Wait()
		began := time.Now()
		l.Start(ctx, rollout.Command{ID: 2, Action: rollout.SetShare{Names: names, Want: drained, Before: origin, Force: true}})
		if err := <-slow.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the older write ended with %v", err)
		}
		_, e, err := l.Next(ctx)
		if s, ok := e.(rollout.CommandSucceeded); err != nil || !ok || s.ID != 2 {
			t.Errorf("want success of command 2, got %#v, %v", e, err)
		}
		if time.Since(began) < 10*time.Second || !c.weights().Equal(drained) {
			t.Errorf("after %s the weights are %s", time.Since(began), c.weights())
		}
		cancel()
		l.Wait()
	})
}

func TestWakesComeInTheRunsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC)
		l := engine.NewLive("run", plans.Clock{Epoch: time.Now(), Start: start, Speed: 60}, plan, ports(newCloud()), zap.NewNop())
		began := time.Now()
		l.Start(ctx, rollout.Command{ID: 1, Action: rollout.Wake{At: start.Add(10 * time.Minute)}})
		l.Start(ctx, rollout.Command{ID: 2, Action: rollout.Wake{At: start.Add(-time.Minute)}})
		_, e, err := l.Next(ctx)
		if e != (rollout.TimerFired{ID: 2}) || err != nil || time.Since(began) != 0 {
			t.Errorf("a wake in the past: %v, %v after %s", e, err, time.Since(began))
		}
		at, e, err := l.Next(ctx)
		if e != (rollout.TimerFired{ID: 1}) || err != nil || time.Since(began) != 10*time.Second || !at.Equal(start.Add(10*time.Minute)) {
			t.Errorf("ten minutes at sixty a second: %v, %v at %s after %s", e, err, at, time.Since(began))
		}
		cancel()
		l.Wait()
	})
}

// inbox gives scripted events and then fails.
type inbox struct{ events []rollout.Event }

var errEmpty = errors.New("empty")

func (i *inbox) Next(context.Context) (time.Time, rollout.Event, error) {
	if len(i.events) == 0 {
		return time.Time{}, nil, errEmpty
	}
	e := i.events[0]
	i.events = i.events[1:]
	return time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC), e, nil
}

// log remembers the order of appends and starts.
type log struct {
	lines []string
	fail  bool
}

func (l *log) Append(_ context.Context, rec rollout.Record) error {
	if l.fail {
		return errors.New("disk full")
	}
	l.lines = append(l.lines, "append "+rollout.Kind(rec.Event))
	return nil
}

func (l *log) Start(context.Context, rollout.Command) { l.lines = append(l.lines, "start") }

const text = `
version: tlsroll/v1
name: engine
domain: cdn.example.com
primary: {provider: alicloud}
backup: {provider: qiniu}
dns: {provider: alicloud, zone: example.com, record: cdn}
change: {tls13: on}
sources:
  rum: {type: prometheus, url: "http://127.0.0.1:1", queries: {requests: r, errors: e}}
guardrails:
  - {name: errors, source: rum, signal: error_rate, above: 5%, for: 10m}
steps:
  - shift: {primary: 0%}
  - tls: change
`

func TestARecordIsDurableBeforeItsCommandsStart(t *testing.T) {
	l := &log{}
	w := engine.World{Inbox: &inbox{events: []rollout.Event{rollout.Started{Run: "r", Plan: text}}}, Starter: l, Journal: l}
	run, err := engine.Drive(t.Context(), w, rollout.Run{})
	if !errors.Is(err, errEmpty) {
		t.Fatalf("want the inbox's error, got %v", err)
	}
	if len(l.lines) < 3 || l.lines[0] != "append started" || l.lines[1] != "start" {
		t.Errorf("order was %v", l.lines)
	}
	// A run that is driven again starts exactly what is outstanding.
	again := &log{}
	resumed := &inbox{events: []rollout.Event{rollout.Resumed{}}}
	if _, err := engine.Drive(t.Context(), engine.World{Inbox: resumed, Starter: again, Journal: again}, run); !errors.Is(err, errEmpty) {
		t.Fatal(err)
	}
	if again.lines[0] != "append resumed" || len(again.lines) != 1+len(run.Outstanding()) {
		t.Errorf("%d are outstanding, and it went %v", len(run.Outstanding()), again.lines)
	}
}

func TestNothingStartsForARecordThatIsNotDurable(t *testing.T) {
	l := &log{fail: true}
	w := engine.World{Inbox: &inbox{events: []rollout.Event{rollout.Started{Run: "r", Plan: text}}}, Starter: l, Journal: l}
	if _, err := engine.Drive(t.Context(), w, rollout.Run{}); err == nil || errors.Is(err, errEmpty) {
		t.Errorf("want the journal's error, got %v", err)
	}
	if len(l.lines) > 0 {
		t.Errorf("started %v", l.lines)
	}
}
