package world_test

import (
	"fmt"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// Accepted is not live: the API says success before the last edge follows.
func ExampleWorld_EdgeTLS() {
	w := world.New(config(world.None), start)
	set := w.State(start).Primary.TLS
	set.Enabled = set.Enabled.With(plans.TLS13)
	if _, err := w.WriteTLS(start, plans.TLSWrite{Set: &set}); err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range []time.Duration{0, 45 * time.Second, 60 * time.Second, 90 * time.Second} {
		now := start.Add(d)
		fmt.Printf("%v: %v; TLS 1.3 on the edges: %v, %v\n", d, w.State(now).Primary.TLS.Status,
			w.EdgeTLS(now, guardrails.Primary, 0).Has(plans.TLS13), w.EdgeTLS(now, guardrails.Primary, 1).Has(plans.TLS13))
	}
	// Output:
	// 0s: configuring; TLS 1.3 on the edges: false, false
	// 45s: configuring; TLS 1.3 on the edges: true, false
	// 1m0s: live; TLS 1.3 on the edges: true, false
	// 1m30s: live; TLS 1.3 on the edges: true, true
}
