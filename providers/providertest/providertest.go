// Package providertest checks that an adapter keeps the contract of package providers. The adapter's own test starts a server that
// it controls, wraps it in a harness, and calls TestCDN, TestTLSSetter, TestDNS or TestMetrics; each suite opens a new harness for each subtest.
//
// What the suites check, in the order of the contract:
//
//   - one attempt: a failing call reaches the other side no more often than a good one;
//   - reads change nothing and tell the true state; writes made twice leave what they leave made once, and send what Describe showed;
//   - each fault has its kind; a write that may have been applied is Unknown, and a read then shows it;
//   - no text of an error, in any verb or as JSON, holds a planted secret; the harness makes its server print what it was sent;
//   - ctx ends a call before it starts and while it waits, and the error wraps the reason;
//   - several goroutines may call at once (run with -race).
package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/providers"
)

// Side is the other side of an adapter: a server under the test's control. Its functions may be called by several goroutines.
// Error bodies must repeat the signed request, as real ones do, so that the redaction is tested on what happens.
type Side struct {
	Secrets   func() []string         // values that no error may show: keys, and the signatures that arrived so far
	Misbehave func(Fault)             // from now on; Healthy ends it
	Requests  func() int              // requests that arrived so far
	Writes    func() []providers.Call // writes that arrived so far, accepted or not, with their parameters in the order of Describe
	Waiting   <-chan struct{}         // receives once for each request that Stalled holds back
	Skip      []Fault                 // faults that the protocol cannot express
}

func (s Side) faults() []Fault {
	return slices.DeleteFunc(Faults(), func(f Fault) bool { return slices.Contains(s.Skip, f) })
}

// patience bounds a call that ctx should have ended at once.
const patience = 10 * time.Second

// The timeouts that the suites ask an adapter to use for one call: one that even a busy machine does not reach, and one that is
// reached while the other side stalls.
const (
	generous = time.Minute
	hasty    = 300 * time.Millisecond
)

// reading is one read of an adapter, whatever it returns.
type reading func(ctx context.Context) error

// testRead checks everything that all reads owe. open returns a new harness's side and read.
func testRead(t *testing.T, open func(t *testing.T, timeout time.Duration) (Side, reading)) {
	t.Helper()
	side, _ := open(t, generous)
	for _, f := range side.faults() {
		if f == Stalled {
			continue
		}
		t.Run("read/"+f.String(), func(t *testing.T) {
			side, read := open(t, generous)
			if err := read(t.Context()); err != nil {
				t.Fatalf("healthy read: %v", err)
			}
			good := side.Requests()
			side.Misbehave(f)
			err := read(t.Context())
			checkError(t, side, err, f.readKinds())
			if extra := side.Requests() - good; extra > good {
				t.Errorf("a failing read made %d requests, a good one %d", extra, good)
			}
			side.Misbehave(Healthy)
			if err := read(t.Context()); err != nil {
				t.Errorf("read after the fault: %v", err)
			}
			if w := side.Writes(); len(w) != 0 {
				t.Errorf("reads wrote: %v", w)
			}
		})
	}
	t.Run("read/ended before it starts", func(t *testing.T) {
		side, read := open(t, generous)
		checkEndedBefore(t, side, read)
	})
	t.Run("read/by several goroutines", func(t *testing.T) {
		_, read := open(t, generous)
		together(t, 8, func() error { return read(t.Context()) })
	})
	if !slices.Contains(side.faults(), Stalled) {
		return
	}
	t.Run("read/"+Stalled.String(), func(t *testing.T) {
		side, read := open(t, hasty)
		side.Misbehave(Stalled)
		checkError(t, side, read(t.Context()), Stalled.readKinds())
	})
	t.Run("read/ended while it waits", func(t *testing.T) {
		side, read := open(t, generous)
		if kind := providers.KindOf(checkEndedWaiting(t, side, read)); kind != providers.Transient {
			t.Errorf("kind %v, want transient", kind)
		}
	})
}

