package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/guardrails/backtest"
	"github.com/tlsroll/tlsroll/plans"
)

// backtesting is what the flags of backtest say.
type backtesting struct {
	data   string
	from   string
	length time.Duration
	output string
	html   string
}

func newBacktest(io stdio) *cobra.Command {
	var b backtesting
	cmd := &cobra.Command{
		Use:   "backtest FILE --data DIR",
		Short: "Judge recorded nights with a plan's guardrails: what they would have done",
		Long: `Judge recorded minutes by the judge of a live run, for each day from the start time of the plan's schedule.

DIR holds SOURCE.csv for each source of the plan, with a header of any of these columns:
minute, platform, cdn, requests, errors, total_ms, tls_ms, tls, bytes, tls13, status_2xx, status_4xx, status_5xx
(minute is RFC 3339 or Unix seconds; numbers are sums over the minute), and changes.csv, if the share was changed: at, share, verified.

Nothing is asked of any provider, and no credentials are needed.`,
		Args: cobra.ExactArgs(1),
	}
	output := outputFlag(cmd, "table", "json", "html")
	cmd.Flags().StringVar(&b.data, "data", "", "folder of the recorded minutes")
	cmd.Flags().StringVar(&b.from, "from", "", "time of day at which each night begins (default the schedule's)")
	cmd.Flags().DurationVar(&b.length, "for", 0, "length of each night, at most 24h (default as long as the plan takes)")
	cmd.Flags().StringVar(&b.html, "html", "", "write a page with plots to this file, too")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		b.output = *output
		return b.run(io, args[0])
	}
	return cmd
}

func (b *backtesting) run(io stdio, file string) error {
	if b.data == "" {
		return usage(errors.New("--data is missing: it names the folder of the recorded minutes"))
	}
	plan, err := loadPlan(io, file)
	if err != nil {
		return err
	}
	doc, report, err := b.judge(plan, folder(b.data))
	if err != nil {
		return err
	}
	if b.html != "" {
		if err := writePage(b.html, doc, report); err != nil {
			return err
		}
		fmt.Fprintf(io.err, "tlsroll: the page is in %s\n", b.html)
	}
	switch b.output {
	case "json":
		return view.JSON(io.out, doc)
	case "html":
		return view.BacktestPage(io.out, doc, report)
	}
	return view.BacktestTable(io.out, doc)
}

// judge loads the record and judges every night of it.
func (b *backtesting) judge(plan *plans.Plan, from record) (view.BacktestDoc, backtest.Report, error) {
	in := backtest.Input{
		Rules: plan.Guardrails, TTL: plan.DNS.TTL, Lingers: plans.WeightsFor(0, plan.DNS.Zero).Share(),
		Acts: backtest.Acts{BlindBoth: plan.OnBlind == plans.ReactRollback, Common: plan.CommonCauseLimit},
	}
	var span minutes
	var err error
	for _, s := range plan.Sources {
		rows, err := from.Rows(s)
		if err != nil {
			return view.BacktestDoc{}, backtest.Report{}, &exitError{
				code: exitInvalid, err: err, hint: "tlsroll backtest --help shows the files and their columns",
			}
		}
		if err := haveFields(plan, s, rows); err != nil {
			return view.BacktestDoc{}, backtest.Report{}, &exitError{code: exitInvalid, err: fmt.Errorf("%s: %w", b.data, err)}
		}
		span.take(rows)
		in.Sources = append(in.Sources, backtest.Source{Name: s.Name, Settle: s.Settle, Rows: rows})
	}
	if in.Changes, err = from.Changes(); err != nil {
		return view.BacktestDoc{}, backtest.Report{}, &exitError{code: exitInvalid, err: err}
	}
	if span.empty() {
		return view.BacktestDoc{}, backtest.Report{}, &exitError{code: exitInvalid, err: fmt.Errorf("there is no minute in the files of %s", b.data)}
	}
	nightly, err := nightlyOf(plan, b.from, b.length, plans.ObserveCap, span.first.Start())
	if err != nil {
		return view.BacktestDoc{}, backtest.Report{}, err
	}
	var skipped []view.SkippedNight
	in.Nights, skipped = nightly.nights(plan, span)
	report := backtest.Run(in)
	doc := view.NewBacktestDoc(plan, in, report)
	doc.Digest, doc.Data, doc.From, doc.Skipped = plans.Digest(plan), b.data, nightly.clock, append(doc.Skipped, skipped...)
	doc.First, doc.Last = span.first.Start(), span.last.Start()
	return doc, report, nil
}

// haveFields refuses a record that lacks what a rule is made of: the rule would be blind all night, and look quiet.
func haveFields(p *plans.Plan, s plans.Source, rows []guardrails.Row) error {
	var has guardrails.Field
	for i := range rows {
		has |= rows[i].Counts.Has
	}
	for _, g := range p.Guardrails {
		if missing := g.Signal.Needs() &^ has; g.Source == s.Name && len(rows) > 0 && missing != 0 {
			return fmt.Errorf("%s.csv has no %s, which guardrail %s needs; add the columns, or judge by a plan without the rule", s.Name, missing, g.Name)
		}
	}
	return nil
}

// minutes is what was recorded. The zero value is empty.
type minutes struct {
	first, last guardrails.Minute
	rows        int
	known       map[guardrails.Minute]bool
}

// until is the end of the last recorded minute between two instants: what is after it was not lost, but not recorded.
func (m *minutes) until(start, end time.Time) time.Time {
	last := guardrails.MinuteOf(end)
	for ; last > guardrails.MinuteOf(start) && !m.known[last]; last-- {
	}
	if recorded := last.End(); recorded.Before(end) {
		return recorded
	}
	return end
}

func (m *minutes) take(rows []guardrails.Row) {
	if m.known == nil {
		m.known = map[guardrails.Minute]bool{}
	}
	for i := range rows {
		at := rows[i].Minute
		if m.rows == 0 || at < m.first {
			m.first = at
		}
		if m.rows == 0 || at > m.last {
			m.last = at
		}
		m.rows++
		m.known[at] = true
	}
}

func (m *minutes) empty() bool { return m.rows == 0 }

func writePage(path string, doc view.BacktestDoc, report backtest.Report) (err error) {
	f, err := os.Create(path) //nolint:gosec // the user names the file
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	defer func() {
		if closing := f.Close(); err == nil && closing != nil {
			err = fmt.Errorf("write the page: %w", closing)
		}
	}()
	return view.BacktestPage(f, doc, report)
}
