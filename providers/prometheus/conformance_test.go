package prometheus_test

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/prometheus"
	"github.com/tlsroll/tlsroll/providers/providertest"
)

func TestConforms(t *testing.T) {
	providertest.TestMetrics(t, func(t *testing.T, timeout time.Duration) providertest.MetricsHarness {
		t.Helper()
		f := newFake(t)
		f.replies["requests"] = matrix(series("ios", "primary", "10", "20", "30", "40"), series("android", "backup", "1", "2"))
		f.replies["errors"] = matrix(series("ios", "primary", "1", "2", "3", "4"))
		var want []guardrails.Row
		for i := range guardrails.Minute(4) {
			want = append(want, guardrails.Row{Platform: "ios", Leg: guardrails.Primary, Minute: first + i, Counts: guardrails.Counts{
				Requests: 10 * float64(i+1), Errors: float64(i + 1), Has: guardrails.HasRequests | guardrails.HasErrors,
			}})
		}
		for i := range guardrails.Minute(2) {
			want = append(want, guardrails.Row{Platform: "android", Leg: guardrails.Backup, Minute: first + i, Counts: guardrails.Counts{
				Requests: float64(i + 1), Has: guardrails.HasRequests,
			}})
		}
		return providertest.MetricsHarness{
			Side: providertest.Side{
				Secrets: func() []string {
					return []string{user, password, base64.StdEncoding.EncodeToString([]byte(user + ":" + password))}
				},
				Misbehave: func(fault providertest.Fault) { f.mu.Lock(); defer f.mu.Unlock(); f.fault = fault },
				Requests:  func() int { return len(f.asked()) },
				Writes:    func() []providers.Call { return nil },
				Waiting:   f.waiting,
			},
			Metrics: open(t, f.source("requests", "errors"), prometheus.Options{Credentials: keys, Timeout: timeout}),
			From:    first, To: first + 3, Want: want,
		}
	})
}
