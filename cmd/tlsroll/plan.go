package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/schedule"
	"github.com/tlsroll/tlsroll/controller/sim"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

const planTimeout = 2 * time.Minute

func newPlan(io stdio) *cobra.Command {
	var detailed bool
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Show every write that apply would make, forward and back, and when",
		Long: `Read the live state (read permission is enough) and play the plan through the controller in virtual time.

Nothing is written. The times are the earliest possible ones.`,
		Args: cobra.ExactArgs(1),
	}
	output := outputFlag(cmd, "table", "json")
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit 2 when there are changes")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		plan, err := loadPlan(io, args[0])
		if err != nil {
			return err
		}
		doc, err := review(cmd.Context(), io, plan)
		if err != nil {
			return err
		}
		show := view.PlanTable
		if *output == "json" {
			show = func(w view.Writer, d view.PlanDoc) error { return view.JSON(w, d) }
		}
		if err := show(io.out, doc); err != nil {
			return err
		}
		switch {
		case len(doc.Refused) > 0:
			return &exitError{code: exitPrecondition, err: errors.New("preflight would refuse to start; nothing was touched")}
		case detailed && doc.HasChanges:
			return &exitError{code: exitChanges}
		}
		return nil
	}
	return cmd
}

// observation is what a dry-run starts from.
type observation struct {
	state   plans.State
	primary []plans.Handshake
	backup  []plans.Handshake
}

// review reads the live state and dry-runs the plan from it.
func review(ctx context.Context, io stdio, plan *plans.Plan) (view.PlanDoc, error) {
	limited, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	c, err := connect(io, plan, plans.Clock{}, wiring{})
	if err != nil {
		return view.PlanDoc{}, &exitError{code: exitInvalid, err: err}
	}
	now := time.Now().UTC()
	seen, err := look(limited, plan, c.ports)
	if err != nil {
		return view.PlanDoc{}, err
	}
	start := now
	at, scheduled, err := schedule.Start(plan, now)
	if err != nil {
		return view.PlanDoc{}, &exitError{code: exitInvalid, err: err}
	}
	if scheduled {
		start = at
	}
	doc := view.PlanDoc{
		Schema: "tlsroll/plan.v1", Plan: plan.Name, Domain: plan.Domain, Ticket: plan.Ticket, Digest: plans.Digest(plan), Zone: plan.Location().String(),
		ReadAt: now, State: stateLines(plan, seen), Refused: []string{}, Notes: []string{}, Forward: []view.PlanStep{}, Back: []view.BackPlan{},
	}
	for _, f := range plan.CheckState(seen.state) {
		doc.Refused = append(doc.Refused, f.String())
	}
	for _, f := range plan.Notes(seen.state) {
		doc.Notes = append(doc.Notes, f.String())
	}
	if len(doc.Refused) > 0 {
		return doc, nil
	}
	err = dryRun(limited, plan, c, seen, start, &doc)
	return doc, err
}

// look reads what preflight reads.
func look(ctx context.Context, plan *plans.Plan, ports engine.Ports) (observation, error) {
	ports.Now, ports.Pause = time.Now, func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	x := engine.Executor{Plan: plan, Ports: ports}
	var o observation
	for _, a := range []rollout.Action{rollout.ReadState{}, rollout.Handshake{Leg: guardrails.Primary}, rollout.Handshake{Leg: guardrails.Backup}} {
		switch e := x.Do(ctx, rollout.Command{ID: 1, Action: a}).(type) {
		case rollout.CommandFailed:
			return o, &exitError{code: exitPrecondition, err: errors.New("read the live state: " + e.Text)}
		case rollout.CommandSucceeded:
			switch r := e.Result.(type) {
			case rollout.StateRead:
				o.state = r.State
			case rollout.HandshakesDone:
				if a == (rollout.Handshake{Leg: guardrails.Primary}) {
					o.primary = r.Handshakes
				} else {
					o.backup = r.Handshakes
				}
			case rollout.ShareSet, rollout.TLSSet, rollout.Resolved, rollout.Done:
			}
		case rollout.Started, rollout.Resumed, rollout.MinutesArrived, rollout.SourceFailed, rollout.TimerFired, rollout.PauseOrdered, rollout.ResumeOrdered,
			rollout.PromoteOrdered, rollout.AbortOrdered, rollout.Approved:
		}
	}
	return o, nil
}

