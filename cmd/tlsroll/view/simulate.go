package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/plans"
)

// SimulateDoc is what came of random nights, for machines. Times are RFC 3339.
type SimulateDoc struct {
	Schema string    `json:"schema"`
	Plan   string    `json:"plan"`
	Domain string    `json:"domain"`
	Digest string    `json:"digest"`
	Start  time.Time `json:"start"`
	Seed   uint64    `json:"seed"`
	SimulateCounts
}

// SimulateCounts are the counts of a simulation.
type SimulateCounts struct {
	Nights     int          `json:"nights"`
	Records    int          `json:"records"`
	Ends       []NamedCount `json:"ends"`
	HarmSeen   int          `json:"harm_seen"`
	HarmMissed int          `json:"harm_missed"`
	QuietDone  int          `json:"quiet_done"`
	QuietBack  int          `json:"quiet_rolled_back"`
	Faults     []FaultDoc   `json:"faults"`
	Crashes    int          `json:"crashes"`
	Takeovers  int          `json:"takeovers"`
	Suspends   int          `json:"suspensions"`
	Jumps      int          `json:"clock_jumps"`
	Twins      int          `json:"twins_compared"`
	Detection  *SlowDoc     `json:"slowest_detection"`
	Write      *SlowDoc     `json:"slowest_write"`
	Alarms     []AlarmDoc   `json:"false_alarms"`
	Laws       []NamedCount `json:"laws_broken"`
	Broken     []BrokenDoc  `json:"broken"`
}

// NamedCount is how many nights something holds for.
type NamedCount struct {
	Name   string `json:"name"`
	Nights int    `json:"nights"`
}

// FaultDoc is how the nights with a fault ended. Met counts those of a harmful fault that users met, Seen those of them that did not
// succeed.
type FaultDoc struct {
	Fault     string `json:"fault"`
	Nights    int    `json:"nights"`
	Succeeded int    `json:"succeeded"`
	Back      int    `json:"rolled_back"`
	Stopped   int    `json:"stopped"`
	Met       int    `json:"harm_met"`
	Seen      int    `json:"harm_seen"`
}

// SlowDoc is the slowest of something.
type SlowDoc struct {
	Took  string `json:"took"`
	Night int    `json:"night"`
	Fault string `json:"fault"`
}

// AlarmDoc is a night that was turned round although nothing was wrong.
type AlarmDoc struct {
	Night int    `json:"night"`
	Fault string `json:"fault"`
	End   string `json:"end"`
	Why   string `json:"why"`
}

// BrokenDoc is a law that did not hold in a night.
type BrokenDoc struct {
	Law    string    `json:"law"`
	Night  int       `json:"night"`
	Seed   uint64    `json:"seed"`
	Record uint64    `json:"record"`
	At     time.Time `json:"at"`
	Text   string    `json:"text"`
}

// NewSimulateDoc puts counts under a plan's name.
func NewSimulateDoc(p *plans.Plan, start time.Time, seed uint64, c SimulateCounts) SimulateDoc {
	return SimulateDoc{Schema: "tlsroll/simulate/v1", Plan: p.Name, Domain: p.Domain, Digest: plans.Digest(p), Start: start.UTC(), Seed: seed, SimulateCounts: c}
}

// toldBroken is how many broken laws, and how many false alarms, the table names.
const toldBroken = 20

// SimulateTable prints a simulation for people.
func SimulateTable(w io.Writer, d SimulateDoc) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d random nights of %s, seed %d, each from %s\n\n", d.Nights, d.Plan, d.Seed, d.Start.Format("2006-01-02 15:04Z"))
	for _, e := range d.Ends {
		fmt.Fprintf(&b, "  %-22s %7d  %s\n", e.Name, e.Nights, rate(e.Nights, d.Nights))
	}
	fmt.Fprintf(&b, "\nA harmful fault met users in %d nights: %d did not succeed, %d succeeded all the same.\n", d.HarmSeen+d.HarmMissed, d.HarmSeen, d.HarmMissed)
	fmt.Fprintf(&b, "Nothing was wrong and nobody interfered in %d nights: %d were rolled back (%s).\n", d.QuietDone+d.QuietBack, d.QuietBack, rate(d.QuietBack, d.QuietDone+d.QuietBack))
	fmt.Fprintf(&b, "%d crashes, %d takeovers, %d suspensions, %d jumps of the clock; %d nights were compared with their twin without crashes.\n", d.Crashes, d.Takeovers, d.Suspends, d.Jumps, d.Twins)
	if s := d.Detection; s != nil {
		fmt.Fprintf(&b, "Slowest detection in an undisturbed night: %s (%s, night %d).\n", s.Took, s.Fault, s.Night)
	}
	if s := d.Write; s != nil {
		fmt.Fprintf(&b, "Slowest first write of a way back in an undisturbed night: %s (%s, night %d).\n", s.Took, s.Fault, s.Night)
	}
	fmt.Fprintf(&b, "\n  %-18s %7s %10s %12s %8s %9s %10s\n", "fault", "nights", "succeeded", "rolled back", "stopped", "harm met", "harm seen")
	for _, f := range d.Faults {
		fmt.Fprintf(&b, "  %-18s %7d %10d %12d %8d %9d %10d\n", f.Fault, f.Nights, f.Succeeded, f.Back, f.Stopped, f.Met, f.Seen)
	}
	for i, a := range d.Alarms[:min(len(d.Alarms), toldBroken)] {
		if i == 0 {
			b.WriteString("\nRolled back with nothing wrong:\n")
		}
		fmt.Fprintf(&b, "  night %d: %s: %s\n", a.Night, a.End, a.Why)
	}
	brokenLaws(&b, d)
	_, err := io.WriteString(w, b.String())
	return err
}

func brokenLaws(b *strings.Builder, d SimulateDoc) {
	if len(d.Broken) == 0 {
		b.WriteString("\nNo law was broken.\n")
		return
	}
	b.WriteString("\nLaws broken:\n")
	for _, l := range d.Laws {
		fmt.Fprintf(b, "  %s in %d nights\n", l.Name, l.Nights)
	}
	for _, x := range d.Broken[:min(len(d.Broken), toldBroken)] {
		fmt.Fprintf(b, "  %s: night %d, record %d, %s: %s\n", x.Law, x.Night, x.Record, x.At.Format(time.RFC3339), x.Text)
	}
	if more := len(d.Broken) - toldBroken; more > 0 {
		fmt.Fprintf(b, "  and %d more; -o json has all\n", more)
	}
}

func rate(n, of int) string {
	if of == 0 {
		return "none"
	}
	return fmt.Sprintf("%.2f %%", 100*float64(n)/float64(of))
}
