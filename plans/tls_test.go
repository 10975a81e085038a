package plans_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tlsroll/tlsroll/plans"
)

func anySet(t *rapid.T, name string) plans.TLSSet {
	return plans.TLSSetOf(rapid.SliceOfDistinct(rapid.SampledFrom(plans.TLSVersions()), rapid.ID[plans.TLSVersion]).Draw(t, name)...)
}

func TestChangeTouchesOnlyWhatItNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, on := anySet(t, "before"), anySet(t, "on")
		off := anySet(t, "off") &^ on
		after := plans.Change{On: on, Off: off}.Apply(before)
		for _, v := range plans.TLSVersions() {
			want := before.Has(v)
			if on.Has(v) || off.Has(v) {
				want = on.Has(v)
			}
			if after.Has(v) != want {
				t.Fatalf("%v: %t, want %t", v, after.Has(v), want)
			}
		}
	})
}

// Safety S4: whatever the change made, the writes to the restore target end at what was observed, unknown arguments included.
func TestRestoreLeadsBackToWhatWasObserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		observed := plans.TLSSettings{Explicit: rapid.Bool().Draw(t, "explicit"), Status: plans.ConfigLive}
		accepted := anySet(t, "accepted")
		if observed.Explicit {
			observed.Enabled, observed.ConfigID = anySet(t, "enabled"), "1"
			observed.Extra = []plans.Arg{{Name: "x", Value: "y"}}
		}
		p := plans.Plan{Change: plans.Change{On: plans.TLSSetOf(plans.TLS13), Off: anySet(t, "off").Without(plans.TLS13)}}
		changed := settle(t, observed, p.TLSTargetFor(observed, accepted))
		base := accepted
		if observed.Explicit {
			base = observed.Enabled
		}
		if changed.Enabled != p.Change.Apply(base) {
			t.Fatalf("the change leads to %v", changed.Enabled)
		}
		if diff := cmp.Diff(observed, settle(t, changed, plans.RestoreTarget(observed))); diff != "" {
			t.Fatalf("(-observed +restored):\n%s", diff)
		}
	})
}

// settle makes the writes to a target on a CDN that applies each at once, and checks that one write is enough.
func settle(t *rapid.T, s plans.TLSSettings, want plans.TLSTarget) plans.TLSSettings {
	if w, ok := plans.NextTLSWrite(s, want); ok {
		if w.Set == nil {
			if w.Delete == "" {
				t.Fatal("a delete without an id")
			}
			s = plans.TLSSettings{Status: plans.ConfigLive}
		} else {
			s = *w.Set
			s.Explicit, s.ConfigID, s.Status = true, "1", plans.ConfigLive
		}
	}
	if w, ok := plans.NextTLSWrite(s, want); ok {
		t.Fatalf("a second write: %+v", w)
	}
	return s
}

func TestNextTLSWrite(t *testing.T) {
	old, wanted := plans.TLSSetOf(plans.TLS12), plans.TLSSetOf(plans.TLS12, plans.TLS13)
	for _, test := range []struct {
		name  string
		cur   plans.TLSSettings
		want  plans.TLSTarget
		write bool
	}{
		{"pending counts as there", plans.TLSSettings{Explicit: true, Enabled: wanted, Status: plans.ConfigPending}, plans.TLSTarget{Enabled: wanted}, false},
		{"failed is written again", plans.TLSSettings{Explicit: true, Enabled: wanted, Status: plans.ConfigFailed}, plans.TLSTarget{Enabled: wanted}, true},
		{"set again while another is pending", plans.TLSSettings{Explicit: true, Enabled: wanted, Status: plans.ConfigPending}, plans.TLSTarget{Enabled: old}, true},
		{"a default that happens to be equal is written out", plans.TLSSettings{Enabled: wanted}, plans.TLSTarget{Enabled: wanted}, true},
		{"absent already", plans.TLSSettings{}, plans.TLSTarget{Absent: true}, false},
		{"absent again", plans.TLSSettings{Explicit: true, ConfigID: "7"}, plans.TLSTarget{Absent: true}, true},
	} {
		if _, got := plans.NextTLSWrite(test.cur, test.want); got != test.write {
			t.Errorf("%s: write %t", test.name, got)
		}
	}
}

func TestTLSWords(t *testing.T) {
	got := []string{plans.TLSSet(0).String(), plans.TLSSetOf(plans.TLS13, plans.TLS10).String(), plans.TLS11.String(), plans.ConfigPending.String()}
	if diff := cmp.Diff([]string{"none", "TLS 1.0, TLS 1.3", "TLS 1.1", "configuring"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestClockMapsBothWays(t *testing.T) {
	epoch := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		c := plans.Clock{Epoch: epoch, Start: epoch.AddDate(-5, 0, 0), Speed: rapid.Float64Range(0.5, 1000).Draw(t, "speed")}
		wall := epoch.Add(time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "after")))
		if d := c.Wall(c.At(wall)).Sub(wall).Abs(); d > time.Microsecond {
			t.Fatalf("%v comes back %v off", wall, d)
		}
		later := c.At(wall.Add(time.Minute)).Sub(c.At(wall))
		if d := (c.WallDuration(later) - time.Minute).Abs(); d > time.Microsecond {
			t.Fatalf("a minute is %v off", d)
		}
		if c.At(epoch) != c.Start {
			t.Fatal("the epoch is not the start")
		}
		if wall := (plans.Clock{}).At(wall); !wall.Equal((plans.Clock{}).Wall(wall)) || (plans.Clock{}).WallDuration(time.Hour) != time.Hour {
			t.Fatal("the zero clock is not the wall")
		}
	})
	c := plans.Clock{Epoch: epoch, Start: epoch.Add(time.Hour), Speed: 60}
	if got := c.At(epoch.Add(time.Second)); !got.Equal(epoch.Add(time.Hour + time.Minute)) {
		t.Errorf("a second at 60 times leads to %v", got)
	}
	if got := c.WallDuration(time.Minute); got != time.Second {
		t.Errorf("a minute at 60 times takes %v", got)
	}
}
