package storetest

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/guardrails"
)

// minutes is a record with n rows, which differ from those of another n.
func minutes(t *testing.T, seq uint64, n int) rollout.Record {
	t.Helper()
	m := rollout.MinutesArrived{ID: rollout.CommandID(seq), Batch: guardrails.Batch{Source: "rum"}}
	for i := range n {
		m.Batch.Rows = append(m.Batch.Rows, guardrails.Row{Platform: "ios", Minute: guardrails.Minute(i), Counts: guardrails.Counts{Requests: float64(n), Has: guardrails.HasRequests}})
	}
	var err error
	if _, m.Digest, err = rollout.EncodeRows(m.Batch.Rows); err != nil {
		t.Fatal(err)
	}
	return rollout.Record{Seq: seq, At: Records(1)[0].At, Event: m}
}

func rows(t *testing.T, s store.Store) {
	c := claim(t, s, "a", "domain:x")
	begin := Records(1)[0]
	one := []rollout.Record{begin, minutes(t, 2, 3), minutes(t, 3, 2), minutes(t, 4, 3), minutes(t, 5, 0), minutes(t, 6, 200)}
	two := []rollout.Record{begin, minutes(t, 2, 2), minutes(t, 3, 1)}
	fill(t, s, c, "one", one...)
	fill(t, s, c, "two", two...)
	for id, recs := range map[rollout.RunID][]rollout.Record{"one": one, "two": two} {
		kept(t, s, id, recs...)
		want := map[string]string{}
		for _, rec := range recs[1:] {
			m := rec.Event.(rollout.MinutesArrived)
			body, _, err := rollout.EncodeRows(m.Batch.Rows)
			if err != nil {
				t.Fatal(err)
			}
			want[m.Digest] = string(body)
		}
		j, err := s.Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, j.Rows); diff != "" {
			t.Errorf("rows of run %s mismatch (-want +got):\n%s", id, diff)
		}
	}
	if err := s.Finish(t.Context(), c, "one", rollout.Succeeded); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	kept(t, s, "two", two...) // it shares rows with the one that went
}

func digests(t *testing.T, s store.Store) {
	c := claim(t, s, "a", "domain:x")
	recs := []rollout.Record{Records(1)[0], minutes(t, 2, 1)}
	fill(t, s, c, "run", recs[0])
	lie := minutes(t, 2, 1)
	m := lie.Event.(rollout.MinutesArrived)
	m.Digest = minutes(t, 2, 2).Event.(rollout.MinutesArrived).Digest
	lie.Event = m
	if err := s.Append(t.Context(), c, "run", lie); err == nil {
		t.Error("rows with a wrong digest were accepted")
	}
	kept(t, s, "run", recs[0])
	fill(t, s, c, "run", recs[1])
	m = recs[1].Event.(rollout.MinutesArrived)
	m.Batch.Rows = nil
	if err := s.Append(t.Context(), c, "run", rollout.Record{Seq: 2, At: recs[1].At, Event: m}); err == nil {
		t.Error("the same record with other rows was accepted")
	}
	kept(t, s, "run", recs...)
}

// oddNames are names that a file system, SQL, a URL or a key space could take apart.
func oddNames(t *testing.T, s store.Store) {
	names := []string{"a", "a/", "/a", "a/b", "a/b/c", "%2f", "*.cdn.example.com", "看", `'; DROP TABLE run; --`, " ", "a\x00b", "..", "A", "a b"}
	begin := Records(2)
	for _, name := range names {
		c := claim(t, s, name, name, "record:"+name)
		id := rollout.RunID(name)
		fill(t, s, c, id, begin...)
		kept(t, s, id, begin...)
		j, err := s.Load(t.Context(), id)
		if err != nil || j.Run.ID != id || !slices.Equal(j.Run.Keys, c.Keys) {
			t.Errorf("run %q with keys %q: got %+v, %v", name, c.Keys, j.Run, err)
		}
	}
	held, err := s.Claims(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, name := range names {
		want[name], want["record:"+name] = name, name
	}
	got := map[string]string{}
	for _, h := range held {
		got[h.Key] = h.Holder
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys and holders mismatch (-want +got):\n%s", diff)
	}
	if keys := slices.Sorted(maps.Keys(want)); !slices.EqualFunc(held, keys, func(h store.Held, key string) bool { return h.Key == key }) {
		t.Errorf("the claims are not sorted by key: want %q, got %+v", keys, held)
	}
	runs, err := s.List(t.Context())
	if err != nil || len(runs) != len(names) {
		t.Errorf("want %d runs, got %+v, %v", len(names), runs, err)
	}
}