func stateLines(plan *plans.Plan, o observation) []string {
	lines := []string{}
	if w, ok := o.state.Weights(plan.DNS.Line); ok {
		lines = append(lines, fmt.Sprintf("primary carries %s of the weight (%s) on line %s", w.Share(), w, plan.DNS.Line))
	}
	tls := "on the vendor's default"
	if o.state.Primary.TLS.Explicit {
		tls = o.state.Primary.TLS.Enabled.String()
	}
	lines = append(lines, fmt.Sprintf("primary %s is %s, TLS settings: %s", o.state.Primary.CNAME, o.state.Primary.Status, tls))
	lines = append(lines, fmt.Sprintf("backup %s is %s", o.state.Backup.CNAME, o.state.Backup.Status))
	for _, h := range append(slices.Clone(o.primary), o.backup...) {
		lines = append(lines, view.HandshakeLine(h))
	}
	return lines
}

// dryRun plays the plan forward, and back from every step that has changed something.
func dryRun(ctx context.Context, plan *plans.Plan, c *connections, o observation, start time.Time, doc *view.PlanDoc) error {
	opts := sim.Options{Default: accepted(o.primary), Backup: accepted(o.backup)}
	night, err := sim.DryRun(ctx, plan, o.state, start, opts)
	if err != nil {
		return err
	}
	doc.Outcome = outcome(night.Run)
	if night.Run.End.Phase == rollout.Halted {
		doc.Refused = append(doc.Refused, night.Run.End.Why)
		return nil
	}
	doc.Forward = planSteps(c, night, rollout.Forward)
	doc.HasChanges = len(night.Writes) > 0
	for i, s := range plan.Steps {
		if !changes(s) {
			continue
		}
		back, err := sim.DryRunBack(ctx, plan, o.state, start, i, opts)
		if err != nil {
			return err
		}
		b := view.BackPlan{From: rollout.StepName(s), Outcome: outcome(back.Run), Steps: planSteps(c, back, rollout.Back)}
		for _, p := range back.Run.Steps {
			if p.Way == rollout.Back {
				b.Drained = p.Applied.Sub(p.Entered).Round(time.Second).String()
				b.Whole = back.Run.At.Sub(p.Entered).Round(time.Minute).String()
				break
			}
		}
		doc.Back = append(doc.Back, b)
	}
	return nil
}

func accepted(hs []plans.Handshake) plans.TLSSet {
	if len(hs) == 0 {
		return 0
	}
	return hs[0].Accepted
}

func outcome(r rollout.Run) string { return r.End.Phase.String() + ", " + r.End.Why }

// changes reports whether a step writes anything.
func changes(s plans.Step) bool {
	switch s.(type) {
	case plans.Shift, plans.TLS, plans.Together:
		return true
	case plans.Bake, plans.Observe, plans.Approve, plans.Call, plans.Verify:
	}
	return false
}

// planSteps sorts the writes of a night into its steps. What is written before the first step is the rehearsal.
func planSteps(c *connections, n sim.Night, way rollout.Way) []view.PlanStep {
	var out []view.PlanStep
	if way == rollout.Forward {
		out = append(out, view.PlanStep{Name: "preflight", Begins: n.Run.Begun, Writes: []string{}})
	}
	for _, p := range n.Run.Steps {
		if p.Way == way {
			out = append(out, view.PlanStep{Name: p.Name, Begins: p.Entered, Proved: p.Verified, Writes: []string{}})
		}
	}
	for _, w := range n.Writes {
		if i := stepAt(n, out, w.At, way); i >= 0 {
			out[i].Writes = append(out[i].Writes, describe(c, w))
		}
	}
	return out
}

// stepAt finds the step during which an instant lies; -1 when it lies on the other way.
func stepAt(n sim.Night, steps []view.PlanStep, at time.Time, way rollout.Way) int {
	if way == rollout.Forward && n.Run.Way == rollout.Back {
		return -1
	}
	found := -1
	for i, s := range steps {
		if !s.Begins.After(at) {
			found = i
		}
	}
	return found
}

func describe(c *connections, w world.Write) string {
	call := c.dns.Describe(w.DNS)
	if w.Lever == world.LeverTLS {
		call = c.primary.DescribeTLS(w.TLS)
	}
	params := map[string]string{}
	for _, p := range call.Params {
		params[p.Name] = p.Value
	}
	return callText(call.API, params)
}
