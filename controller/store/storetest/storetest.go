// Package storetest is the conformance suite of package store: every back end passes it, and nothing of it knows which one it is.
package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

const ttl = time.Minute

// Run checks a back end. open returns an empty store; reopen closes it and opens the same one again, as after a crash.
func Run(t *testing.T, open func(t *testing.T) store.Store, reopen func(t *testing.T, s store.Store) store.Store) {
	t.Run("records come back whole and in order after a reopening", func(t *testing.T) { roundTrip(t, open(t), reopen) })
	t.Run("an older claim is fenced", func(t *testing.T) { fencing(t, open(t)) })
	t.Run("a record out of order is refused", func(t *testing.T) { order(t, open(t)) })
	t.Run("a claim covers all of its keys or none", func(t *testing.T) { allOrNone(t, open(t)) })
	t.Run("a claim that ran out can be taken, one that is renewed cannot", func(t *testing.T) { expiry(t, open(t)) })
	t.Run("of several records with one number exactly one wins", func(t *testing.T) { race(t, open(t)) })
	t.Run("rows that are not those of the digest are refused", func(t *testing.T) { digests(t, open(t)) })
	t.Run("runs are listed newest first", func(t *testing.T) { listing(t, open(t)) })
	t.Run("an unknown run is no empty run", func(t *testing.T) {
		if _, err := store.Read(t.Context(), open(t), "nobody"); !errors.Is(err, store.ErrNoRun) {
			t.Errorf("Read of an unknown run: want ErrNoRun, got %v", err)
		}
	})
}

const plan = `
version: tlsroll/v1
name: suite
domain: cdn.example.com
primary: {provider: alicloud}
backup: {provider: qiniu}
dns: {provider: alicloud, zone: example.com, record: cdn}
change: {tls13: on}
sources:
  rum: {type: prometheus, url: "http://127.0.0.1:1", queries: {requests: r, errors: e}}
guardrails:
  - {name: errors, source: rum, signal: error_rate, above: 5%, for: 10m}
steps:
  - shift: {primary: 0%}
  - tls: change
  - shift: {primary: 10%, bake: 20m}
`

// Records returns n records of many kinds, beginning with a Started.
func Records(n int) []rollout.Record {
	at := time.Date(2026, 3, 2, 18, 0, 0, 123456789, time.UTC)
	rows := []guardrails.Row{{Platform: "ios", Leg: guardrails.Primary, Minute: 29_000_000, Counts: guardrails.Counts{Requests: 100, Errors: 1.5, Has: guardrails.HasRequests | guardrails.HasErrors}}}
	_, digest, err := rollout.EncodeRows(rows)
	if err != nil {
		panic(fmt.Sprintf("storetest: the suite's own rows %v cannot be encoded: %v", rows, err))
	}
	kinds := []rollout.Event{
		rollout.CommandSucceeded{ID: 1, Result: rollout.StateRead{State: plans.State{DNS: plans.DNSState{Records: []plans.Record{{ID: "1", Weight: 60}}}}}},
		rollout.CommandFailed{ID: 2, Kind: rollout.Throttled, Text: "slow \"down\"\n"},
		rollout.MinutesArrived{ID: 3, Batch: guardrails.Batch{Source: "rum", Settle: time.Minute, From: 29_000_000, To: 29_000_010, Rows: rows}, Digest: digest},
		rollout.SourceFailed{ID: 4, Source: "rum", Kind: rollout.Transient, Text: "no answer"},
		rollout.TimerFired{ID: 5},
		rollout.CommandSucceeded{ID: 6, Result: rollout.HandshakesDone{Handshakes: []plans.Handshake{{Edge: "192.0.2.1:443", Accepted: plans.TLSSetOf(plans.TLS12)}}}},
		rollout.AbortOrdered{Actor: "ann", Reason: "看"},
	}
	out := []rollout.Record{{Seq: 1, At: at, Event: rollout.Started{Run: "run", Plan: plan, Digest: "d", Actor: "test", Tool: "test"}}}
	for i := 1; i < n; i++ {
		out = append(out, rollout.Record{Seq: uint64(i + 1), At: at.Add(time.Duration(i) * time.Second), Event: kinds[i%len(kinds)]})
	}
	return out
}

func claim(t *testing.T, s store.Store, holder string, keys ...string) store.Claim {
	t.Helper()
	c, err := s.Claim(t.Context(), keys, holder, ttl)
	if err != nil {
		t.Fatalf("claim %v for %s: %v", keys, holder, err)
	}
	return c
}

func roundTrip(t *testing.T, s store.Store, reopen func(*testing.T, store.Store) store.Store) {
	want := Records(40)
	c := claim(t, s, "a", "domain:x", "record:y")
	for i, rec := range want {
		if err := s.Append(t.Context(), c, "run", rec); err != nil {
			t.Fatal(err)
		}
		if i == 20 {
			s = reopen(t, s)
		}
	}
	s = reopen(t, s)
	got, err := store.Read(t.Context(), s, "run")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records mismatch (-want +got):\n%s", diff)
	}
}