// testWrite checks everything that all writes owe. truth returns a comparable picture of the other side.
func testWrite(t *testing.T, open func(t *testing.T, timeout time.Duration) (Side, reading, func() string)) {
	t.Helper()
	side, _, _ := open(t, generous)
	for _, f := range side.faults() {
		t.Run("write/"+f.String(), func(t *testing.T) {
			timeout := generous
			if f == Stalled {
				timeout = hasty
			}
			side, write, truth := open(t, timeout)
			before := truth()
			side.Misbehave(f)
			err := write(t.Context())
			checkError(t, side, err, f.writeKinds())
			if n := side.Requests(); n > 1 || n == 0 && f != Stalled {
				t.Errorf("a failing write made %d requests, want 1", n)
			}
			if changed := truth() != before; changed != (f == AppliedThenUnavailable) {
				t.Errorf("the other side changed: %v", changed)
			}
		})
	}
	t.Run("write/made twice", func(t *testing.T) {
		_, write, truth := open(t, generous)
		checkTwice(t, write, truth)
	})
	t.Run("write/ended before it starts", func(t *testing.T) {
		side, write, _ := open(t, generous)
		checkEndedBefore(t, side, write)
	})
	t.Run("write/by several goroutines", func(t *testing.T) {
		_, write, _ := open(t, generous)
		together(t, 8, func() error { return write(t.Context()) })
	})
	if !slices.Contains(side.faults(), Stalled) {
		return
	}
	t.Run("write/ended while it waits", func(t *testing.T) {
		side, write, _ := open(t, generous)
		if kind := providers.KindOf(checkEndedWaiting(t, side, write)); kind != providers.Unknown {
			t.Errorf("kind %v, want unknown", kind)
		}
	})
}

func checkTwice(t *testing.T, write reading, truth func() string) {
	t.Helper()
	before := truth()
	if err := write(t.Context()); err != nil {
		t.Fatalf("first: %v", err)
	}
	once := truth()
	if once == before {
		t.Fatal("the write changed nothing")
	}
	if err := write(t.Context()); err != nil {
		t.Fatalf("second: %v", err)
	}
	if twice := truth(); twice != once {
		t.Errorf("made twice (-once +twice):\n-%s\n+%s", once, twice)
	}
}

// checkError checks one error against the contract.
func checkError(t *testing.T, side Side, err error, kinds []providers.Kind) {
	t.Helper()
	e, ok := errors.AsType[*providers.Error](err)
	if !ok {
		t.Fatalf("error is %T (%v), want *providers.Error", err, err)
	}
	if !slices.Contains(kinds, e.Kind) {
		t.Errorf("kind %v, want one of %v: %v", e.Kind, kinds, err)
	}
	if e.Provider == "" || e.Op == "" || e.Err == nil {
		t.Errorf("provider, operation or cause is missing: %#v", e)
	}
	if e.Kind == providers.Denied && e.Action == "" {
		t.Errorf("the missing permission is not named: %v", err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error blames ctx, which had not ended: %v", err)
	}
	checkSealed(t, side.Secrets(), err)
}

// checkSealed looks for secrets in everything that a log, a journal or a debugger could print of err and of all it wraps.
func checkSealed(t *testing.T, secrets []string, err error) {
	t.Helper()
	var all []string
	for e := err; e != nil; e = errors.Unwrap(e) {
		all = append(all, e.Error(), fmt.Sprintf("%v|%+v|%#v|%s|%q", e, e, e, e, e))
		if raw, jsonErr := json.Marshal(e); jsonErr == nil {
			all = append(all, string(raw))
		}
	}
	if len(secrets) == 0 {
		t.Error("the harness plants no secret")
	}
	for _, text := range all {
		plain, unescapeErr := url.QueryUnescape(text)
		if unescapeErr != nil {
			plain = text
		}
		for _, s := range secrets {
			if strings.Contains(text, s) || strings.Contains(plain, s) {
				t.Errorf("an error shows a secret: %s", text)
			}
		}
	}
}

func checkEndedBefore(t *testing.T, side Side, call reading) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := side.Requests()
	err := call(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v does not wrap context.Canceled", err)
	}
	if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.Transient {
		t.Errorf("error is %T (%v), want a transient *providers.Error: nothing happened", err, err)
	}
	if n := side.Requests() - before; n != 0 {
		t.Errorf("%d requests were made after the end", n)
	}
}

func checkEndedWaiting(t *testing.T, side Side, call reading) error {
	t.Helper()
	side.Misbehave(Stalled)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	select {
	case <-side.Waiting:
	case err := <-done:
		t.Fatalf("the call ended by itself: %v", err)
	}
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v does not wrap context.Canceled", err)
		}
		checkSealed(t, side.Secrets(), err)
		return err
	case <-time.After(patience):
		t.Fatal("the call goes on after ctx ended")
	}
	return nil
}

func together(t *testing.T, n int, call func() error) {
	t.Helper()
	errs := make(chan error, n)
	for range n {
		go func() { errs <- call() }()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Errorf("one of %d at once: %v", n, err)
		}
	}
}
