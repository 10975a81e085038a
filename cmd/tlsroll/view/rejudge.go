package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
)

// RejudgeDoc compares what a run decided with what its stored minutes say now.
type RejudgeDoc struct {
	Schema          string           `json:"schema"`
	Run             string           `json:"run"`
	Records         int              `json:"records"`
	Equal           bool             `json:"equal"` // of everything that could be compared
	FirstDifference *uint64          `json:"first_difference"`
	Witness         string           `json:"not_answered_as_asked,omitempty"`
	Missing         []MissingRowsDoc `json:"missing_rows"`
	Decisions       []DecisionDoc    `json:"decisions"`
}

// MissingRowsDoc is a record whose rows are not kept.
type MissingRowsDoc struct {
	Record uint64    `json:"record"`
	Source string    `json:"source"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
}

// DecisionDoc is a record that changed the verdicts. Again is given where it differs.
type DecisionDoc struct {
	Record uint64       `json:"record"`
	At     time.Time    `json:"at"`
	Equal  bool         `json:"equal"`
	Then   []VerdictDoc `json:"then"`
	Again  []VerdictDoc `json:"again,omitempty"`

	then, again []guardrails.Verdict
}

// NewRejudgeDoc describes a second judgement. witness is the first record that answers something else than was asked; nil for none.
func NewRejudgeDoc(records []rollout.Record, judged []rollout.Rejudged, missing []uint64, witness error) RejudgeDoc {
	d := RejudgeDoc{Schema: "tlsroll/rejudge.v1", Records: len(records), Equal: witness == nil, Missing: []MissingRowsDoc{}, Decisions: []DecisionDoc{}}
	if started, ok := records[0].Event.(rollout.Started); ok {
		d.Run = string(started.Run)
	}
	if witness != nil {
		d.Witness = witness.Error()
	}
	for _, seq := range missing {
		if m, ok := records[seq-1].Event.(rollout.MinutesArrived); ok {
			d.Missing = append(d.Missing, MissingRowsDoc{Record: seq, Source: m.Batch.Source, From: m.Batch.From.Start(), To: m.Batch.To.Start()})
		}
	}
	for _, j := range judged {
		doc := DecisionDoc{Record: j.Seq, At: j.At, Equal: j.Equal(), Then: verdictDocs(j.Then), then: j.Then}
		if !doc.Equal {
			doc.Again, doc.again = verdictDocs(j.Again), j.Again
			if d.Equal = false; d.FirstDifference == nil {
				d.FirstDifference = new(j.Seq)
			}
		}
		d.Decisions = append(d.Decisions, doc)
	}
	return d
}

func verdictDocs(vs []guardrails.Verdict) []VerdictDoc {
	out := []VerdictDoc{}
	for _, v := range vs {
		out = append(out, verdictDoc(v))
	}
	return out
}

// RejudgeLines prints a second judgement for people: a line for each record that changed the verdicts, and the verdicts that are not as
// they were in the line before. Where the two judgements differ, both are printed.
func RejudgeLines(out io.Writer, d RejudgeDoc) error {
	var b strings.Builder
	states := map[string]guardrails.State{}
	for _, j := range d.Decisions {
		word := "the same again"
		if !j.Equal {
			word = "NOT THE SAME"
		}
		fmt.Fprintf(&b, "%5d  %s  %s: %s\n", j.Record, j.At.UTC().Format("2006-01-02T15:04:05.000Z"), stateCounts(j.then), word)
		for i, v := range j.then {
			key := verdictKey(v)
			was := states[key]
			states[key] = v.State
			if differs := !j.Equal && (i >= len(j.again) || !sameVerdict(j.again[i], v)); differs || j.Equal && was != v.State {
				fmt.Fprintf(&b, "         then   %s\n", VerdictLine(v))
			}
		}
		for i, v := range j.again {
			if i >= len(j.then) || !sameVerdict(j.then[i], v) {
				fmt.Fprintf(&b, "         again  %s\n", VerdictLine(v))
			}
		}
	}
	for _, m := range d.Missing {
		fmt.Fprintf(&b, "%5d  the rows of %s from %s to %s are missing\n", m.Record, m.Source, m.From.Format("2006-01-02 15:04"), m.To.Format("15:04Z"))
	}
	if d.Equal {
		fmt.Fprintf(&b, "%d records, %d decisions judged again: byte for byte the same\n", d.Records, len(d.Decisions))
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("print the second judgement: %w", err)
	}
	return nil
}

func sameVerdict(a, b guardrails.Verdict) bool { return a == b }

// stateCounts says how many verdicts there are of each state, the worst first.
func stateCounts(vs []guardrails.Verdict) string {
	var counts [guardrails.FireFast + 1]int
	for _, v := range vs {
		counts[v.State]++
	}
	var parts []string
	for s := guardrails.FireFast; s >= guardrails.Clear; s-- {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	return strings.Join(parts, ", ")
}
