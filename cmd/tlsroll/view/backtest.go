package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/guardrails/backtest"
	"github.com/tlsroll/tlsroll/plans"
)

// BacktestDoc is a backtest for machines. Shares and rates are percent, times RFC 3339.
type BacktestDoc struct {
	Schema     string           `json:"schema"`
	Plan       string           `json:"plan"`
	Domain     string           `json:"domain"`
	Digest     string           `json:"digest"`
	Zone       string           `json:"zone"`
	Data       string           `json:"data"`
	First      time.Time        `json:"first_minute"`
	Last       time.Time        `json:"last_minute"`
	From       string           `json:"nights_from"`
	Assumption string           `json:"assumption"`
	Judged     int              `json:"nights_judged"`
	Thin       int              `json:"nights_too_thin"`
	All        TallyDoc         `json:"all_rules"`
	Rules      []TallyDoc       `json:"rules"`
	Sources    []SourceCountDoc `json:"sources"`
	Skipped    []SkippedNight   `json:"skipped"`
	Nights     []NightDoc       `json:"nights"`
}

// TallyDoc counts nights for a rule.
type TallyDoc struct {
	Rule        string   `json:"rule,omitempty"`
	Mode        string   `json:"mode,omitempty"`
	Nights      int      `json:"nights"`
	RolledBack  int      `json:"rolled_back"`
	Held        int      `json:"held"`
	FalseAlarms *float64 `json:"false_alarm_percent"`
	Changed     int      `json:"nights_of_a_change"`
	RolledThen  int      `json:"rolled_back_on_these"`
}

// SourceCountDoc is how much was recorded of a source.
type SourceCountDoc struct {
	Source string `json:"source"`
	Rows   int    `json:"rows"`
}

// SkippedNight is a day on which the clock does not show the start once.
type SkippedNight struct {
	Day string `json:"day"`
	Why string `json:"why"`
}

// NightDoc is one night.
type NightDoc struct {
	Day        string       `json:"day"`
	Start      time.Time    `json:"start"`
	End        time.Time    `json:"end"`
	TooThin    string       `json:"not_judged_because,omitempty"`
	Share      float64      `json:"share"`
	ShareFrom  string       `json:"share_from,omitempty"`
	Changed    bool         `json:"holds_a_change"`
	RolledBack bool         `json:"rolled_back"`
	Held       bool         `json:"held"`
	Minutes    int          `json:"minutes_judged"`
	Findings   []FindingDoc `json:"findings"`
}

// FindingDoc is what one rule did to one platform and leg in a night.
type FindingDoc struct {
	Rule       string     `json:"rule"`
	Platform   string     `json:"platform"`
	Leg        string     `json:"leg"`
	Mode       string     `json:"mode"`
	RolledBack bool       `json:"rolled_back"`
	Held       bool       `json:"held"`
	Minutes    int        `json:"minutes_judged"`
	Suspect    *MomentDoc `json:"first_suspect"`
	Blind      *MomentDoc `json:"first_blind"`
	Fire       *MomentDoc `json:"first_fire"`
}

// MomentDoc is a verdict and when it was reached.
type MomentDoc struct {
	At      time.Time  `json:"at"`
	Share   float64    `json:"share"`
	Verdict VerdictDoc `json:"verdict"`
	line    string
	span    string
}

// NewBacktestDoc describes a backtest.
func NewBacktestDoc(p *plans.Plan, in backtest.Input, r backtest.Report) BacktestDoc {
	d := BacktestDoc{
		Schema: "tlsroll/backtest.v1", Plan: p.Name, Domain: p.Domain, Zone: p.Location().String(), Rules: []TallyDoc{}, Sources: []SourceCountDoc{},
		Skipped: []SkippedNight{}, Nights: []NightDoc{},
		Assumption: "every recorded night without a change was healthy, so each rollback on one would have been a false alarm",
	}
	for _, s := range in.Sources {
		d.Sources = append(d.Sources, SourceCountDoc{Source: s.Name, Rows: len(s.Rows)})
	}
	for i, t := range r.Tallies(in.Rules) {
		doc := TallyDoc{Rule: t.Rule, Nights: t.Nights, RolledBack: t.RolledBack, Held: t.Held, Changed: t.Changed, RolledThen: t.RolledThen}
		if rate, ok := t.FalseAlarms(); ok {
			doc.FalseAlarms = new(float64(rate))
		}
		if i == 0 {
			d.All = doc
			continue
		}
		doc.Mode = in.Rules[i-1].Mode.String()
		d.Rules = append(d.Rules, doc)
	}
	for i := range r.Nights {
		n := nightDoc(&r.Nights[i], p.Location())
		if n.TooThin == "" {
			d.Judged++
		} else {
			d.Thin++
		}
		d.Nights = append(d.Nights, n)
	}
	return d
}

