package view

import (
	"fmt"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
)

// ExpectedDoc is one expectation against what came. Changes and their interval are percent.
type ExpectedDoc struct {
	Signal   string   `json:"signal"`
	Expected string   `json:"expected"`
	Outcome  string   `json:"outcome"`
	Source   string   `json:"source,omitempty"`
	Platform string   `json:"platform,omitempty"`
	Before   *float64 `json:"before"`
	After    *float64 `json:"after"`
	Raw      *float64 `json:"change_as_measured"`
	Change   *float64 `json:"change"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	Minutes  int      `json:"minutes"`
	Requests float64  `json:"requests"`
	Adjusted bool     `json:"adjusted_for_time_of_day"`
	TooGood  bool     `json:"beyond_the_drop_guardrail"`
}

func expectedDocs(r rollout.Run) []ExpectedDoc {
	out := []ExpectedDoc{}
	for _, x := range r.Expected() {
		e := x.Effect
		d := ExpectedDoc{
			Signal: e.Signal.String(), Expected: wanted(x), Outcome: x.Outcome.String(), Source: e.Source, Platform: e.Platform,
			Minutes: e.Minutes, Requests: e.Requests, Adjusted: e.Adjusted, TooGood: e.TooGood,
		}
		if x.Outcome != rollout.Unseen {
			d.Before, d.After, d.Raw, d.Change = new(e.Before), new(e.After), new(e.Raw), new(e.Change)
			d.Low, d.High = new(e.Low), new(e.High)
		}
		out = append(out, d)
	}
	return out
}

func wanted(x rollout.Expected) string {
	if x.Expectation.Above > 0 {
		return "above " + x.Expectation.Above.String()
	}
	return fmt.Sprintf("%+g %%", float64(x.Expectation.Change))
}

// ExpectedLine says an expectation and what came in one line.
func ExpectedLine(x rollout.Expected) string {
	e := x.Effect
	name := e.Signal.String()
	if e.Platform != "" {
		name += " " + e.Platform
	}
	row := fmt.Sprintf("%-8s %-22s expected %-10s", x.Outcome, name, wanted(x))
	if x.Outcome == rollout.Unseen {
		return row + " no source has measured it for 20 minutes at this share"
	}
	row += fmt.Sprintf(" %s to %s", rollout.Quantity(e.Signal, e.Before), rollout.Quantity(e.Signal, e.After))
	if e.Signal != guardrails.TLS13Share {
		row += fmt.Sprintf(", %+.1f %% (95 %%: %+.1f to %+.1f)", e.Change, e.Low, e.High)
	}
	if !e.Adjusted {
		row += ", the time of day is not taken out"
	}
	if e.TooGood {
		row += ", MORE than its drop guardrail calls normal"
	}
	return row
}