func fencing(t *testing.T, s store.Store) {
	recs := Records(3)
	old := claim(t, s, "a", "domain:x")
	if err := s.Append(t.Context(), old, "run", recs[0]); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	next := claim(t, s, "b", "domain:x")
	if next.Epoch <= old.Epoch {
		t.Errorf("epoch %d does not follow %d", next.Epoch, old.Epoch)
	}
	if err := s.Append(t.Context(), old, "run", recs[1]); !errors.Is(err, store.ErrFenced) {
		t.Errorf("append under the old claim: want ErrFenced, got %v", err)
	}
	if err := s.Renew(t.Context(), old, ttl); !errors.Is(err, store.ErrFenced) {
		t.Errorf("renewal of the old claim: want ErrFenced, got %v", err)
	}
	if err := s.Release(t.Context(), old); err != nil {
		t.Errorf("release of a lost claim: %v", err)
	}
	if err := s.Append(t.Context(), next, "run", recs[1]); err != nil {
		t.Errorf("append under the new claim: %v", err)
	}
	if err := s.Append(t.Context(), store.Claim{}, "run", recs[2]); !errors.Is(err, store.ErrFenced) {
		t.Errorf("append without a claim: want ErrFenced, got %v", err)
	}
	got, err := store.Read(t.Context(), s, "run")
	if err != nil || len(got) != 2 {
		t.Errorf("want 2 records, got %d, %v", len(got), err)
	}
}

func order(t *testing.T, s store.Store) {
	recs := Records(4)
	c := claim(t, s, "a", "domain:x")
	for _, bad := range []rollout.Record{recs[1], {Seq: 1, At: recs[0].At, Event: rollout.TimerFired{ID: 1}}} {
		if err := s.Append(t.Context(), c, "run", bad); !errors.Is(err, store.ErrOrder) {
			t.Errorf("first record %d %s: want ErrOrder, got %v", bad.Seq, rollout.Kind(bad.Event), err)
		}
	}
	for _, step := range []struct {
		rec rollout.Record
		ok  bool
	}{{recs[0], true}, {recs[0], true}, {other(recs[0]), false}, {recs[2], false}, {recs[1], true}, {recs[0], false}, {recs[1], true}, {recs[2], true}} {
		err := s.Append(t.Context(), c, "run", step.rec)
		if step.ok && err != nil || !step.ok && !errors.Is(err, store.ErrOrder) {
			t.Errorf("append of record %d: ok should be %v, got %v", step.rec.Seq, step.ok, err)
		}
	}
}

// other is another record with the same number.
func other(rec rollout.Record) rollout.Record {
	rec.At = rec.At.Add(time.Nanosecond)
	return rec
}

func allOrNone(t *testing.T, s store.Store) {
	held := claim(t, s, "a", "record:y")
	_, err := s.Claim(t.Context(), []string{"domain:x", "record:y"}, "b", ttl)
	e, ok := errors.AsType[*store.HeldError](err)
	if !ok || e.Key != "record:y" || e.Holder != "a" || e.Since.IsZero() || !e.Until.After(e.Since) {
		t.Fatalf("want a HeldError for record:y by a with times, got %+v", err)
	}
	if !strings.Contains(err.Error(), "held by a since") {
		t.Errorf("the error does not say who holds it since when: %v", err)
	}
	claim(t, s, "c", "domain:x") // b's attempt must not have taken it
	again := claim(t, s, "a", "record:y")
	if again.Epoch <= held.Epoch {
		t.Errorf("one's own keys taken again: epoch %d does not follow %d", again.Epoch, held.Epoch)
	}
}

func expiry(t *testing.T, s store.Store) {
	if _, err := s.Claim(t.Context(), []string{"domain:x"}, "a", -time.Second); err != nil {
		t.Fatal(err)
	}
	b := claim(t, s, "b", "domain:x")
	if err := s.Renew(t.Context(), b, time.Hour); err != nil {
		t.Fatal(err)
	}
	_, err := s.Claim(t.Context(), []string{"domain:x"}, "c", ttl)
	if e, ok := errors.AsType[*store.HeldError](err); !ok || time.Until(e.Until) < 30*time.Minute {
		t.Errorf("a renewed claim: want a HeldError for an hour, got %v", err)
	}
}

func race(t *testing.T, s store.Store) {
	c := claim(t, s, "a", "domain:x")
	recs := Records(30)
	for _, rec := range recs {
		var wg sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			mine := rec
			mine.At = rec.At.Add(time.Duration(i))
			wg.Go(func() { errs[i] = s.Append(t.Context(), c, "run", mine) })
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if !errors.Is(err, store.ErrOrder) {
				t.Errorf("record %d: %v", rec.Seq, err)
			}
		}
		if won != 1 {
			t.Fatalf("record %d was accepted %d times", rec.Seq, won)
		}
	}
}

func digests(t *testing.T, s store.Store) {
	c := claim(t, s, "a", "domain:x")
	recs := Records(1)
	if err := s.Append(t.Context(), c, "run", recs[0]); err != nil {
		t.Fatal(err)
	}
	lie := rollout.MinutesArrived{ID: 1, Batch: guardrails.Batch{Source: "rum", Rows: []guardrails.Row{{Platform: "ios"}}}, Digest: "sha256:00"}
	if err := s.Append(t.Context(), c, "run", rollout.Record{Seq: 2, At: recs[0].At, Event: lie}); err == nil {
		t.Error("rows with a wrong digest were accepted")
	}
	if got, err := store.Read(t.Context(), s, "run"); err != nil || len(got) != 1 {
		t.Errorf("want the first record alone, got %d, %v", len(got), err)
	}
}

func listing(t *testing.T, s store.Store) {
	c := claim(t, s, "a", "domain:x")
	var want []rollout.RunID
	for i := range 3 {
		id := rollout.RunID(fmt.Sprint("run-", i))
		if err := s.Append(t.Context(), c, id, Records(1)[0]); err != nil {
			t.Fatal(err)
		}
		want = append(want, id)
	}
	slices.Reverse(want)
	runs, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []rollout.RunID
	for _, r := range runs {
		got = append(got, r.ID)
		if r.Domain != "cdn.example.com" || r.Name != "suite" || r.Records != 1 || r.Started.IsZero() {
			t.Errorf("run %s: %+v", r.ID, r)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs mismatch (-want +got):\n%s", diff)
	}
}
