package lab_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// A lab for the default plan, at 02:00 in Shanghai and a hundred times as fast as the wall.
func Example() {
	l, err := lab.Start(context.Background(), lab.Options{
		Clock: plans.Clock{Epoch: time.Now(), Start: time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC), Speed: 100},
		World: world.Config{Fault: world.Errors10},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	l.With(func(now time.Time, w *world.World) {
		weights, _ := w.State(now).Weights("default")
		fmt.Println(weights, len(l.Endpoints().PrimaryEdges), "edges")
	})
	// Output:
	// 60:40 2 edges
}
