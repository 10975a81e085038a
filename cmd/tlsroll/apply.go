package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/plans"
)

type applyOptions struct {
	io       stdio
	file     string
	local    bool
	store    *string
	log      string
	again    bool
	resume   bool
	standby  bool
	claimTTL time.Duration
	output   string
	speed    float64
	epoch    string
	virtual  string
}

func newApply(io stdio) *cobra.Command {
	o := applyOptions{io: io}
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Carry out a plan now, or at its scheduled time",
		Long: `Carry out a plan in this process, or go on with a run of it that is not finished.

The journal is written before anything is done. Whatever ends this process, the same command goes on where the run was.
The first Ctrl-C holds the run where it is; another one, a second later, aborts and rolls back.`,
		Args: cobra.ExactArgs(1),
	}
	output := outputFlag(cmd, "lines", "json")
	f := cmd.Flags()
	f.BoolVar(&o.local, "local", false, "run in this process (this release has no daemon yet, so the flag is required)")
	o.store = storeFlag(cmd)
	f.StringVar(&o.log, "log", "", "append a log of every command to this file, as JSON lines")
	f.BoolVar(&o.again, "again", false, "start another run although the last one of this plan has ended")
	f.BoolVar(&o.standby, "standby", false, "while another process works on the domain: wait, and go on with its run when it stops or dies")
	f.DurationVar(&o.claimTTL, "claim-ttl", engine.LeaseTTL, "how long the claim on the domain outlives this process; one call to a cloud takes a third of it at most")
	f.BoolVar(&o.resume, "resume", false, "when going on with a run that a person or drift holds: end the hold")
	f.Float64Var(&o.speed, "speed", 0, "lab only: run seconds a wall second, as tlsroll lab prints it")
	f.StringVar(&o.epoch, "clock-epoch", "", "lab only: wall instant of the lab's clock (RFC 3339)")
	f.StringVar(&o.virtual, "virtual-start", "", "lab only: the lab's instant at the epoch (RFC 3339)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.file, o.output = args[0], *output
		return runApply(cmd, o)
	}
	return cmd
}

func runApply(cmd *cobra.Command, o applyOptions) error {
	if !o.local {
		return usage(errors.New("apply needs --local: this release has no daemon"))
	}
	if o.claimTTL < engine.MinLeaseTTL {
		return usage(fmt.Errorf("--claim-ttl %s: the shortest is %s", o.claimTTL, engine.MinLeaseTTL))
	}
	plan, err := loadPlan(o.io, o.file)
	if err != nil {
		return err
	}
	for i, s := range plan.Steps {
		if _, ok := s.(plans.Approve); ok {
			return &exitError{
				code: exitInvalid, err: fmt.Errorf("step %d waits for an approval, and this release has no way to give one", i+1),
				hint: "take the step out; approvals come with the daemon",
			}
		}
	}
	clock, err := o.clock(plan)
	if err != nil {
		return err
	}
	path, err := storePath(o.io, *o.store)
	if err != nil {
		return err
	}
	lines := view.NewLines(o.talkTo(), plan.Location())
	l := local{
		io: o.io, plan: plan, clock: clock, store: path, watch: lines.Turn, tell: lines.Tell, talk: lines.Talk, log: o.log, again: o.again, resume: o.resume,
		standby: o.standby, claimTTL: o.claimTTL,
	}
	run, err := l.do(cmd.Context())
	if err != nil {
		return err
	}
	if o.output == "json" {
		if err := view.RunJSON(o.io.out, run); err != nil {
			return err
		}
	}
	return ended(run)
}

// talkTo is where progress goes: beside JSON it is talk, alone it is the output.
func (o applyOptions) talkTo() view.Writer {
	if o.output == "json" {
		return o.io.err
	}
	return o.io.out
}

// clock is wall time, or the lab's. A clock that is not the wall's is refused unless everything in the plan is on this machine.
func (o applyOptions) clock(p *plans.Plan) (plans.Clock, error) {
	if o.speed == 0 && o.epoch == "" && o.virtual == "" {
		return plans.Clock{}, nil
	}
	if !loopback(p) {
		return plans.Clock{}, &exitError{
			code: exitInvalid, err: errors.New("--speed, --clock-epoch and --virtual-start are for a lab: every endpoint, edge and name server in the plan must be a loopback address"),
		}
	}
	if o.speed <= 0 || o.epoch == "" || o.virtual == "" {
		return plans.Clock{}, usage(errors.New("--speed (above 0), --clock-epoch and --virtual-start belong together"))
	}
	epoch, err := time.Parse(time.RFC3339Nano, o.epoch)
	if err != nil {
		return plans.Clock{}, usage(fmt.Errorf("--clock-epoch: %w", err))
	}
	start, err := time.Parse(time.RFC3339Nano, o.virtual)
	if err != nil {
		return plans.Clock{}, usage(fmt.Errorf("--virtual-start: %w", err))
	}
	return plans.Clock{Epoch: epoch, Start: start, Speed: o.speed}, nil
}
