package rollout_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tlsroll/tlsroll/controller/rollout"
)

// What is beside the journal leads to what was decided, whatever the night was like, also over a crash.
func TestLawR2ASecondJudgementDecidesTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSetup().Draw(t, "world")
		n := play(s, rapid.IntRange(0, 400).Draw(t, "crash after record"))
		judged, witness := rollout.Rejudge(n.records)
		if witness != nil {
			t.Fatal(witness)
		}
		for _, j := range judged {
			if !j.Equal() {
				t.Fatalf("record %d (-then +again):\n%s", j.Seq, cmp.Diff(j.Then, j.Again))
			}
		}
	})
}

// failingNight is a canary that goes back, and the number of records that changed its verdicts.
func failingNight(t *testing.T) (records []rollout.Record, changed int) {
	t.Helper()
	s := healthy(canarySteps)
	s.FaultAt, s.ErrorRate = 1, 0.3
	n := play(s, 0)
	if n.run.End.Phase != rollout.RolledBack {
		t.Fatalf("ended as %+v", *n.run.End)
	}
	judged, witness := rollout.Rejudge(n.records)
	if witness != nil || len(judged) < 30 {
		t.Fatalf("%d records judged again, %v", len(judged), witness)
	}
	return n.records, len(judged)
}

// With the failures taken out of the rows the run would not have gone back; but the journal holds the answers of the way back.
func TestAJournalWhoseRowsWereExchangedBetraysItself(t *testing.T) {
	records, whole := failingNight(t)
	for i, rec := range records {
		m, ok := rec.Event.(rollout.MinutesArrived)
		if !ok {
			continue
		}
		m.Batch.Rows = slices.Clone(m.Batch.Rows)
		for k := range m.Batch.Rows {
			m.Batch.Rows[k].Counts.Errors = 0
		}
		records[i].Event = m
	}
	judged, witness := rollout.Rejudge(records)
	if witness == nil || len(judged) >= whole {
		t.Errorf("%d of %d records judged again, witness %v", len(judged), whole, witness)
	}
}

// Every kind of answer must fit the command that it answers.
func TestAnAnswerToAnotherCommandIsNoticed(t *testing.T) {
	records, _ := failingNight(t)
	kinds := map[string]bool{}
	for i, rec := range records {
		kind := rollout.Kind(rec.Event)
		if kinds[kind] || i < 10 {
			continue
		}
		other := rec
		switch e := rec.Event.(type) {
		case rollout.MinutesArrived:
			e.Batch.To++
			other.Event = e
		case rollout.TimerFired:
			e.ID = 1 << 40
			other.Event = e
		case rollout.CommandSucceeded:
			e.Result = rollout.TLSSet{}
			other.Event = e
		default:
			continue
		}
		kinds[kind] = true
		exchanged := slices.Clone(records)
		exchanged[i] = other
		if _, witness := rollout.Rejudge(exchanged); witness == nil {
			t.Errorf("%s of record %d was changed, and nothing noticed", kind, rec.Seq)
		}
	}
	if len(kinds) != 3 {
		t.Errorf("only %v were tried", kinds)
	}
}
