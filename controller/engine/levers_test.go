package engine_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

var plan = &plans.Plan{Domain: "cdn.example.com", DNS: plans.DNS{Provider: "alicloud", Line: "default", Zone: "example.com", Record: "cdn"}}

var names = rollout.Names{Primary: "p.example.net", Backup: "b.example.net"}

var (
	origin  = plans.Weights{Primary: 60, Backup: 40, PrimaryOn: true, BackupOn: true}
	drained = plans.Weights{Primary: 1, Backup: 100, PrimaryOn: false, BackupOn: true}
	tenth   = plans.Weights{Primary: 10, Backup: 90, PrimaryOn: true, BackupOn: true}
)

func write(leg guardrails.Leg, id string, a plans.WeightAction, weight int) plans.DNSWrite {
	return plans.DNSWrite{Leg: leg, RecordID: id, Action: a, Weight: weight}
}

var drain = []plans.DNSWrite{
	write(guardrails.Backup, "2", plans.SetWeight, 100),
	write(guardrails.Primary, "1", plans.SetWeight, 1),
	write(guardrails.Primary, "1", plans.DisableRecord, 0),
}

func do(t *testing.T, c *cloud, a rollout.Action) rollout.Event {
	t.Helper()
	x := engine.Executor{Plan: plan, Ports: ports(c)}
	return x.Do(t.Context(), rollout.Command{ID: 5, Action: a})
}

