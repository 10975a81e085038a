package retry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/retry"
)

func TestABucketIsSharedAndKeepsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := retry.Options{Writes: retry.NewBucket(retry.Limits{PerSecond: 10, Burst: 5}), Budget: time.Minute}
		began := time.Now()
		var mu sync.Mutex
		var at []time.Duration
		n := notifyFunc(func() error {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(began))
			return nil
		})
		var wg sync.WaitGroup
		for range 25 {
			wg.Go(func() {
				if err := retry.NewNotifier(n, o).Notify(t.Context(), providers.Message{}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if at[2] != 0 || at[3] < 99*time.Millisecond || at[24] < 2199*time.Millisecond || at[24] > 2201*time.Millisecond {
			t.Errorf("calls 3, 4 and 25 at %v, %v and %v; want 0, 100 ms and 2.2 s: two of the burst are kept for urgent calls", at[2], at[3], at[24])
		}
	})
}

func TestReadsAndWritesHaveTheirOwnBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := of(0)
		d := retry.NewDNS(dns{s}, retry.Options{Reads: retry.NewBucket(retry.Limits{PerSecond: 1})})
		for range 3 {
			if err := d.Write(t.Context(), plans.DNSWrite{}); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(s.began); took != 0 {
			t.Errorf("writes took %v, want none of the reads' limit", took)
		}
		for range 3 {
			if _, err := d.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(s.began); took != 2*time.Second {
			t.Errorf("reads took %v, want 2 s", took)
		}
	})
}

func TestThrottlingHalvesTheRateDownToAFloorAndItRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := retry.NewBucket(retry.Limits{PerSecond: 16, Burst: 100})
		s := of(providers.Throttled, providers.Throttled, 0)
		d := retry.NewDNS(dns{s}, retry.Options{Writes: bucket, First: time.Millisecond, Max: time.Millisecond})
		if err := d.Write(t.Context(), plans.DNSWrite{}); err != nil {
			t.Fatal(err)
		}
		if got := bucket.Rate(); got != 8+0.8 {
			t.Errorf("rate %v after two refusals at once and a success, want 8.8", got)
		}
		s.kinds = []providers.Kind{providers.Throttled}
		d = retry.NewDNS(dns{s}, retry.Options{Writes: bucket, First: 2 * time.Second, Max: 2 * time.Second, Budget: time.Minute})
		_ = d.Write(t.Context(), plans.DNSWrite{})
		if got := bucket.Rate(); got != 1 {
			t.Errorf("rate %v after a minute of refusals, want the floor of 1", got)
		}
		s.kinds = []providers.Kind{0}
		for range 30 {
			if err := d.Write(t.Context(), plans.DNSWrite{}); err != nil {
				t.Fatal(err)
			}
		}
		if got := bucket.Rate(); got != 16 {
			t.Errorf("rate %v after thirty good calls, want 16 again", got)
		}
	})
}

func TestTheHalvedRateIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := of(providers.Throttled, 0)
		o := retry.Options{Writes: retry.NewBucket(retry.Limits{PerSecond: 10}), First: time.Millisecond}
		if err := retry.NewDNS(dns{s}, o).Write(t.Context(), plans.DNSWrite{}); err != nil {
			t.Fatal(err)
		}
		if gap := s.at[1] - s.at[0]; gap < 199*time.Millisecond || gap > 201*time.Millisecond {
			t.Errorf("%v between the refusal and the next call, want 200 ms at 5 a second", gap)
		}
	})
}

func TestACallThatFindsNoRoomInItsBudgetSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := of(0)
		d := retry.NewDNS(dns{s}, retry.Options{Writes: retry.NewBucket(retry.Limits{PerSecond: 0.01}), Budget: time.Second})
		if err := d.Write(t.Context(), plans.DNSWrite{}); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a call that gives up takes no turn from the next
			err := d.Write(t.Context(), plans.DNSWrite{})
			if providers.KindOf(err) != providers.Throttled || len(s.at) != 1 || time.Since(s.began) != 0 {
				t.Errorf("error %v after %d attempts, want throttled at once", err, len(s.at))
			}
			if !strings.Contains(err.Error(), "may start in 1m40s,") {
				t.Errorf("error %v, want a turn in 100 s", err)
			}
		}
	})
}

