package prometheus

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// key names a row.
type key struct {
	platform string
	leg      guardrails.Leg
	minute   guardrails.Minute
}

// table puts the answers of several queries together.
type table struct {
	source plans.Source
	rows   map[key]*cell
}

// cell is a row that is being filled.
type cell struct {
	guardrails.Row
	classes int // of status codes that came
}

const allClasses = 3

// add fills one field of the rows from the answers to its queries.
func (t *table) add(field string, answers []piece) error {
	var minutes []guardrails.Minute // that have a sample
	for _, p := range answers {
		seen := map[key]bool{}
		for _, series := range p.matrix {
			k, err := t.seriesKey(series.Metric)
			switch {
			case err != nil:
				return err
			case seen[k]:
				return fmt.Errorf("two series for platform %q on the %s: the query must sum by %s", k.platform, k.leg, t.by())
			}
			seen[k] = true
			got, err := t.addSeries(field, k, p, series)
			if err != nil {
				return fmt.Errorf("series %s %w", series.Metric, err)
			}
			minutes = append(minutes, got...)
		}
	}
	return everyMinute(minutes)
}

// addSeries fills the rows of one platform on one leg, and returns their minutes. Minutes that nobody asked for are dropped.
func (t *table) addSeries(field string, k key, p piece, series *model.SampleStream) ([]guardrails.Minute, error) {
	if len(series.Histograms) > 0 {
		return nil, errors.New("is a histogram: ask for its sum or count")
	}
	var minutes []guardrails.Minute
	for i, sample := range series.Values {
		if i > 0 && sample.Timestamp <= series.Values[i-1].Timestamp {
			return nil, errors.New("goes back in time")
		}
		m, err := minuteOf(sample)
		if err != nil {
			return nil, err
		}
		if m < p.from || m > p.to {
			continue
		}
		k.minute = m
		t.put(field, k, float64(sample.Value))
		minutes = append(minutes, m)
	}
	return minutes, nil
}

// seriesKey reads platform and leg from the labels that the plan names.
func (t *table) seriesKey(metric model.Metric) (key, error) {
	k := key{leg: guardrails.Primary}
	if label := t.source.Labels["platform"]; label != "" {
		v, ok := metric[model.LabelName(label)]
		if !ok {
			return k, fmt.Errorf("series %s has no label %s: the query must sum by %s", metric, label, t.by())
		}
		k.platform = string(v)
	}
	label := t.source.Labels["cdn"]
	if label == "" {
		return k, nil
	}
	v := string(metric[model.LabelName(label)])
	leg, ok := t.source.Legs[v]
	if !ok {
		return k, fmt.Errorf("series %s: label %s is %q, the plan's legs know %s", metric, label, v, legNames(t.source.Legs))
	}
	k.leg = leg
	return k, nil
}

func (t *table) by() string {
	var labels []string
	for _, k := range []string{"platform", "cdn"} {
		if l := t.source.Labels[k]; l != "" {
			labels = append(labels, l)
		}
	}
	return "(" + strings.Join(labels, ", ") + ")"
}

func legNames(legs map[string]guardrails.Leg) string {
	names := make([]string, 0, len(legs))
	for n := range legs {
		names = append(names, n)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// minuteOf is the minute that ends at a sample's time.
func minuteOf(s model.SamplePair) (guardrails.Minute, error) {
	const minuteMS = 60_000
	if int64(s.Timestamp)%minuteMS != 0 {
		return 0, fmt.Errorf("has a sample at %s, which is not on a whole minute: the server does not keep to the asked steps", s.Timestamp.Time().UTC())
	}
	return guardrails.Minute(int64(s.Timestamp)/minuteMS) - 1, nil
}

// everyMinute refuses points that keep to a coarser step than a minute. It takes three of them to show one.
func everyMinute(minutes []guardrails.Minute) error {
	slices.Sort(minutes)
	minutes = slices.Compact(minutes)
	if len(minutes) < 3 {
		return nil
	}
	step := guardrails.Minute(0)
	for i := 1; i < len(minutes) && step != 1; i++ {
		for d := minutes[i] - minutes[i-1]; d != 0; { // Euclid
			step, d = d, step%d
		}
	}
	if step > 1 {
		return fmt.Errorf("the points come in steps of %d minutes: the server does not keep to the asked step of one", step)
	}
	return nil
}

// put stores one number.
func (t *table) put(field string, k key, v float64) {
	row := t.rows[k]
	if row == nil {
		row = &cell{Row: guardrails.Row{Platform: k.platform, Leg: k.leg, Minute: k.minute}}
		t.rows[k] = row
	}
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		row.Unknown, row.Counts = guardrails.NotANumber, guardrails.Counts{}
		return
	}
	if row.Unknown == 0 {
		row.set(field, v)
	}
}

// set writes a query's number into its field; the names are those of the plan's queries.
func (r *cell) set(field string, v float64) {
	c := &r.Counts
	switch field {
	case "requests":
		c.Requests, c.Has = v, c.Has|guardrails.HasRequests
	case "errors":
		c.Errors, c.Has = v, c.Has|guardrails.HasErrors
	case "total_ms":
		c.TotalMS, c.Has = v, c.Has|guardrails.HasTotalMS
	case "tls_ms":
		c.TLSMS, c.Has = v, c.Has|guardrails.HasTLSMS
	case "tls":
		c.TLS, c.Has = v, c.Has|guardrails.HasTLS
	case "bytes":
		c.Bytes, c.Has = v, c.Has|guardrails.HasBytes
	case "tls13":
		c.TLS13, c.Has = v, c.Has|guardrails.HasTLS13
	case "status_2xx":
		c.Status2xx, r.classes = v, r.classes+1
	case "status_4xx":
		c.Status4xx, r.classes = v, r.classes+1
	case "status_5xx":
		c.Status5xx, r.classes = v, r.classes+1
	}
}

// done returns the row. A class of status codes that did not come is not zero, and without it the others make no shares.
func (r *cell) done() guardrails.Row {
	row := r.Row
	switch {
	case row.Unknown != 0:
	case r.classes == allClasses:
		row.Counts.Has |= guardrails.HasStatus
	default:
		row.Counts.Status2xx, row.Counts.Status4xx, row.Counts.Status5xx = 0, 0, 0
	}
	return row
}

// sorted returns the rows by platform, leg and minute.
func (t *table) sorted() []guardrails.Row {
	out := make([]guardrails.Row, 0, len(t.rows))
	for _, r := range t.rows {
		out = append(out, r.done())
	}
	slices.SortFunc(out, func(a, b guardrails.Row) int {
		if c := strings.Compare(a.Platform, b.Platform); c != 0 {
			return c
		}
		if a.Leg != b.Leg {
			return int(a.Leg) - int(b.Leg)
		}
		return int(a.Minute - b.Minute)
	})
	return out
}
