package plans_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

func zeros() []plans.Zero { return []plans.Zero{plans.ZeroDisable, plans.ZeroWeight, plans.ZeroFloor} }

// anyWeights draws weights as a person may have left them: at least one record answers, and a disabled primary would expose almost
// nothing when it is enabled, as CheckState demands.
func anyWeights(t *rapid.T, name string) plans.Weights {
	w := plans.Weights{
		Primary: rapid.IntRange(0, 100).Draw(t, name+" primary"), PrimaryOn: rapid.Bool().Draw(t, name+" primary on"),
		Backup: rapid.IntRange(0, 100).Draw(t, name+" backup"), BackupOn: rapid.Bool().Draw(t, name+" backup on"),
	}
	if !w.PrimaryOn {
		w.Primary = min(w.Primary, 1)
	}
	if !w.Answering() {
		w.Backup, w.BackupOn = 100, true
	}
	return w
}

// planned draws weights that a run sets: those of a share.
func planned(t *rapid.T, name string) plans.Weights {
	share := rapid.IntRange(0, 100).Draw(t, name+" share")
	return plans.WeightsFor(plans.Percent(share), rapid.SampledFrom(zeros()).Draw(t, name+" zero"))
}

// trace applies the writes and returns every state on the way, both ends included.
func trace(from plans.Weights, writes []plans.DNSWrite) []plans.Weights {
	states := []plans.Weights{from}
	for _, w := range writes {
		from = w.Apply(from)
		states = append(states, from)
	}
	return states
}

// Safety S9: whatever is found and whatever is wanted, the writes end there and something answers all the time.
func TestWritesEndAtTheWantedWeightsAndSomethingAlwaysAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cur, want := anyWeights(t, "now"), anyWeights(t, "wanted")
		states := trace(cur, plans.WritesBetween(cur, want))
		if end := states[len(states)-1]; !end.Equal(want) {
			t.Fatalf("%v to %v ends at %v", cur, want, end)
		}
		for _, s := range states {
			if !s.Answering() {
				t.Fatalf("%v to %v passes %v, where nothing answers: %v", cur, want, s, states)
			}
		}
		if again := plans.WritesBetween(states[len(states)-1], want); len(again) != 0 {
			t.Fatalf("at %v there are still writes to %v: %v", states[len(states)-1], want, again)
		}
	})
}

// Safety S1 and S9: between shares that a run sets, no share on the way lies outside the old and the new one.
func TestShareInBetweenLiesBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cur, want := planned(t, "now"), planned(t, "wanted")
		states := trace(cur, plans.WritesBetween(cur, want))
		// Weight 1 against 100 stands between an enabled and a disabled record: 0.99 % and 99.01 %.
		lo, hi := min(cur.Share(), want.Share(), 100-floorShare), max(cur.Share(), want.Share(), floorShare)
		for _, s := range states {
			if s.Share() < lo-1e-9 || s.Share() > hi+1e-9 {
				t.Fatalf("%v to %v passes %v (%v)", cur, want, s, s.Share())
			}
		}
	})
}

const floorShare = plans.Percent(100.0 / 101)

// Safety S1: when the weights sum to 100 before and after, as they do at rest, the share in between never exceeds both.
func TestShareInBetweenNeverExceedsBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.IntRange(0, 100).Draw(t, "now"), rapid.IntRange(0, 100).Draw(t, "wanted")
		cur := plans.Weights{Primary: a, Backup: 100 - a, PrimaryOn: true, BackupOn: true}
		want := plans.Weights{Primary: b, Backup: 100 - b, PrimaryOn: true, BackupOn: true}
		for _, s := range trace(cur, plans.WritesBetween(cur, want)) {
			if s.Share() > max(cur.Share(), want.Share()) || s.Share() < min(cur.Share(), want.Share()) {
				t.Fatalf("%v to %v passes %v", cur, want, s)
			}
		}
	})
}

func TestWritesInWords(t *testing.T) {
	const p, b = guardrails.Primary, guardrails.Backup
	on := func(primary, backup int) plans.Weights {
		return plans.Weights{Primary: primary, Backup: backup, PrimaryOn: true, BackupOn: true}
	}
	off := plans.WeightsFor(0, plans.ZeroDisable)
	set := func(leg guardrails.Leg, n int) plans.DNSWrite {
		return plans.DNSWrite{Leg: leg, Action: plans.SetWeight, Weight: n}
	}
	for _, test := range []struct {
		name      string
		cur, want plans.Weights
		writes    []plans.DNSWrite
	}{
		{"drain: the backup rises, the primary falls, then it is disabled", on(60, 40), off, []plans.DNSWrite{set(b, 100), set(p, 1), {Leg: p, Action: plans.DisableRecord}}},
		{"come back: enabled at weight 1 first", off, on(10, 90), []plans.DNSWrite{{Leg: p, Action: plans.EnableRecord}, set(b, 90), set(p, 10)}},
		{"nothing to do", on(10, 90), on(10, 90), nil},
		{"the weight of a disabled record is left alone", off, plans.Weights{Primary: 7, Backup: 100, BackupOn: true}, nil},
		{"both rise: the lower share first", on(10, 10), on(40, 60), []plans.DNSWrite{set(b, 60), set(p, 40)}},
		{"never through 0:0", on(0, 100), on(100, 0), []plans.DNSWrite{set(p, 100), set(b, 0)}},
	} {
		if diff := cmp.Diff(test.writes, plans.WritesBetween(test.cur, test.want)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestWeightsForAShare(t *testing.T) {
	for _, test := range []struct {
		share plans.Percent
		zero  plans.Zero
		want  string
	}{
		{10, plans.ZeroDisable, "10:90"},
		{10.4, plans.ZeroDisable, "10:90"},
		{10.5, plans.ZeroDisable, "11:89"},
		{0, plans.ZeroDisable, "off:100"},
		{0, plans.ZeroWeight, "0:100"},
		{0, plans.ZeroFloor, "1:100"},
		{100, plans.ZeroDisable, "100:off"},
		{100, plans.ZeroWeight, "100:0"},
		{100, plans.ZeroFloor, "100:1"},
		{-5, plans.ZeroWeight, "0:100"},
		{700, plans.ZeroWeight, "100:0"},
	} {
		w := plans.WeightsFor(test.share, test.zero)
		if w.String() != test.want {
			t.Errorf("%v with %v: got %v, want %s", test.share, test.zero, w, test.want)
		}
		if got := math.Abs(float64(w.Share() - min(max(test.share, 0), 100))); got > 1 {
			t.Errorf("%v is %v off the share", w, got)
		}
	}
}
