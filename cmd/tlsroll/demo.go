package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// demoSpeed lets the two and a half hours up to the end of the last bake pass in a good minute. The observation until the evening would
// take as long again and more, so the demo promotes it after demoObserve, as a person may.
const (
	demoSpeed   = 120
	demoObserve = 10 * time.Minute
)

func newDemo(io stdio) *cobra.Command {
	var o labOptions
	var store string
	var full bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Carry out a whole change against the lab, in a minute or two, without any account",
		Args:  cobra.NoArgs,
	}
	output := outputFlag(cmd, "lines", "json")
	o.flags(cmd, demoSpeed)
	cmd.Flags().StringVar(&store, "store", "", "journal: sqlite:PATH (default a temporary file)")
	cmd.Flags().BoolVar(&full, "full", false, "observe until the evening, as the plan says; with --speed 720 that takes a minute and a half")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if listFaults(io, cmd) {
			return nil
		}
		o.output = *output
		return runDemo(cmd, io, o, store, promoter(full))
	}
	return cmd
}

// promoter approves what asks for approval, and ends an observation early, once, when everything is CLEAR; with full it waits.
func promoter(full bool) func(rollout.Run) rollout.Event {
	done, approved := full, -1
	return func(r rollout.Run) rollout.Event {
		step, ok := r.Current()
		if r.Stage == rollout.StageApproving && r.Step != approved && r.Way == rollout.Forward {
			approved = r.Step
			return rollout.Approved{Actor: "demo", Comment: "a demo asks nobody"}
		}
		if _, observing := step.(plans.Observe); done || !ok || !observing || r.Way == rollout.Back || r.Held != nil {
			return nil
		}
		for _, v := range r.Verdicts {
			if !v.Passes() {
				return nil
			}
		}
		if entered := r.Steps[len(r.Steps)-1].Entered; r.At.Sub(entered) < demoObserve {
			return nil
		}
		done = true
		return rollout.PromoteOrdered{Actor: "demo", Reason: "nobody waits for the evening in a demo; --full does"}
	}
}

func runDemo(cmd *cobra.Command, io stdio, o labOptions, storeFlag string, order func(rollout.Run) rollout.Event) error {
	dir, err := os.MkdirTemp("", "tlsroll-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	l, clock, err := o.start(cmd.Context(), io, dir, time.Minute, false)
	if err != nil {
		return err
	}
	defer l.Close()
	path := filepath.Join(dir, "journal.db")
	if storeFlag != "" {
		if path, err = storePath(io, storeFlag); err != nil {
			return err
		}
	}
	text := l.PlanSource()
	plan, problems := plans.Parse("the lab's plan", []byte(text))
	if problems.HasErrors() {
		return fmt.Errorf("the lab's plan does not parse: %w", problems)
	}
	var first plans.State
	l.With(func(now time.Time, w *world.World) { first = w.State(now) })
	for k, v := range l.Env() {
		io.env = append(io.env, k+"="+v)
	}
	talk := io.out
	if o.output == "json" {
		talk = io.err
	}
	lines := view.NewLines(talk, plan.Location())
	lines.Talk(fmt.Sprintf("lab on 127.0.0.1, fault %s, %g run seconds a second; plan %s through the real SDKs", o.fault, o.speed, plan.Name))
	began := time.Now()
	run, err := (&local{io: io, plan: plan, clock: clock, store: path, watch: lines.Turn, tell: lines.Tell, talk: lines.Talk, order: order, claimTTL: engine.LeaseTTL}).do(cmd.Context())
	if err != nil {
		return err
	}
	doc := labDoc(l, o, run, first, time.Since(began))
	if o.output == "json" {
		d := view.NewRunDoc(run)
		d.Lab = &doc
		if err := view.JSON(io.out, d); err != nil {
			return err
		}
	} else {
		view.Timeline(io.out, run, doc)
	}
	return ended(run)
}

// labDoc says what the lab saw.
func labDoc(l *lab.Lab, o labOptions, run rollout.Run, first plans.State, took time.Duration) view.LabDoc {
	d := view.LabDoc{Fault: o.fault, Speed: o.speed, Seed: o.seed, WallSeconds: took.Seconds(), Writes: []view.CallDoc{}}
	var last plans.State
	l.With(func(now time.Time, w *world.World) { last = w.State(now) })
	d.StateAtTheStart, d.StateAtTheEnd = stateText(run.Plan, first), stateText(run.Plan, last)
	d.RestoredAtEnd = d.StateAtTheStart == d.StateAtTheEnd
	calls := l.Calls()
	for _, c := range calls {
		if c.Write {
			d.Writes = append(d.Writes, view.CallDoc{Wall: c.Wall, Virtual: c.Virtual, Call: callText(c.API, c.Params)})
		}
	}
	if run.Way == rollout.Back {
		began, ended := pulled(run)
		backTimes(&d, calls, began, ended)
	}
	return d
}

// backTimes measures the way back on the wall: from the last fetch before it to the first write, and between the two levers.
// Only the writes of the way back's first step count: a lever that is where it should be already has none.
func backTimes(d *view.LabDoc, calls []lab.Call, began, ended time.Time) {
	fetch, fetched := lastCall(calls, func(c lab.Call) bool { return c.Virtual.Before(began) && strings.HasPrefix(c.API, "prometheus:") })
	dns, wroteDNS := firstWrite(calls, "alidns:", began, ended)
	tls, wroteTLS := firstWrite(calls, "cdn:", began, ended)
	if wroteDNS && wroteTLS {
		d.LeversApart = new(dns.Sub(tls).Abs().Seconds())
	}
	if !wroteDNS || wroteTLS && tls.Before(dns) {
		dns = tls
	}
	if fetched && (wroteDNS || wroteTLS) {
		d.DecidingFetch, d.FirstWrite = &fetch, new(dns.Sub(fetch).Seconds())
	}
}

func lastCall(calls []lab.Call, f func(lab.Call) bool) (at time.Time, found bool) {
	for _, c := range calls {
		if f(c) {
			at, found = c.Wall, true
		}
	}
	return at, found
}

func firstWrite(calls []lab.Call, prefix string, began, ended time.Time) (at time.Time, found bool) {
	for _, c := range calls {
		if c.Write && !c.Virtual.Before(began) && c.Virtual.Before(ended) && strings.HasPrefix(c.API, prefix) {
			return c.Wall, true
		}
	}
	return at, false
}

// pulled is when the first step of the way back began and ended.
func pulled(run rollout.Run) (began, ended time.Time) {
	began, ended = run.At, run.At
	for _, p := range run.Steps {
		if p.Way == rollout.Back && p.Index == 0 {
			return p.Entered, p.Left
		}
	}
	return began, ended
}

func stateText(p *plans.Plan, s plans.State) string {
	var parts []string
	for _, r := range s.DNS.Records {
		state := "disabled"
		if r.Enabled {
			state = "enabled"
		}
		parts = append(parts, fmt.Sprintf("record %s weight %d %s", r.ID, r.Weight, state))
	}
	w, _ := s.Weights(p.DNS.Line)
	return fmt.Sprintf("%s share %s; %s TLS %s", strings.Join(parts, ", "), w.Share(), guardrails.Primary, s.Primary.TLS.Enabled)
}

// callText prints a call that the lab received as plan prints the one that it would make: parameters by name.
func callText(api string, params map[string]string) string {
	names := make([]string, 0, len(params))
	for n := range params {
		names = append(names, n)
	}
	slices.Sort(names)
	words := []string{api}
	for _, n := range names {
		words = append(words, n+"="+params[n])
	}
	return strings.Join(words, " ")
}
