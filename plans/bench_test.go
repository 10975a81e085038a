package plans_test

import (
	"testing"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/plans/examples"
)

func BenchmarkParse(b *testing.B) {
	source := []byte(example(b, examples.Names()[0]))
	for b.Loop() {
		if p, _ := plans.Parse("plan.yaml", source); p == nil {
			b.Fatal("refused")
		}
	}
}
