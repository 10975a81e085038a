package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/tlsroll/tlsroll/controller/rollout"
)

// Status prints one screen: where the run is, what it waits for, the four weights, every guardrail against its limit.
// writer is the process that drives it; "" when there is none.
func Status(out io.Writer, r rollout.Run, writer string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "run      %s\n", r.ID)
	if r.Plan == nil {
		fmt.Fprintf(&b, "phase    %s\n", r.Phase())
		_, err := io.WriteString(out, b.String())
		return err
	}
	zone := r.Plan.Location()
	fmt.Fprintf(&b, "plan     %s on %s, %s\n", r.Plan.Name, r.Plan.Domain, r.Digest)
	fmt.Fprintf(&b, "phase    %s", r.Phase())
	if step, ok := r.Current(); ok && r.End == nil {
		fmt.Fprintf(&b, ", %s step %d of %d: %s", r.Way, r.Step+1, len(r.List()), rollout.StepName(step))
	}
	fmt.Fprintf(&b, "\nat       %s (%s)\n", r.At.In(zone).Format("2006-01-02 15:04:05 -07:00"), r.At.UTC().Format("15:04:05Z"))
	fmt.Fprintf(&b, "live     %s\n", r.Live())
	if r.BackWhy != "" {
		fmt.Fprintf(&b, "back     %s\n", r.BackWhy)
	}
	if r.End != nil {
		fmt.Fprintf(&b, "ended    %s\n", r.End.Why)
	} else if writer == "" {
		b.WriteString("process  NONE: nobody watches this run or its guardrails; apply the same plan with the same store to go on\n")
	} else if _, text := Awaiting(r, zone); text != "" {
		fmt.Fprintf(&b, "process  %s\nwaits    %s\n", writer, text)
	}
	b.WriteString("\nsteps\n")
	for _, p := range r.Steps {
		fmt.Fprintf(&b, "  %s  %-7s %-34s %s\n", p.Entered.In(zone).Format("15:04:05"), p.Way, p.Name, FourWeights(p))
	}
	if len(r.Verdicts) > 0 {
		b.WriteString("\nguardrails\n")
		for _, v := range r.Verdicts {
			fmt.Fprintf(&b, "  %s\n", VerdictLine(v))
		}
	}
	if expected := r.Expected(); len(expected) > 0 {
		b.WriteString("\nexpected\n")
		for _, x := range expected {
			fmt.Fprintf(&b, "  %s\n", ExpectedLine(x))
		}
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("print status: %w", err)
	}
	return nil
}

// Timeline prints the end of a demo: the run as a table, and what the lab saw.
func Timeline(out io.Writer, r rollout.Run, d LabDoc) {
	fmt.Fprintf(out, "\ntimeline (%s)\n", r.Plan.Location())
	zone := r.Plan.Location()
	for _, p := range r.Steps {
		fmt.Fprintf(out, "  %s  %-7s %-36s %s\n", p.Entered.In(zone).Format("15:04:05"), p.Way, p.Name, FourWeights(p))
	}
	fmt.Fprintf(out, "  %s  %s\n\n", r.At.In(zone).Format("15:04:05"), r.End.Phase)
	if expected := r.Expected(); len(expected) > 0 {
		fmt.Fprintln(out, "expected of the change, by the newest half hour")
		for _, x := range expected {
			fmt.Fprintf(out, "  %s\n", ExpectedLine(x))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "at the start  %s\nat the end    %s\n", d.StateAtTheStart, d.StateAtTheEnd)
	if d.FirstWrite != nil {
		fmt.Fprintf(out, "way back      first write %.0f ms after the deciding fetch", 1000**d.FirstWrite)
		if d.LeversApart != nil {
			fmt.Fprintf(out, ", the two levers %.0f ms apart", 1000**d.LeversApart)
		}
		fmt.Fprintln(out, " (wall time)")
	}
	fmt.Fprintf(out, "took          %.0f s\n", d.WallSeconds)
}
