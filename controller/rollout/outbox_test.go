package rollout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
)

const callSteps = "  - shift: {primary: 0%}\n  - call: {url: \"http://127.0.0.1:1/suite\", expect: 200}\n  - tls: change\n  - shift: {primary: 10%, bake: 12m}\n"

// calls answers every Call as told, and counts them.
func calls(n *night, kind func() rollout.FailureKind, count *int) func(rollout.Command) bool {
	return func(c rollout.Command) bool {
		if _, ok := c.Action.(rollout.Call); !ok {
			return false
		}
		*count++
		if k := kind(); k != 0 {
			n.answer(c, k)
			return true
		}
		return false
	}
}

func TestAWebhookThatIsSilentIsAskedAgain(t *testing.T) {
	n := begin(healthy(callSteps))
	count := 0
	n.play(nil, calls(n, func() rollout.FailureKind {
		if count < 4 {
			return rollout.Transient
		}
		return 0
	}, &count))
	if n.run.End == nil || n.run.End.Phase != rollout.Succeeded || count != 4 {
		t.Errorf("after %d calls the run ended as %+v", count, n.run.End)
	}
}

func TestAWebhookThatStaysSilentHoldsAndThenRollsBack(t *testing.T) {
	n := begin(healthy(callSteps))
	count := 0
	silent := calls(n, func() rollout.FailureKind { return rollout.Unknown }, &count)
	if !n.play(func() bool { return n.run.Held != nil }, silent) || n.run.Held.Why != rollout.HoldLever || !strings.Contains(n.run.Held.Text, "webhook") {
		t.Fatalf("want a hold for the webhook, got %+v %+v", n.run.Held, n.run.End)
	}
	if asked := n.run.At.Sub(n.run.Steps[len(n.run.Steps)-1].Entered); asked < 10*time.Minute || asked > 12*time.Minute {
		t.Errorf("held after %s", asked)
	}
	n.play(nil, silent)
	if n.run.End == nil || n.run.End.Phase != rollout.RolledBack {
		t.Errorf("ended as %+v", n.run.End)
	}
}

func TestAWebhookThatRefusesTurnsTheRunRound(t *testing.T) {
	n := begin(healthy(callSteps))
	count := 0
	n.play(nil, calls(n, func() rollout.FailureKind { return rollout.Invalid }, &count))
	if n.run.End == nil || n.run.End.Phase != rollout.RolledBack || !strings.Contains(n.run.End.Why, "webhook refused") || count != 1 {
		t.Errorf("after %d calls ended as %+v", count, n.run.End)
	}
}

// What was not delivered when the run ended is outstanding still, in a replay too; its answer is the only thing an ended run takes in.
func TestAnEndedRunTakesInWhatWasDelivered(t *testing.T) {
	n := begin(healthy(canarySteps))
	var told []rollout.Command
	n.play(nil, func(c rollout.Command) bool {
		_, ok := c.Action.(rollout.Notify)
		if ok {
			told = append(told, c)
		}
		return ok
	})
	replayed := rollout.Replay(n.records)
	if left := replayed.Outstanding(); replayed.End == nil || len(left) != len(told) || len(told) == 0 {
		t.Fatalf("%d were told, and %v are outstanding", len(told), left)
	}
	last := n.run
	r, due := rollout.Next(last, rollout.Record{Seq: last.Seq + 1, At: last.At.Add(time.Hour), Event: rollout.AbortOrdered{Actor: "ann"}})
	if len(due) > 0 || r.Phase() != last.Phase() || !r.At.Equal(last.At) || len(r.Outstanding()) != len(told) {
		t.Errorf("an order after the end changed %+v", r.End)
	}
	for i, c := range told {
		r, due = rollout.Next(r, rollout.Record{Seq: r.Seq + 1, At: r.At, Event: rollout.CommandSucceeded{ID: c.ID, Result: rollout.Done{}}})
		if left := len(r.Outstanding()); left != len(told)-i-1 || len(due) > 0 || r.Phase() != last.Phase() {
			t.Errorf("after %d deliveries %d are outstanding, phase %s", i+1, left, r.Phase())
		}
	}
}
