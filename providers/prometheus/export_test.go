package prometheus

import (
	"github.com/prometheus/common/model"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// Convert puts one answer into rows.
func Convert(s plans.Source, field string, m model.Matrix, from, to guardrails.Minute) ([]guardrails.Row, error) {
	t := table{source: s, rows: map[key]*cell{}}
	if err := t.add(field, []piece{{from, to, m}}); err != nil {
		return nil, err
	}
	return t.sorted(), nil
}
