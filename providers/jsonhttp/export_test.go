package jsonhttp

import (
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// Convert reads the rows of one answer.
func Convert(s plans.Source, body string, from, to guardrails.Minute) ([]guardrails.Row, error) {
	return answer{source: s, from: from, to: to, shown: func(string) string { return "" }}.rows(body)
}

// MaxAnswer is the longest answer that is read, in bytes.
const MaxAnswer = maxAnswer
