package retry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/retry"
)

// One bucket serves all decorators of an account and API family.
func ExampleNewNotifier() {
	bucket := retry.NewBucket(retry.Limits{PerSecond: 100, Burst: 10})
	attempts := 0
	busy := notifyFunc(func() error {
		attempts++
		if attempts < 3 {
			return &providers.Error{Provider: "chat", Op: "send", Kind: providers.Throttled, Err: errors.New("slower")}
		}
		return nil
	})
	n := retry.NewNotifier(busy, retry.Options{Writes: bucket, First: time.Millisecond})
	fmt.Println(n.Notify(context.Background(), providers.Message{Text: "the way back has begun"}), attempts)
	// Output: <nil> 3
}
