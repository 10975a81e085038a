package plans_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tlsroll/tlsroll/plans"
)

func TestRollbackForLeavesOutWhatTheStartDidNotHave(t *testing.T) {
	levers := plans.Together{Steps: []plans.Step{plans.Shift{}, plans.TLS{Restore: true}}}
	p := &plans.Plan{Rollback: []plans.Step{levers, plans.Verify{}, plans.Shift{Primary: 10}, plans.Bake{For: time.Minute}, plans.Shift{Primary: 30}, plans.Shift{Primary: 60}}}
	for _, test := range []struct {
		observed plans.Percent
		want     []plans.Step
	}{
		{100, []plans.Step{levers, plans.Verify{}, plans.Shift{Primary: 10}, plans.Bake{For: time.Minute}, plans.Shift{Primary: 30}, plans.Shift{Primary: 60}}},
		{60, []plans.Step{levers, plans.Verify{}, plans.Shift{Primary: 10}, plans.Bake{For: time.Minute}, plans.Shift{Primary: 30}}},
		{20, []plans.Step{levers, plans.Verify{}, plans.Shift{Primary: 10}, plans.Bake{For: time.Minute}}},
		{0, []plans.Step{levers, plans.Verify{}, plans.Bake{For: time.Minute}}},
	} {
		if diff := cmp.Diff(test.want, p.RollbackFor(test.observed)); diff != "" {
			t.Errorf("observed %v (-want +got):\n%s", test.observed, diff)
		}
	}
	if len(p.Rollback) != 6 {
		t.Error("the plan was changed")
	}
}

// Safety S3: no way back raises the share before the TLS versions are proved restored, or above what was observed.
func TestNoWayBackRaisesEarlyOrTooHigh(t *testing.T) {
	p := mustParse(t, small)
	rapid.Check(t, func(t *rapid.T) {
		observed := plans.Percent(rapid.IntRange(0, 100).Draw(t, "observed"))
		proved := false
		for _, s := range p.RollbackFor(observed) {
			if _, ok := s.(plans.Verify); ok {
				proved = true
			}
			if shift, ok := s.(plans.Shift); ok && (!proved && shift.Primary > 0 || shift.Primary > observed) {
				t.Fatalf("a shift to %v, observed %v, proved %t", shift.Primary, observed, proved)
			}
		}
		if !proved {
			t.Fatal("nothing is proved")
		}
	})
}
