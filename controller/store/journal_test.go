package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/storetest"
	"github.com/tlsroll/tlsroll/plans"
)

func TestAWholeJournalIsRead(t *testing.T) {
	for _, n := range []int{1, 2, 9, 100} {
		got, missing, err := storetest.Journal(n).Records()
		if err != nil || len(missing) > 0 {
			t.Errorf("%d records: missing %v, %v", n, missing, err)
		}
		if diff := cmp.Diff(storetest.Records(n), got); diff != "" {
			t.Errorf("%d records mismatch (-want +got):\n%s", n, diff)
		}
	}
}

func TestDamageIsFound(t *testing.T) {
	for _, d := range storetest.Damages() {
		t.Run(d.Name, func(t *testing.T) {
			j := storetest.Journal(9)
			d.Do(&j)
			got, _, err := j.Records()
			bad, ok := errors.AsType[*store.CorruptError](err)
			if !ok || got != nil || bad.Run != "run" || bad.Seq != d.Seq || !strings.Contains(bad.Why, d.Why) {
				t.Errorf("want it found at record %d (%s) and no records, got %d, %v", d.Seq, d.Why, len(got), err)
			}
		})
	}
}

func TestRowsThatAreGoneAreNamed(t *testing.T) {
	j := storetest.Journal(20)
	clear(j.Rows)
	got, missing, err := j.Records()
	if err != nil || len(got) != 20 || !slices.Equal(missing, []uint64{3, 10, 17}) {
		t.Errorf("want 20 records, and the rows of 3, 10 and 17 missing, got %d, %v, %v", len(got), missing, err)
	}
}

func TestAnEndHasAName(t *testing.T) {
	for p := range rollout.Phase(100) {
		want := p
		if p < rollout.Succeeded || p > rollout.Missed {
			want = 0
		}
		if got := store.End(p.String()); got != want {
			t.Errorf("End(%q): want %d, got %d", p, want, got)
		}
	}
}

func TestPlansThatShareADomainOrARecordShareAKey(t *testing.T) {
	a := &plans.Plan{Domain: "cdn.example.com"}
	a.DNS.Record, a.DNS.Zone = "cdn", "example.com"
	b := *a
	b.Domain = "www.example.com"
	if diff := cmp.Diff([]string{"domain:cdn.example.com", "record:cdn.example.com"}, rollout.Keys(a)); diff != "" {
		t.Errorf("keys mismatch (-want +got):\n%s", diff)
	}
	if rollout.Keys(a)[1] != rollout.Keys(&b)[1] {
		t.Errorf("plans for one record: %v and %v", rollout.Keys(a), rollout.Keys(&b))
	}
}
