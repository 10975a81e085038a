package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/plans/examples"
	"github.com/tlsroll/tlsroll/providers/lab"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// maxSpeed is where a run minute takes 30 ms on the wall.
const maxSpeed = 2000

// labOptions are the flags that demo and lab share.
type labOptions struct {
	fault  string
	speed  float64
	seed   uint64
	plan   string
	output string
}

func (o *labOptions) flags(cmd *cobra.Command, speed float64) {
	f := cmd.Flags()
	f.StringVar(&o.fault, "fault", "none", "what goes wrong; --list-faults shows the names")
	f.Float64Var(&o.speed, "speed", speed, "run seconds a wall second")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the noise")
	f.StringVar(&o.plan, "plan", examples.Names()[0], "an embedded example, or a file")
	f.Bool("list-faults", false, "list the faults and end")
}

// listFaults prints the faults when --list-faults is given.
func listFaults(io stdio, cmd *cobra.Command) bool {
	if yes, err := cmd.Flags().GetBool("list-faults"); err != nil || !yes {
		return false
	}
	for _, f := range world.Faults() {
		fmt.Fprintf(io.out, "%-18s %s\n", f.Fault, f.Text)
	}
	return true
}

// start starts a lab for the plan. The lab's clock begins a moment before the scheduled start.
func (o *labOptions) start(ctx context.Context, io stdio, dir string, before time.Duration, unscheduled bool) (*lab.Lab, plans.Clock, error) {
	fault, err := world.ParseFault(o.fault)
	if err != nil {
		return nil, plans.Clock{}, usage(fmt.Errorf("%w; --list-faults shows the names", err))
	}
	if !(o.speed > 0 && o.speed <= maxSpeed) {
		return nil, plans.Clock{}, usage(fmt.Errorf("--speed %g: must be above 0, and %d at most: beyond that a minute passes faster than it can be looked at", o.speed, maxSpeed))
	}
	text, ok := examples.Source(o.plan)
	if !ok {
		b, err := readPlan(io, o.plan)
		if err != nil {
			return nil, plans.Clock{}, err
		}
		text = string(b)
	}
	p, problems := plans.Parse(o.plan, []byte(text))
	if problems.HasErrors() {
		fmt.Fprint(io.err, problems.Render([]byte(text)))
		return nil, plans.Clock{}, &exitError{code: exitInvalid, err: errors.New("the lab needs a plan that parses")}
	}
	start := time.Now()
	if at, ok, err := p.StartAt(); err == nil && ok {
		start = at
	}
	clock := plans.Clock{Epoch: time.Now(), Start: start.Add(-before), Speed: o.speed}
	l, err := lab.Start(ctx, lab.Options{Plan: text, Clock: clock, Dir: dir, Unscheduled: unscheduled, World: world.Config{Fault: fault, Seed: o.seed, ZeroWeight: p.DNS.Zero == plans.ZeroWeight}})
	return l, clock, err
}

func newLab(io stdio) *cobra.Command {
	var o labOptions
	var dir string
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Start the test bed alone: cloud APIs, DNS server, TLS edges and clients on loopback",
		Args:  cobra.NoArgs,
	}
	output := outputFlag(cmd, "text", "json")
	o.flags(cmd, 60)
	cmd.Flags().StringVar(&dir, "dir", "", "where to put the plan and the CA (default a temporary directory)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if listFaults(io, cmd) {
			return nil
		}
		o.output = *output
		return runLab(cmd.Context(), io, o, dir)
	}
	return cmd
}

func runLab(parent context.Context, io stdio, o labOptions, dir string) error {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if dir == "" {
		tmp, err := os.MkdirTemp("", "tlsroll-lab-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp) //nolint:errcheck // a temporary directory
		dir = tmp
	}
	l, clock, err := o.start(ctx, io, dir, 0, true)
	if err != nil {
		return err
	}
	defer l.Close()
	file := filepath.Join(dir, "plan.yaml")
	if err := os.WriteFile(file, []byte(l.PlanSource()), 0o600); err != nil {
		return err
	}
	if err := showLab(io, o, l, clock, file); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func showLab(io stdio, o labOptions, l *lab.Lab, clock plans.Clock, file string) error {
	apply := fmt.Sprintf("%s apply --local --speed %g --clock-epoch %s --virtual-start %s %s",
		os.Args[0], o.speed, clock.Epoch.UTC().Format(time.RFC3339Nano), clock.Start.UTC().Format(time.RFC3339Nano), file)
	if o.output == "json" {
		return view.JSON(io.out, map[string]any{
			"schema": "tlsroll/lab.v1", "endpoints": l.Endpoints(), "plan": file, "env": l.Env(), "speed": o.speed,
			"clock_epoch": clock.Epoch.UTC(), "virtual_start": clock.Start.UTC(), "fault": o.fault, "apply": apply,
		})
	}
	e := l.Endpoints()
	fmt.Fprintf(io.out, "lab          fault %s, seed %d, until Ctrl-C\n", o.fault, o.seed)
	fmt.Fprintf(io.out, "clock        %s at %s, %g run seconds a second\n", clock.Start.UTC().Format(time.RFC3339), clock.Epoch.UTC().Format(time.RFC3339), o.speed)
	fmt.Fprintf(io.out, "alicloud     %s\nqiniu        %s\nprometheus   %s\ndns          %s\n", e.Alicloud, e.Qiniu, e.Prometheus, e.DNS)
	fmt.Fprintf(io.out, "edges        primary %s, backup %s, CA %s\n", strings.Join(e.PrimaryEdges, " "), strings.Join(e.BackupEdges, " "), e.CA)
	fmt.Fprintf(io.out, "plan         %s\n\nin another shell:\n", file)
	env := l.Env()
	names := make([]string, 0, len(env))
	for k := range env {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		fmt.Fprintf(io.out, "  export %s=%s\n", k, env[k])
	}
	fmt.Fprintf(io.out, "  %s\n", apply)
	return nil
}
