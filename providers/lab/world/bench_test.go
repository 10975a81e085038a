package world_test

import (
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// BenchmarkNight is what the model costs a simulated night of 17 hours, without anybody looking at it.
func BenchmarkNight(b *testing.B) {
	for b.Loop() {
		world.New(config(world.None), start).Advance(after(17 * time.Hour))
	}
}

// BenchmarkWeek is what it costs to look at the week before, once.
func BenchmarkWeek(b *testing.B) {
	w := world.New(config(world.None), start)
	to := guardrails.MinuteOf(start)
	for b.Loop() {
		if rows := w.Minutes(start, world.RUM, to-8*24*60, to); len(rows) < 46_000 {
			b.Fatal(len(rows))
		}
	}
}
