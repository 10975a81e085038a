package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/controller/schedule"
	"github.com/tlsroll/tlsroll/controller/sim"
	"github.com/tlsroll/tlsroll/plans"
)

// simulating is what the flags of simulate say.
type simulating struct {
	nights int
	seed   uint64
	night  int
	output string
}

// gcPercent trades memory for time: a night leaves 15 MB of garbage behind, and less than 1 MB of it lives at once.
const gcPercent = 800

// maxNights bounds what is kept in memory: an outcome is a few hundred bytes.
const maxNights = 1_000_000

func newSimulate(io stdio) *cobra.Command {
	var s simulating
	cmd := &cobra.Command{
		Use:   "simulate FILE",
		Short: "Play a plan through random nights, and look for a broken law",
		Long: `Play a plan through random nights in virtual time: other traffic, faults of the change, cloud APIs that fail before and after
they have done what was asked, reads that are behind, measurements that are late or missing, people who give orders at bad
moments, other hands, crashes, takeovers, clocks that jump. A watcher judges every night from outside, by the laws in
controller/rollout: what may be written when, what an end must leave behind, that every night ends.

A night is a function of plan, seed and number alone: the same command prints the same text on every machine. --night N plays
night N of the seed again and prints what happened in it. A long observation at the end is cut short by a promote in all
but one of 4,000 nights.

The exit code is 1 when a law was broken, and 0 otherwise. Nothing is asked of any provider, and no credentials are needed.`,
		Args: cobra.ExactArgs(1),
	}
	output := outputFlag(cmd, "table", "json")
	cmd.Flags().IntVar(&s.nights, "nights", 1000, "how many nights, 1 to 1000000")
	cmd.Flags().Uint64Var(&s.seed, "seed", 1, "seed of the random numbers")
	cmd.Flags().IntVar(&s.night, "night", -1, "play this one night of the seed, and print its events")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s.output = *output
		return s.run(cmd.Context(), io, args[0])
	}
	return cmd
}

func (s *simulating) run(ctx context.Context, io stdio, file string) error {
	if s.nights < 1 || s.nights > maxNights {
		return usage(fmt.Errorf("--nights %d is not from 1 to %d", s.nights, maxNights))
	}
	plan, err := loadPlan(io, file)
	if err != nil {
		return err
	}
	start, err := simulatedStart(plan)
	if err != nil {
		return &exitError{code: exitInvalid, err: err}
	}
	debug.SetGCPercent(gcPercent)
	var outcomes []sim.Outcome
	if s.night >= 0 {
		outcomes = []sim.Outcome{sim.Random(ctx, plan, start, s.seed, s.night, s.tracer(io))}
	} else if outcomes, err = sim.Simulate(ctx, plan, start, s.seed, s.nights); err != nil {
		return err
	}
	report := sim.Summarise(outcomes)
	doc := view.NewSimulateDoc(plan, start, s.seed, simulateCounts(report))
	if s.output == "json" {
		err = view.JSON(io.out, doc)
	} else {
		err = view.SimulateTable(io.out, doc)
	}
	if err == nil && len(report.Broken) > 0 {
		err = &exitError{
			code: exitUnexpected, err: errors.New("a law was broken"),
			hint: fmt.Sprintf("tlsroll simulate %s --seed %d --night %d prints what happened", file, s.seed, report.Broken[0].Night),
		}
	}
	return err
}

// tracer prints the events of a night where a person reads.
func (s *simulating) tracer(io stdio) func(string, ...any) {
	out := io.out
	if s.output == "json" {
		out = io.err
	}
	return func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
}

// unscheduled is when a plan without a schedule begins: any night will do, but it must be the same one each time.
func unscheduled() time.Time { return time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC) }

func simulatedStart(p *plans.Plan) (time.Time, error) {
	at, scheduled, err := schedule.Start(p, unscheduled())
	if err != nil || scheduled {
		return at, err
	}
	return unscheduled(), nil
}

// simulateCounts translates a report for the view.
func simulateCounts(r sim.Report) view.SimulateCounts {
	c := view.SimulateCounts{
		Nights: r.Nights, Records: r.Records, Crashes: r.Crashes, Takeovers: r.Takeover, Suspends: r.Suspends, Jumps: r.Jumps, Twins: r.Twins,
		HarmSeen: r.Verdicts[sim.HarmSeen], HarmMissed: r.Verdicts[sim.HarmMissed], QuietDone: r.Verdicts[sim.QuietDone], QuietBack: r.Verdicts[sim.QuietBack],
		Detection: slow(r.Slowest), Write: slow(r.Write), Ends: []view.NamedCount{}, Laws: []view.NamedCount{}, Faults: []view.FaultDoc{}, Broken: []view.BrokenDoc{},
		Alarms: []view.AlarmDoc{},
	}
	for _, e := range r.Ends {
		c.Ends = append(c.Ends, view.NamedCount{Name: e.Phase.String(), Nights: e.Nights})
	}
	for _, f := range r.Faults {
		c.Faults = append(c.Faults, view.FaultDoc{Fault: f.Fault.String(), Nights: f.Nights, Succeeded: f.Succeeded, Back: f.Back, Stopped: f.Stopped, Met: f.Met, Seen: f.Seen})
	}
	for _, l := range r.BrokenLaws {
		c.Laws = append(c.Laws, view.NamedCount{Name: l.Law, Nights: l.Nights})
	}
	for _, b := range r.Broken {
		c.Broken = append(c.Broken, view.BrokenDoc{Law: b.Law, Night: b.Night, Seed: b.Seed, Record: b.Record, At: b.At.UTC(), Text: b.Text})
	}
	for _, o := range r.QuietBack {
		c.Alarms = append(c.Alarms, view.AlarmDoc{Night: o.Index, Fault: o.Fault.String(), End: o.End.String(), Why: o.Why})
	}
	return c
}

func slow(s sim.Slow) *view.SlowDoc {
	if s.Took == 0 {
		return nil
	}
	return &view.SlowDoc{Took: s.Took.Round(time.Millisecond).String(), Night: s.Night, Fault: s.Fault.String()}
}