// Whatever happens to one write, the next act is a read, and no write is made that has landed already.
func TestSetShareThroughTheFaultsOfAnAPI(t *testing.T) {
	tests := []struct {
		name   string
		script []fault
		kind   rollout.FailureKind // 0: the command succeeds
		writes []plans.DNSWrite    // that landed
	}{
		{"all goes well", nil, 0, drain},
		{"the first answer is lost after the write landed", []fault{failedAfter}, 0, drain},
		{"every answer is lost after the write landed", []fault{failedAfter, failedAfter, failedAfter}, 0, drain},
		{"an answer and the write are lost: the command ends unknown and is repeated by the rollout", []fault{ok, lost}, rollout.Unknown, drain[:1]},
		{"reads lag behind every write", []fault{staleAfter, staleAfter, staleAfter}, 0, drain},
		{"throttled before anything happened", []fault{failedBefore}, rollout.Throttled, nil},
		{"denied in the middle", []fault{ok, denied}, rollout.Denied, drain[:1]},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newCloud()
			c.script = test.script
			e := do(t, c, rollout.SetShare{Names: names, Want: drained, Before: origin})
			checkOutcome(t, e, test.kind)
			if diff := cmp.Diff(test.writes, c.writes); diff != "" {
				t.Errorf("writes mismatch (-want +got):\n%s", diff)
			}
			if test.kind == 0 && !c.weights().Equal(drained) {
				t.Errorf("weights are %s", c.weights())
			}
			// The rollout asks again after a failure, and a resumed process asks again in any case: only what is missing is written.
			c.script, c.stale = nil, 0
			checkOutcome(t, do(t, c, rollout.SetShare{Names: names, Want: drained, Before: origin}), 0)
			if diff := cmp.Diff(drain, c.writes); diff != "" {
				t.Errorf("after asking again, writes mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func checkOutcome(t *testing.T, e rollout.Event, kind rollout.FailureKind) {
	t.Helper()
	switch e := e.(type) {
	case rollout.CommandSucceeded:
		if kind != 0 || e.ID != 5 {
			t.Errorf("want %s for command 5, got success of %d", kind, e.ID)
		}
	case rollout.CommandFailed:
		if e.Kind != kind || e.ID != 5 {
			t.Errorf("want %d, got failure of %d: %s, %s", kind, e.ID, e.Kind, e.Text)
		}
	default:
		t.Errorf("unexpected answer %T", e)
	}
}

func TestSetShareLeavesAForeignStateAlone(t *testing.T) {
	foreign := plans.Weights{Primary: 50, Backup: 50, PrimaryOn: true, BackupOn: true}
	tests := []struct {
		name string
		have plans.Weights
		act  rollout.SetShare
		kind rollout.FailureKind
	}{
		{"somebody else moved the weights", foreign, rollout.SetShare{Names: names, Want: drained, Before: origin}, rollout.Conflict},
		{"the way back does not ask who", foreign, rollout.SetShare{Names: names, Want: drained, Before: origin, Force: true}, 0},
		{"half way, left by a crash", plans.Weights{Primary: 60, Backup: 100, PrimaryOn: true, BackupOn: true}, rollout.SetShare{Names: names, Want: drained, Before: origin}, 0},
		{"a disabled record was given a weight that enabling would expose", plans.Weights{Primary: 60, Backup: 100, PrimaryOn: false, BackupOn: true}, rollout.SetShare{Names: names, Want: tenth, Before: drained}, rollout.Conflict},
		{"on the way up from zero", plans.Weights{Primary: 1, Backup: 90, PrimaryOn: true, BackupOn: true}, rollout.SetShare{Names: names, Want: tenth, Before: drained}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newCloud()
			r := c.state.DNS.Records
			r[0].Weight, r[0].Enabled, r[1].Weight, r[1].Enabled = test.have.Primary, test.have.PrimaryOn, test.have.Backup, test.have.BackupOn
			checkOutcome(t, do(t, c, test.act), test.kind)
			if test.kind == rollout.Conflict && len(c.writes) > 0 {
				t.Errorf("wrote %v over a foreign state", c.writes)
			}
			if test.kind == 0 && !c.weights().Equal(test.act.Want) {
				t.Errorf("weights are %s", c.weights())
			}
		})
	}
}

func TestSetShareRefusesRecordsThatAreNotAPair(t *testing.T) {
	c := newCloud()
	c.state.DNS.Records = append(c.state.DNS.Records, c.state.DNS.Records[0])
	checkOutcome(t, do(t, c, rollout.SetShare{Names: names, Want: drained, Before: origin}), rollout.Missing)
	if len(c.writes) > 0 {
		t.Errorf("wrote %v", c.writes)
	}
}

func TestSetTLSThroughTheFaultsOfAnAPI(t *testing.T) {
	on := plans.TLSTarget{Enabled: plans.TLSSetOf(plans.TLS12, plans.TLS13)}
	off := plans.TLSTarget{Enabled: plans.TLSSetOf(plans.TLS12)}
	tests := []struct {
		name   string
		script []fault
		act    rollout.SetTLS
		kind   rollout.FailureKind
		writes int
	}{
		{"all goes well", nil, rollout.SetTLS{Want: on, Before: off}, 0, 1},
		{"the answer is lost after the write landed", []fault{failedAfter}, rollout.SetTLS{Want: on, Before: off}, 0, 1},
		{"the write is lost", []fault{lost}, rollout.SetTLS{Want: on, Before: off}, rollout.Unknown, 0},
		{"nothing to do", nil, rollout.SetTLS{Want: off, Before: off}, 0, 0},
		{"somebody else changed it", nil, rollout.SetTLS{Want: on, Before: plans.TLSTarget{Enabled: plans.TLSSetOf(plans.TLS10)}}, rollout.Conflict, 0},
		{"back to the vendor's default", nil, rollout.SetTLS{Want: plans.TLSTarget{Absent: true}, Before: off}, 0, 1},
		{"denied", []fault{denied}, rollout.SetTLS{Want: on, Before: off}, rollout.Denied, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newCloud()
			c.script = test.script
			checkOutcome(t, do(t, c, test.act), test.kind)
			if len(c.tls) != test.writes {
				t.Errorf("%d writes landed, want %d: %v", len(c.tls), test.writes, c.tls)
			}
		})
	}
}

func TestRehearsalChangesNothing(t *testing.T) {
	c := newCloud()
	checkOutcome(t, do(t, c, rollout.Rehearse{Names: names}), 0)
	if diff := cmp.Diff([]plans.DNSWrite{write(guardrails.Primary, "1", plans.SetWeight, 60)}, c.writes); diff != "" {
		t.Errorf("writes mismatch (-want +got):\n%s", diff)
	}
	if !c.weights().Equal(origin) {
		t.Errorf("weights are %s", c.weights())
	}
	c = newCloud()
	c.script = []fault{denied}
	checkOutcome(t, do(t, c, rollout.Rehearse{Names: names}), rollout.Denied)
}

// behind is records of which every second read shows the state before the last write, as a server that is behind the others would.
type behind struct {
	records
	reads int
}

func (b *behind) Read(ctx context.Context) (plans.DNSState, error) {
	b.reads++
	now, err := b.records.Read(ctx)
	if len(b.writes) > 0 && b.reads%2 == 0 {
		return b.old, err
	}
	return now, err
}

// A read that shows what a command has left behind, after another one had shown its write, comes from a server that is behind. Nothing is
// written because of it.
func TestSetShareDoesNotBelieveAServerThatIsBehind(t *testing.T) {
	for first := range 2 {
		c := newCloud()
		p := ports(c)
		p.DNS = &behind{records: records{c}, reads: first}
		x := engine.Executor{Plan: plan, Ports: p}
		x.Do(t.Context(), rollout.Command{ID: 5, Action: rollout.SetShare{Names: names, Want: drained, Before: origin}})
		if diff := cmp.Diff(drain, c.writes); diff != "" {
			t.Errorf("writes when read %d is the first that is behind (-want +got)\n%s", first, diff)
		}
	}
}

// What a controller that was taken over had sent may land while the new one waits. What it reads and writes comes after that.
func TestNothingIsReadBeforeTheWaitForAnothersLastCall(t *testing.T) {
	for _, a := range []rollout.Action{
		rollout.Rehearse{Names: names}, rollout.SetShare{Names: names, Want: tenth, Before: drained, Force: true},
	} {
		c := newCloud()
		p := ports(c)
		waited := false
		p.MayWrite = func(ctx context.Context) error {
			if waited {
				return nil
			}
			waited = true
			return records{c}.Write(ctx, write(guardrails.Primary, "1", plans.SetWeight, 10)) // the other's last call
		}
		x := engine.Executor{Plan: plan, Ports: p}
		x.Do(t.Context(), rollout.Command{ID: 5, Action: a})
		for i, w := range c.writes[1:] {
			if w.Leg == guardrails.Primary && w.Action == plans.SetWeight && w.Weight != 10 {
				t.Errorf("%T: write %d is %+v, from what was read before", a, i+1, w)
			}
		}
		if len(c.writes) < 2 {
			t.Errorf("%T wrote nothing", a)
		}
	}
}
