package world_test

import (
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// BenchmarkNight is what the model costs a simulated night of 17 hours, without anybody looking at it.
func BenchmarkNight(b *testing.B) {
	for b.Loop() {
		world.New(config(world.None), start).Advance(after(17 * time.Hour))
	}
}
