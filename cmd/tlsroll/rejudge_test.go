package main

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/sim"
	"github.com/tlsroll/tlsroll/controller/store/sqlite"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// kept writes a journal to a new store and returns its path.
func kept(t *testing.T, records []rollout.Record) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(t.Context(), []string{"domain:cdn.example.com"}, "test", 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range records {
		if err := s.Append(t.Context(), c, "dry-run", rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func rejudged(t *testing.T, path string, args ...string) (out, talk string, code int) {
	t.Helper()
	var o, e strings.Builder
	code = run(t.Context(), append([]string{"events", "--rejudge", "--store", path}, args...), stdio{out: &o, err: &e})
	return o.String(), e.String(), code
}

func TestRejudgeOfAFailingNight(t *testing.T) {
	t.Parallel()
	_, night := simulated(t, sim.Options{Fault: world.Errors10, Seed: 11})
	path := kept(t, night.Records)
	out, talk, code := rejudged(t, path)
	if code != exitOK || !strings.Contains(out, "byte for byte the same") || !strings.Contains(out, "FIRE     error-rate") || strings.Contains(out, "NOT THE SAME") {
		t.Errorf("exit %d\n%s%s", code, out, talk)
	}
	out, _, code = rejudged(t, path, "-o", "json")
	var doc view.RejudgeDoc
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK || !strings.HasPrefix(out, "{\n  \"schema\": \"tlsroll/rejudge.v1\"") {
		t.Fatalf("exit %d, %v\n%.300s", code, err, out)
	}
	if !doc.Equal || doc.FirstDifference != nil || len(doc.Decisions) < 50 || len(doc.Missing) > 0 {
		t.Errorf("equal %v, first difference %v, %d decisions, %d missing", doc.Equal, doc.FirstDifference, len(doc.Decisions), len(doc.Missing))
	}

	removeRows(t, path)
	out, talk, code = rejudged(t, path)
	if code != exitPrecondition || !strings.Contains(out, "the rows of rum from") || !strings.Contains(talk, "nothing can be judged again") {
		t.Errorf("without rows: exit %d\n%s%s", code, out, talk)
	}
}

// removeRows leaves the journal of a run whose rows lie with another controller.
func removeRows(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // a test
	if _, err := db.ExecContext(t.Context(), `DELETE FROM minutes`); err != nil {
		t.Fatal(err)
	}
}

// Rows with the failures taken out, under digests of their own, make a whole journal that cannot have happened.
func TestRejudgeNoticesExchangedRows(t *testing.T) {
	t.Parallel()
	_, night := simulated(t, sim.Options{Fault: world.Errors10, Seed: 11})
	records := slices.Clone(night.Records)
	for i, rec := range records {
		m, ok := rec.Event.(rollout.MinutesArrived)
		if !ok {
			continue
		}
		m.Batch.Rows = slices.Clone(m.Batch.Rows)
		for k := range m.Batch.Rows {
			m.Batch.Rows[k].Counts.Errors = 0
		}
		var err error
		if _, m.Digest, err = rollout.EncodeRows(m.Batch.Rows); err != nil {
			t.Fatal(err)
		}
		records[i].Event = m
	}
	out, talk, code := rejudged(t, kept(t, records))
	if code != exitUnexpected || !strings.Contains(talk, "the run had decided otherwise before it") || strings.Contains(out, "byte for byte") {
		t.Errorf("exit %d\n%s", code, talk)
	}
}

// A difference is shown with both judgements; the first one is named.
func TestRejudgeShowsADifference(t *testing.T) {
	_, night := simulated(t, sim.Options{Seed: 11, Quiet: true})
	judged, witness := rollout.Rejudge(night.Records)
	if witness != nil || len(judged) < 3 {
		t.Fatalf("%d decisions, %v", len(judged), witness)
	}
	judged[2].Again = slices.Clone(judged[2].Again)
	judged[2].Again[0].State = guardrails.Fire
	doc := view.NewRejudgeDoc(night.Records, judged, nil, nil)
	if doc.Equal || doc.FirstDifference == nil || *doc.FirstDifference != judged[2].Seq {
		t.Fatalf("equal %v, first difference %v", doc.Equal, doc.FirstDifference)
	}
	var b strings.Builder
	if err := view.RejudgeLines(&b, doc); err != nil {
		t.Fatal(err)
	}
	if strings.Count(b.String(), "NOT THE SAME") != 1 || strings.Count(b.String(), "again  FIRE") != 1 || strings.Contains(b.String(), "byte for byte") {
		t.Errorf("printed\n%s", b.String())
	}
}