func nightDoc(j *backtest.Judged, zone *time.Location) NightDoc {
	n := NightDoc{
		Day: j.Start.In(zone).Format(time.DateOnly), Start: j.Start.UTC(), End: j.End.UTC(), TooThin: j.Thin, Share: float64(j.Share), ShareFrom: j.ShareFrom,
		Changed: j.Changed, Minutes: len(j.Decisions), Findings: []FindingDoc{},
	}
	for _, f := range j.Findings() {
		n.RolledBack, n.Held = n.RolledBack || f.RollBack != nil, n.Held || f.Held
		n.Findings = append(n.Findings, FindingDoc{
			Rule: f.Rule, Platform: f.Platform, Leg: f.Leg.String(), Mode: f.Mode.String(), RolledBack: f.RollBack != nil, Held: f.Held, Minutes: f.Minutes,
			Suspect: momentDoc(j, f.Suspect, zone), Blind: momentDoc(j, f.Blind, zone), Fire: momentDoc(j, f.Fire, zone),
		})
	}
	return n
}

func momentDoc(j *backtest.Judged, m *backtest.Moment, zone *time.Location) *MomentDoc {
	if m == nil {
		return nil
	}
	at := j.Decisions[m.Index]
	return &MomentDoc{
		At: at.At.UTC(), Share: float64(at.Share), Verdict: verdictDoc(m.Decision),
		line: rollout.VerdictText(m.Decision), span: clockSpan(m.Decision, zone),
	}
}

// clockSpan is the first and the last minute that decided.
func clockSpan(v guardrails.Verdict, zone *time.Location) string {
	return v.From.Start().In(zone).Format("15:04") + "-" + v.Through.Start().In(zone).Format("15:04")
}

// BacktestTable prints a backtest for people: what the rules would have done, then night by night with the minutes that decided.
func BacktestTable(out io.Writer, d BacktestDoc) error {
	zone, err := time.LoadLocation(d.Zone)
	if err != nil {
		zone = time.UTC
	}
	var b strings.Builder
	fmt.Fprintf(&b, "plan     %s on %s, %s\n", d.Plan, d.Domain, d.Digest)
	fmt.Fprintf(&b, "data     %s: %s; %s to %s; times are %s\n", d.Data, sourceCounts(d.Sources),
		d.First.In(zone).Format("2006-01-02 15:04"), d.Last.In(zone).Format("2006-01-02 15:04"), d.Zone)
	fmt.Fprintf(&b, "nights   %d from %s: %d judged, %d with too little data, %d skipped\n\n", len(d.Nights)+len(d.Skipped), strings.TrimSuffix(d.From, ":00"), d.Judged, d.Thin, len(d.Skipped))
	fmt.Fprintf(&b, "  %-28s %7s %10s %6s %13s\n", "rule", "nights", "roll back", "hold", "false alarms")
	for _, t := range append(slices.Clip(d.Rules), d.All) {
		fmt.Fprintf(&b, "  %-28s %7d %10d %6d %13s\n", ruleName(t), t.Nights, t.RolledBack, t.Held, rateText(t))
	}
	fmt.Fprintf(&b, "\nassumed: %s\n", d.Assumption)
	if d.All.Changed > 0 {
		fmt.Fprintf(&b, "%d more with a change in them are not counted: %d would have rolled back\n", d.All.Changed, d.All.RolledThen)
	}
	b.WriteString("\n")
	for _, n := range d.Nights {
		nightLines(&b, n, zone)
	}
	for _, s := range d.Skipped {
		fmt.Fprintf(&b, "%s  skipped    %s\n", s.Day, s.Why)
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("print backtest: %w", err)
	}
	return nil
}

func sourceCounts(sources []SourceCountDoc) string {
	var parts []string
	for _, s := range sources {
		parts = append(parts, fmt.Sprintf("%s %d rows", s.Source, s.Rows))
	}
	return strings.Join(parts, ", ")
}

func ruleName(t TallyDoc) string {
	switch {
	case t.Rule == "":
		return "all rules"
	case t.Mode == guardrails.Shadow.String():
		return t.Rule + " (shadow)"
	}
	return t.Rule
}

func rateText(t TallyDoc) string {
	if t.FalseAlarms == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f %%", *t.FalseAlarms)
}

// nightLines prints a night: one line when nothing happened, and one more for each first moment of a rule.
func nightLines(b *strings.Builder, n NightDoc, zone *time.Location) {
	if n.TooThin != "" {
		fmt.Fprintf(b, "%s  not judged %s\n", n.Day, n.TooThin)
		return
	}
	fmt.Fprintf(b, "%s  %-10s %s to %s, primary at %.1f %%%s\n", n.Day, outcomeWord(n), n.Start.In(zone).Format("15:04"), n.End.In(zone).Format("15:04"), n.Share,
		changeText(n))
	for _, f := range n.Findings {
		for _, m := range []*MomentDoc{f.Suspect, f.Blind, f.Fire} {
			if m != nil {
				fmt.Fprintf(b, "    %s  minutes %s  %s%s\n", m.At.In(zone).Format("15:04:05"), m.span, m.line, shadowText(f))
			}
		}
	}
}

// outcomeWord says what a night would have come to.
func outcomeWord(n NightDoc) string {
	switch {
	case n.TooThin != "":
		return "not judged"
	case n.RolledBack:
		return "ROLL BACK"
	case n.Held:
		return "HOLD"
	}
	return "ok"
}

func changeText(n NightDoc) string {
	if n.Changed {
		return ", with a change in it"
	}
	return ""
}

func shadowText(f FindingDoc) string {
	if f.Mode == guardrails.Shadow.String() {
		return " (shadow)"
	}
	return ""
}