func TestTheEndOfCtxEndsTheWaitForARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := of(0)
		bucket := retry.NewBucket(retry.Limits{PerSecond: 0.1})
		d := retry.NewDNS(dns{s}, retry.Options{Writes: bucket, Budget: time.Minute})
		if err := d.Write(t.Context(), plans.DNSWrite{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := d.Write(ctx, plans.DNSWrite{})
		if !errors.Is(err, context.DeadlineExceeded) || providers.KindOf(err) != providers.Transient || len(s.at) != 1 {
			t.Errorf("error %v after %d attempts, want transient that wraps the deadline", err, len(s.at))
		}
		if took := time.Since(s.began); took != time.Second {
			t.Errorf("waited %v, want 1 s", took)
		}
	})
}

func TestNoLimitsMeanNoBucket(t *testing.T) {
	bucket := retry.NewBucket(retry.Limits{})
	if bucket != nil || bucket.Rate() != 0 {
		t.Errorf("bucket %v with rate %v, want none", bucket, bucket.Rate())
	}
}

// Half of the burst is kept for urgent calls, and they go before everybody who waits.
func TestUrgentCallsGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := retry.NewBucket(retry.Limits{PerSecond: 1, Burst: 4})
		began := time.Now()
		var mu sync.Mutex
		var order []string
		call := func(name string, urgent bool) {
			n := notifyFunc(func() error {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, fmt.Sprintf("%s at %s", name, time.Since(began).Round(time.Millisecond)))
				return nil
			})
			if err := retry.NewNotifier(n, retry.Options{Writes: bucket, Budget: time.Hour, Urgent: urgent}).Notify(t.Context(), providers.Message{}); err != nil {
				t.Error(err)
			}
		}
		call("a", false)
		call("b", false)
		call("urgent", true)
		call("urgent", true)
		var wg sync.WaitGroup
		wg.Go(func() { call("c", false) })
		synctest.Wait() // it has its turn and waits for a token
		wg.Go(func() { call("d", false) })
		synctest.Wait()
		wg.Go(func() { call("late but urgent", true) })
		wg.Wait()
		want := []string{"a at 0s", "b at 0s", "urgent at 0s", "urgent at 0s", "c at 3s", "late but urgent at 3s", "d at 5s"}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Errorf("order mismatch (-want +got):\n%s", diff)
		}
	})
}

func TestAWaitingCallThatEndsGivesItsTurnAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := retry.NewBucket(retry.Limits{PerSecond: 1, Burst: 1})
		s := of(0)
		d := retry.NewDNS(dns{s}, retry.Options{Writes: bucket, Budget: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		write := func(ctx context.Context) { wg.Go(func() { _ = d.Write(ctx, plans.DNSWrite{}) }) }
		write(t.Context())
		synctest.Wait()
		for range 3 {
			write(ctx)
			synctest.Wait()
		}
		write(t.Context())
		synctest.Wait()
		cancel()
		wg.Wait()
		if len(s.at) != 2 || s.at[1] != time.Second {
			t.Errorf("calls at %v, want the first at once and the last after one token", s.at)
		}
	})
}

func TestEachAttemptOfAWriteIsPermitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := of(providers.Throttled, providers.Throttled, 0)
		lost := errors.New("the claim is lost")
		asked := 0
		d := retry.NewDNS(dns{s}, retry.Options{Permit: func(context.Context) error {
			asked++
			if asked > 2 {
				return lost
			}
			return nil
		}})
		if _, err := d.Read(t.Context()); err != nil || asked != 0 {
			t.Errorf("a read asked %d times: %v", asked, err)
		}
		s.kinds, s.at = []providers.Kind{providers.Throttled}, nil
		if err := d.Write(t.Context(), plans.DNSWrite{}); !errors.Is(err, lost) {
			t.Errorf("want the refusal, got %v", err)
		}
		if len(s.at) != 2 || asked != 3 {
			t.Errorf("%d attempts were made and %d permits asked for", len(s.at), asked)
		}
	})
}
