package view

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/guardrails/backtest"
)

//go:embed backtest.html
var backtestPage string

// nightPlots is one night of the page.
type nightPlots struct {
	NightDoc
	Word    string
	Class   string
	Clock   string
	Moments []momentLine
	Plots   []plot
}

// momentLine is a first moment of a rule in words.
type momentLine struct{ Clock, Span, Text string }

// BacktestPage writes a page that needs nothing from elsewhere: the summary, and for each night a plot of every rule and platform.
func BacktestPage(out io.Writer, d BacktestDoc, r backtest.Report) error {
	zone, err := time.LoadLocation(d.Zone)
	if err != nil {
		zone = time.UTC
	}
	page, err := template.New("backtest").Funcs(template.FuncMap{"rule": ruleName, "rate": rateText, "sources": sourceCounts}).Parse(backtestPage)
	if err != nil {
		panic(fmt.Sprintf("view: the embedded page of %d bytes is no template: %v", len(backtestPage), err))
	}
	data := struct {
		BacktestDoc
		Span   string
		Clock  string
		Plots  []nightPlots
		Tables []TallyDoc
	}{BacktestDoc: d, Clock: strings.TrimSuffix(d.From, ":00"), Span: d.First.In(zone).Format("2006-01-02 15:04") + " to " + d.Last.In(zone).Format("2006-01-02 15:04")}
	data.Tables = append(append(data.Tables, d.Rules...), d.All)
	for i := range r.Nights {
		data.Plots = append(data.Plots, plotsOf(&r.Nights[i], d.Nights[i], zone))
	}
	if err := page.Execute(out, data); err != nil {
		return fmt.Errorf("print the page: %w", err)
	}
	return nil
}

func plotsOf(j *backtest.Judged, n NightDoc, zone *time.Location) nightPlots {
	class, _, _ := strings.Cut(outcomeWord(n), " ")
	p := nightPlots{NightDoc: n, Word: outcomeWord(n), Class: class, Clock: n.Start.In(zone).Format("15:04") + " to " + n.End.In(zone).Format("15:04")}
	for _, f := range n.Findings {
		for _, m := range []*MomentDoc{f.Suspect, f.Blind, f.Fire} {
			if m != nil {
				p.Moments = append(p.Moments, momentLine{Clock: m.At.In(zone).Format("15:04:05"), Span: m.span, Text: m.line + shadowText(f)})
			}
		}
	}
	for _, f := range j.Findings() {
		p.Plots = append(p.Plots, newPlot(f, j.Of(f), zone))
	}
	return p
}
