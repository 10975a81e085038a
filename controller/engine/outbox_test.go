package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

// receiver answers each delivery as its script says; after that it is content.
type receiver struct {
	script []error
	got    []string
	hangs  bool
}

func (r *receiver) Notify(ctx context.Context, key engine.Key, _ rollout.Urgency, text string) error {
	if r.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	r.got = append(r.got, fmt.Sprintf("%s %s", key, text))
	if len(r.script) == 0 {
		return nil
	}
	err := r.script[0]
	r.script = r.script[1:]
	return err
}

func tell(ctx context.Context, l *engine.Live, id rollout.CommandID, text string) {
	l.Start(ctx, rollout.Command{ID: id, Action: rollout.Notify{Urgency: rollout.Page, Text: text}})
}

func TestNotificationsComeInOrderAndAgainUntilTheyAreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{script: []error{errors.New("lost"), kind(providers.Throttled), nil, kind(providers.Denied)}}
		p := ports(newCloud())
		p.Notifier = r
		ctx, cancel := context.WithCancel(t.Context())
		l := engine.NewLive("run-1", plans.Clock{}, plan, p, zap.NewNop())
		tell(ctx, l, 7, "first")
		tell(ctx, l, 8, "second")
		tell(ctx, l, 9, "third")
		var answers []string
		for range 3 {
			_, e, err := l.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, fmt.Sprintf("%s %d", rollout.Kind(e), rollout.Answers(e)))
		}
		want := []string{"run-1/7 first", "run-1/7 first", "run-1/7 first", "run-1/8 second", "run-1/9 third"}
		if diff := cmp.Diff(want, r.got); diff != "" {
			t.Errorf("deliveries mismatch (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"command_succeeded 7", "command_failed 8", "command_succeeded 9"}, answers); diff != "" {
			t.Errorf("answers mismatch (-want +got):\n%s", diff)
		}
		cancel()
		l.Wait()
	})
}

func TestADeadReceiverNeverDelaysAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		p := ports(c)
		p.Notifier = &receiver{hangs: true}
		ctx, cancel := context.WithCancel(t.Context())
		l := engine.NewLive("run-1", plans.Clock{}, plan, p, zap.NewNop())
		began := time.Now()
		for i := range rollout.CommandID(100) {
			tell(ctx, l, i+1, "page")
		}
		l.Start(ctx, rollout.Command{ID: 200, Action: rollout.SetShare{Names: names, Want: drained, Before: origin, Force: true}})
		_, e, err := l.Next(ctx)
		if err != nil || rollout.Answers(e) != 200 || time.Since(began) > 2*time.Second || !c.weights().Equal(drained) {
			t.Errorf("the first answer is %v, %v after %s; the weights are %s", e, err, time.Since(began), c.weights())
		}
		cancel()
		l.Wait()
	})
}

// A notification that is started again while it is in hand, as after the machine slept, is delivered once.
func TestANotificationInHandIsNotDeliveredTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{script: []error{errors.New("lost")}}
		p := ports(newCloud())
		p.Notifier = r
		ctx, cancel := context.WithCancel(t.Context())
		l := engine.NewLive("run-1", plans.Clock{}, plan, p, zap.NewNop())
		for range 2 {
			tell(ctx, l, 7, "first")
			tell(ctx, l, 8, "second")
		}
		for range 2 {
			if _, _, err := l.Next(ctx); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Hour)
		if diff := cmp.Diff([]string{"run-1/7 first", "run-1/7 first", "run-1/8 second"}, r.got); diff != "" {
			t.Errorf("deliveries mismatch (-want +got):\n%s", diff)
		}
		cancel()
		l.Wait()
	})
}
