package view

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// PlanDoc is a dry-run: what an apply would do if nothing goes wrong, and the way back from each step.
type PlanDoc struct {
	Schema     string     `json:"schema"`
	Plan       string     `json:"plan"`
	Domain     string     `json:"domain"`
	Ticket     string     `json:"ticket,omitempty"`
	Digest     string     `json:"digest"`
	Zone       string     `json:"timezone"`
	ReadAt     time.Time  `json:"state_read_at"`
	State      []string   `json:"state"`
	Refused    []string   `json:"preflight_would_refuse"`
	Notes      []string   `json:"notes"`
	HasChanges bool       `json:"has_changes"`
	Outcome    string     `json:"outcome"`
	Forward    []PlanStep `json:"forward"`
	Back       []BackPlan `json:"back"`
}

// PlanStep is one step with its writes in order and when it would begin, at the earliest.
type PlanStep struct {
	Name   string    `json:"name"`
	Begins time.Time `json:"begins"`
	Proved time.Time `json:"proved"`
	Writes []string  `json:"writes"`
}

// BackPlan is the way back from one forward step.
type BackPlan struct {
	From    string     `json:"from_step"`
	Outcome string     `json:"outcome"`
	Drained string     `json:"levers_pulled_and_read_back_in"`
	Whole   string     `json:"whole_way_in"`
	Steps   []PlanStep `json:"steps"`
}

// PlanTable prints a dry-run for people.
func PlanTable(out io.Writer, d PlanDoc) error {
	zone, err := time.LoadLocation(d.Zone)
	if err != nil {
		zone = time.UTC
	}
	var b strings.Builder
	fmt.Fprintf(&b, "plan     %s on %s, ticket %s\n", d.Plan, d.Domain, orNone(d.Ticket))
	fmt.Fprintf(&b, "digest   %s\n", d.Digest)
	fmt.Fprintf(&b, "state    read %s (%s); times below are %s\n", d.ReadAt.In(zone).Format("2006-01-02 15:04:05 -07:00"), d.ReadAt.UTC().Format("15:04:05Z"), d.Zone)
	list(&b, "         ", d.State)
	if len(d.Refused) > 0 {
		b.WriteString("\npreflight would refuse to start\n")
		list(&b, "  - ", d.Refused)
	}
	if len(d.Forward) > 0 {
		fmt.Fprintf(&b, "\nforward, if nothing goes wrong: %s\n", d.Outcome)
		steps(&b, d.Forward, zone)
	}
	for _, back := range d.Back {
		fmt.Fprintf(&b, "\nback, from %q: %s; both levers pulled and read back in %s, the whole way in %s\n", back.From, back.Outcome, back.Drained, back.Whole)
		steps(&b, back.Steps, zone)
	}
	if len(d.Notes) > 0 {
		b.WriteString("\nnotes\n")
		list(&b, "  - ", d.Notes)
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("print plan: %w", err)
	}
	return nil
}

func list(b *strings.Builder, prefix string, items []string) {
	for _, s := range items {
		b.WriteString(prefix + s + "\n")
	}
}

func steps(b *strings.Builder, steps []PlanStep, zone *time.Location) {
	for _, s := range steps {
		fmt.Fprintf(b, "  %s  %s\n", s.Begins.In(zone).Format("15:04:05"), s.Name)
		list(b, "            ", s.Writes)
		if !s.Proved.IsZero() {
			fmt.Fprintf(b, "  %s    proved\n", s.Proved.In(zone).Format("15:04:05"))
		}
	}
}
