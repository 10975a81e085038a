package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

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

// Journal returns what a back end keeps of a run with the first n of Records, appended under epoch 1.
func Journal(n int) store.Journal {
	j := store.Journal{
		Run:  store.Run{ID: "run", Domain: "cdn.example.com", Name: "suite", Keys: []string{"domain:x"}, Started: Records(1)[0].At, Records: uint64(n)}, //nolint:gosec // a count is not negative
		Rows: map[string]string{},
	}
	for _, rec := range Records(n) {
		e, err := store.NewEntry(j.Head.Hash, 1, rec)
		if err != nil {
			panic(fmt.Sprintf("storetest: the suite's own record %v cannot be encoded: %v", rec, err))
		}
		j.Entries = append(j.Entries, e)
		j.Head = store.Entry{Seq: e.Seq, Hash: e.Hash}
		if m, ok := rec.Event.(rollout.MinutesArrived); ok {
			body, digest, err := rollout.EncodeRows(m.Batch.Rows)
			if err != nil {
				panic(fmt.Sprintf("storetest: the suite's own rows %v cannot be encoded: %v", m.Batch.Rows, err))
			}
			j.Rows[digest] = string(body)
		}
	}
	return j
}

func claim(t *testing.T, s store.Store, holder string, keys ...string) store.Claim {
	t.Helper()
	c, err := s.Claim(t.Context(), keys, holder, ttl)
	if err != nil {
		t.Fatalf("claim %v for %s: %v", keys, holder, err)
	}
	return c
}

// fill appends records to a run and stops the test at the first that is refused.
func fill(t *testing.T, s store.Store, c store.Claim, id rollout.RunID, recs ...rollout.Record) {
	t.Helper()
	for _, rec := range recs {
		if err := s.Append(t.Context(), c, id, rec); err != nil {
			t.Fatalf("record %d of run %s: %v", rec.Seq, id, err)
		}
	}
}
