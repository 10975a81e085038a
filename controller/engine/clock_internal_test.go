package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/plans"
)

// The machine's clocks cannot be set in a test, so this one looks inside: the run's time never goes back, and a jump is told once.
func TestTheWallClockJumps(t *testing.T) {
	start := time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC)
	var at instant
	c := newRunClock(plans.Clock{}, func() instant { return at })
	at.wall = start
	c.advance()
	tests := []struct {
		name   string
		wall   time.Duration // since the start
		steady time.Duration
		want   time.Duration
		jump   time.Duration
	}{
		{"nothing happens", time.Minute, time.Minute, time.Minute, 0},
		{"NTP slews", 2*time.Minute + time.Second, 2 * time.Minute, 2*time.Minute + time.Second, 0},
		{"the machine was suspended for an hour", 63 * time.Minute, 3 * time.Minute, 63 * time.Minute, 59*time.Minute + 59*time.Second},
		{"it is told once", 64 * time.Minute, 4 * time.Minute, 64 * time.Minute, 0},
		{"set back by an hour", 5 * time.Minute, 5 * time.Minute, 65 * time.Minute, -time.Hour},
		{"time goes on from where it was", 6 * time.Minute, 6 * time.Minute, 66 * time.Minute, 0},
		{"the wall clock is put right again", 67 * time.Minute, 7 * time.Minute, 67 * time.Minute, time.Hour},
	}
	for _, test := range tests {
		at = instant{wall: start.Add(test.wall), steady: test.steady}
		if now := c.now(); !now.Equal(start.Add(test.want)) {
			t.Errorf("%s: now is %s", test.name, now.Sub(start))
		}
		got, jump := c.advance()
		if !got.Equal(start.Add(test.want)) || jump != test.jump {
			t.Errorf("%s: %s with a jump of %s, want %s and %s", test.name, got.Sub(start), jump, test.want, test.jump)
		}
	}
}

// cutOff is a DNS port whose writes wait for their end.
type cutOff struct {
	state plans.DNSState
	ended chan struct{}
}

func (c cutOff) Read(context.Context) (plans.DNSState, error) { return c.state, nil }

func (c cutOff) Write(ctx context.Context, _ plans.DNSWrite) error {
	<-ctx.Done()
	close(c.ended)
	return ctx.Err()
}

// A machine that slept goes on as after a stop: what was being written is ended, a Resumed comes first, and what had come before it is not
// lost. A clock that was set back holds.
func TestAMachineThatSleptGoesOnAsAfterAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		at := instant{wall: time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC)}
		dns := cutOff{ended: make(chan struct{}), state: plans.DNSState{Records: []plans.Record{
			{ID: "1", Value: "p", Line: "default", Weight: 60, Enabled: true}, {ID: "2", Value: "b", Line: "default", Weight: 40, Enabled: true},
		}}}
		l := NewLive("run", plans.Clock{}, &plans.Plan{DNS: plans.DNS{Line: "default"}}, Ports{Levers: Levers{DNS: dns}}, zap.NewNop())
		l.clock = newRunClock(plans.Clock{}, func() instant { return at })
		before := plans.Weights{Primary: 60, Backup: 40, PrimaryOn: true, BackupOn: true}
		l.Start(ctx, rollout.Command{ID: 1, Action: rollout.SetShare{
			Names: rollout.Names{Primary: "p", Backup: "b"}, Before: before, Want: plans.Weights{Primary: 90, Backup: 10, PrimaryOn: true, BackupOn: true},
		}})
		synctest.Wait()
		l.Post(ctx, rollout.AbortOrdered{Actor: "ann"})
		at.wall = at.wall.Add(time.Hour)
		_, _, err := l.Next(ctx)
		slept, ok := errors.AsType[*sleptError](err)
		if !ok || slept.by != time.Hour {
			t.Fatalf("want an hour of sleep, got %v", err)
		}
		woke := time.Now()
		l.resume(slept.Error())
		<-dns.ended
		if time.Since(woke) > 0 {
			t.Errorf("what was being written before ended only %s later", time.Since(woke))
		}
		at.wall = at.wall.Add(-2 * time.Hour)
		var got []string
		for range 3 {
			_, e, err := l.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rollout.Kind(e))
		}
		if want := []string{"resumed", "pause_ordered", "abort_ordered"}; !slices.Equal(got, want) {
			t.Errorf("events %v, want %v", got, want)
		}
		cancel()
		l.Wait()
	})
}

// taken is a store that remembers what it was given.
type taken struct {
	store.Store
	kinds    []string
	finished bool
}

func (s *taken) Append(_ context.Context, _ store.Claim, _ rollout.RunID, rec rollout.Record) error {
	s.kinds = append(s.kinds, rollout.Kind(rec.Event))
	return nil
}

func (s *taken) Finish(context.Context, store.Claim, rollout.RunID, rollout.Phase) error {
	s.finished = true
	return nil
}

// told is a notifier that lets something happen before it answers.
type told func()

func (f told) Notify(context.Context, Key, rollout.Urgency, string) error {
	f()
	return nil
}

// A machine that sleeps before the first record, or after the run has ended, changes nothing: the first record is the one that was posted,
// and the last words are recorded.
func TestASessionOutlivesASleepAtBothEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := instant{wall: time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC)}
		sleepNow := func() { at.wall = at.wall.Add(time.Hour) }
		s := &taken{}
		session := &Session{
			Store: s, Lease: &Lease{store: s}, ID: "run", Plan: &plans.Plan{}, Ports: Ports{Notifier: told(sleepNow)}, Log: zap.NewNop(),
			Tell: func(_ rollout.Urgency, text string) { t.Error(text) },
		}
		session.Open()
		session.live.clock = newRunClock(plans.Clock{}, func() instant { return at })
		sleepNow()
		run, err := session.Run(t.Context(), rollout.Run{}, rollout.Started{Run: "run", Plan: "no plan at all"})
		if err != nil || run.Phase() != rollout.Halted || !s.finished || len(run.Outstanding()) > 0 {
			t.Errorf("%s, finished %v, outstanding %v: %v", run.Phase(), s.finished, run.Outstanding(), err)
		}
		if want := []string{"started", "command_succeeded"}; !slices.Equal(s.kinds, want) {
			t.Errorf("records %v, want %v", s.kinds, want)
		}
	})
}
