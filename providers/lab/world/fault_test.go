package world_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

func TestFaultNamesParse(t *testing.T) {
	for i, f := range world.Faults() {
		got, err := world.ParseFault(f.Fault.String())
		if err != nil || got != f.Fault || f.Text == "" || f.Fault != world.Fault(i+1) {
			t.Errorf("%v: parsed as %v, error %v", f, got, err)
		}
	}
	if _, err := world.ParseFault("errors-11"); err == nil {
		t.Error("an unknown fault parsed")
	}
}

// measured is what a leg shows in 36 minutes, against the half hour before the change where that is a ratio.
type measured struct{ errors, total, tls, size, requests float64 }

func measure(w *world.World, leg guardrails.Leg) measured {
	a, b := sums(w, leg, after(-40*time.Minute), after(-10*time.Minute)), sums(w, leg, after(12*time.Minute), after(48*time.Minute))
	return measured{
		errors: b.Errors / b.Requests,
		total:  b.TotalMS / b.Requests / (a.TotalMS / a.Requests), tls: b.TLSMS / b.TLS / (a.TLSMS / a.TLS),
		size: b.Bytes / b.Requests / (a.Bytes / a.Requests), requests: b.Requests / 36 / (a.Requests / 30),
	}
}

func TestFaultsShowInTheMinutesOfTheChangedLegOnly(t *testing.T) {
	good := measured{errors: 0.005, total: 0.86, tls: 0.728, size: 1, requests: 0.81}
	with := func(f func(*measured)) measured {
		m := good
		f(&m)
		return m
	}
	for fault, want := range map[world.Fault]measured{
		world.None:          good,
		world.Errors10:      with(func(m *measured) { m.errors = 0.10 }),
		world.Errors6:       with(func(m *measured) { m.errors = 0.06 }),
		world.Latency25:     with(func(m *measured) { m.total = 1.25 }),
		world.TLSSlow:       with(func(m *measured) { m.tls = 1.60 }),
		world.SizeDrop:      with(func(m *measured) { m.size = 0.60 }),
		world.Silence:       with(func(m *measured) { m.requests *= 0.30 }),
		world.CommonCause:   with(func(m *measured) { m.errors = 0.10 }),
		world.Flap:          with(func(m *measured) { m.errors = 0.0775 }),
		world.EdgeWrongCert: with(func(m *measured) { m.errors = 0.02 }),
		world.TooGood:       with(func(m *measured) { m.total = 0.55 }),
	} {
		w := world.New(config(fault), start)
		turnOn(t, w, start)
		got := measure(w, guardrails.Primary)
		near(t, fault.String()+": error rate", got.errors, want.errors, 0.004)
		near(t, fault.String()+": total time", got.total, want.total, 0.02)
		near(t, fault.String()+": TLS time", got.tls, want.tls, 0.02)
		near(t, fault.String()+": size", got.size, want.size, 0.02)
		near(t, fault.String()+": requests", got.requests, want.requests, 0.06)

		backup := measured{errors: 0.005, total: 1, tls: 1, size: 1, requests: 0.81}
		if fault == world.CommonCause {
			backup.errors = 0.10
		}
		control := measure(w, guardrails.Backup)
		near(t, fault.String()+": the backup's error rate", control.errors, backup.errors, 0.004)
		near(t, fault.String()+": the backup's total time", control.total, backup.total, 0.02)
		near(t, fault.String()+": the backup's requests", control.requests, backup.requests, 0.06)
	}
}

// "Before the change" is what the edges spoke at the start, whichever way the change goes.
func TestTimesOfAFaultAreAgainstTheStart(t *testing.T) {
	for fault, want := range map[world.Fault]measured{
		world.Latency25: {total: 1.25, tls: 137.4 / 100.1},
		world.TLSSlow:   {total: 296 / 255.5, tls: 1.60},
		world.TooGood:   {total: 0.55, tls: 137.4 / 100.1},
	} {
		cfg := config(fault)
		cfg.State.Primary.TLS.Enabled = all
		w := world.New(cfg, start)
		set := w.State(start).Primary.TLS
		set.Enabled = old
		if _, err := w.WriteTLS(start, plans.TLSWrite{Set: &set}); err != nil {
			t.Fatal(err)
		}
		got := measure(w, guardrails.Primary)
		near(t, fault.String()+": total time", got.total, want.total, 0.02)
		near(t, fault.String()+": TLS time", got.tls, want.tls, 0.02)
	}
}

func TestCommonCauseIsInTheSameMinutesOnBothCDNs(t *testing.T) {
	cfg := config(world.CommonCause)
	cfg.PropagationTLS = -1
	w := world.New(cfg, start)
	turnOn(t, w, after(10*time.Minute))
	set := w.State(after(30 * time.Minute)).Primary.TLS
	set.Enabled = old
	if _, err := w.WriteTLS(after(30*time.Minute), plans.TLSWrite{Set: &set}); err != nil {
		t.Fatal(err)
	}
	bad := func(leg guardrails.Leg) []guardrails.Minute {
		var list []guardrails.Minute
		for m := range guardrails.Minute(40) {
			at := after(time.Duration(m) * time.Minute)
			if c := sums(w, leg, at, at.Add(time.Minute)); c.Errors/c.Requests > 0.05 {
				list = append(list, m)
			}
		}
		return list
	}
	var want []guardrails.Minute
	for m := guardrails.Minute(10); m < 30; m++ {
		want = append(want, m)
	}
	if diff := cmp.Diff([][]guardrails.Minute{want, want}, [][]guardrails.Minute{bad(guardrails.Primary), bad(guardrails.Backup)}); diff != "" {
		t.Errorf("minutes with errors on the primary and on the backup (-want +got)\n%s", diff)
	}
}

func TestNaNIsWhatNobodyCanCountWith(t *testing.T) {
	w := world.New(config(world.NaN), start)
	turnOn(t, w, start)
	from, to := guardrails.MinuteOf(start)-10, guardrails.MinuteOf(start)+10
	now := after(time.Hour)
	stored := w.Measured(now, from, to)
	rows := w.Minutes(now, world.RUM, from, to)
	if len(rows) != 21*4 || len(stored) != len(rows) {
		t.Fatalf("%d rows of %d stored, want one for each of 21 minutes, platform and leg", len(rows), len(stored))
	}
	for i, r := range rows {
		c := stored[i].Counts
		bad := r.Leg == guardrails.Primary && !r.Minute.Start().Before(start)
		switch nan := [...]bool{math.IsNaN(c.TotalMS), math.IsNaN(c.TLSMS), math.IsNaN(c.Bytes)}; {
		case nan != [...]bool{bad, bad, bad} || c.Requests == 0 || c.TLS == 0 || math.IsNaN(c.Errors):
			t.Errorf("stored: %+v, want NaN in the sums alone: %v", stored[i], bad)
		case bad && (r.Unknown != guardrails.NotANumber || r.Counts != guardrails.Counts{}):
			t.Errorf("%+v, want a row that is not a number, without counts", r)
		case !bad && (r.Unknown != 0 || r.Counts != c):
			t.Errorf("%+v, want %+v", r, c)
		}
	}
}

func TestGapsSkipOneMinuteInSix(t *testing.T) {
	w := world.New(config(world.Gaps), start)
	turnOn(t, w, start)
	from := guardrails.MinuteOf(start)
	var seen, control []guardrails.Minute
	for _, r := range w.Minutes(after(2*time.Hour), world.RUM, from-60, from+59) {
		switch {
		case r.Platform != "ios":
		case r.Leg == guardrails.Primary:
			seen = append(seen, r.Minute)
		default:
			control = append(control, r.Minute)
		}
	}
	if len(control) != 120 || len(seen) != 110 || seen[59] != from-1 {
		t.Fatalf("%d minutes of the backup and %d of the primary, want all 120, and all but one in six of the later 60", len(control), len(seen))
	}
	var last guardrails.Minute
	for i := 60; i < len(seen); i++ {
		if seen[i]-seen[i-1] == 1 {
			continue
		}
		if gap := seen[i] - 1; seen[i]-seen[i-1] != 2 || last != 0 && gap-last != 6 {
			t.Errorf("after minute %d comes %d; the gap before was %d", seen[i-1]-from, seen[i]-from, last-from)
		} else {
			last = gap
		}
	}
	if got := w.Minutes(after(2*time.Hour), world.EdgePrimary, from, from+59); len(got) != 60 {
		t.Errorf("the CDN's own monitoring has %d of 60 minutes", len(got))
	}
}

func TestFaultWithoutChangeDoesNothing(t *testing.T) {
	healthy := world.New(config(world.None), start).Minutes(after(time.Hour), world.RUM, guardrails.MinuteOf(start), guardrails.MinuteOf(start)+50)
	for _, f := range world.Faults() {
		got := world.New(config(f.Fault), start).Minutes(after(time.Hour), world.RUM, guardrails.MinuteOf(start), guardrails.MinuteOf(start)+50)
		if diff := cmp.Diff(healthy, got); diff != "" {
			t.Errorf("%v shows without a change (-want +got)\n%s", f.Fault, diff)
		}
	}
}

func TestBackupWithOtherVersionsMeetsNoFault(t *testing.T) {
	cfg := config(world.Errors10)
	cfg.BackupTLS = all
	w := world.New(cfg, start)
	turnOn(t, w, start)
	c := sums(w, guardrails.Backup, after(5*time.Minute), after(30*time.Minute))
	near(t, "the backup's error rate", c.Errors/c.Requests, 0.005, 0.001)
	near(t, "the backup's TLS 1.3 share", c.TLS13/c.TLS, 0.98, 0.003)
}

func TestFaultEndsWhenTheChangeIsTakenBack(t *testing.T) {
	w := world.New(config(world.Errors10), start)
	turnOn(t, w, start)
	set := w.State(after(10 * time.Minute)).Primary.TLS
	set.Enabled = old
	if _, err := w.WriteTLS(after(10*time.Minute), plans.TLSWrite{Set: &set}); err != nil {
		t.Fatal(err)
	}
	c := sums(w, guardrails.Primary, after(12*time.Minute), after(30*time.Minute))
	near(t, "error rate", c.Errors/c.Requests, 0.005, 0.001)
}

func TestStatus5xxShowsAtTheEdge(t *testing.T) {
	w := world.New(config(world.Status5xx), start)
	turnOn(t, w, start)
	var all, bad float64
	for _, r := range w.Minutes(after(time.Hour), world.EdgePrimary, guardrails.MinuteOf(start)+5, guardrails.MinuteOf(start)+30) {
		all += r.Counts.Requests
		bad += r.Counts.Status5xx
	}
	near(t, "5xx share", bad/all, 0.083, 0.004)
}

func TestDNSStuckReadsBackWhatNobodyAnswers(t *testing.T) {
	w := world.New(config(world.DNSStuck), start)
	weigh(t, w, start, 60) // a rehearsal with the present weights starts nothing
	weigh(t, w, after(5*time.Minute), 10)
	share := func(at time.Time) float64 { return float64(w.Answers(at, 1000).Primary) / 1000 }
	if got, _ := w.State(after(6 * time.Minute)).Weights("default"); got.Primary != 10 {
		t.Errorf("the API reads back %v, want 10:90", got)
	}
	near(t, "primary's share of the answers at once", share(after(6*time.Minute)), 0.60, 0.05)
	near(t, "after 24 minutes", share(after(29*time.Minute)), 0.60, 0.05)
	near(t, "after 26 minutes", share(after(31*time.Minute)), 0.10, 0.05)
}

func TestTLSStuckNeverLeavesTheAPI(t *testing.T) {
	w := world.New(config(world.TLSStuck), start)
	turnOn(t, w, start)
	late := after(2 * time.Hour)
	if got := w.State(late).Primary.TLS; got.Status != plans.ConfigPending || got.Enabled != all {
		t.Errorf("two hours later the API reads %v %v, want configuring with TLS 1.3", got.Status, got.Enabled)
	}
	if got := w.EdgeTLS(late, guardrails.Primary, 0); got != old {
		t.Errorf("an edge speaks %v, want %v", got, old)
	}
	set := w.State(late).Primary.TLS
	set.Enabled = old
	if _, err := w.WriteTLS(late, plans.TLSWrite{Set: &set}); err != nil {
		t.Fatal(err)
	}
	if got := w.State(late.Add(2 * time.Minute)).Primary.TLS.Status; got != plans.ConfigLive {
		t.Errorf("set back, the status is %v, want live", got)
	}
}

func TestOneEdgeShowsAnotherCertificate(t *testing.T) {
	w := world.New(config(world.EdgeWrongCert), start)
	bad := func(leg guardrails.Leg) []bool {
		var list []bool
		for _, h := range w.Handshakes(after(3*time.Minute), leg) {
			list = append(list, h.ChainError != "")
		}
		return list
	}
	if diff := cmp.Diff([]bool{false, false}, bad(guardrails.Primary)); diff != "" {
		t.Errorf("before the change (-want +got)\n%s", diff)
	}
	turnOn(t, w, start)
	if diff := cmp.Diff([][]bool{{false, true}, {false, false}}, [][]bool{bad(guardrails.Primary), bad(guardrails.Backup)}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestThrottleRefusesTwoOfFive(t *testing.T) {
	w := world.New(config(world.Throttle), start)
	var got []bool
	for range 10 {
		err := w.Refuse(start, "alidns:DescribeDomainInfo")
		if err != nil && providers.KindOf(err) != providers.Throttled {
			t.Errorf("error %v, want throttled", err)
		}
		got = append(got, err != nil)
	}
	want := []bool{true, true, false, false, false, true, true, false, false, false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestBlindHidesThePrimary(t *testing.T) {
	w := world.New(config(world.Blind), start)
	turnOn(t, w, start)
	if c := sums(w, guardrails.Primary, after(5*time.Minute), after(10*time.Minute)); c.Requests != 0 {
		t.Errorf("%v requests are visible on the primary", c.Requests)
	}
	if c := sums(w, guardrails.Backup, after(5*time.Minute), after(10*time.Minute)); c.Requests == 0 {
		t.Error("the backup is hidden too")
	}
}

func TestDriftComesByAnotherHand(t *testing.T) {
	w := world.New(config(world.Drift), start)
	turnOn(t, w, start)
	before, _ := w.State(after(11 * time.Minute)).Weights("default")
	got, _ := w.State(after(12 * time.Minute)).Weights("default")
	if before.Backup != 40 || got.Backup != 50 || len(w.Log()) != 1 {
		t.Errorf("weights %v then %v, %d writes of ours; want 60:40 then 60:50, 1", before, got, len(w.Log()))
	}
}

func TestRollbackFindsDNSDown(t *testing.T) {
	w := world.New(config(world.RollbackDNSDown), start)
	weigh(t, w, start, 30)
	turnOn(t, w, after(5*time.Minute))
	weigh(t, w, after(10*time.Minute), 60)
	back := plans.DNSWrite{Leg: guardrails.Backup, Action: plans.SetWeight, Weight: 100}
	for _, at := range []time.Duration{30 * time.Minute, 44 * time.Minute} {
		if err := w.WriteDNS(after(at), back); providers.KindOf(err) != providers.Transient {
			t.Errorf("after %v: error %v, want transient", at, err)
		}
	}
	status := plans.DNSWrite{Leg: guardrails.Primary, Action: plans.DisableRecord}
	if err := w.WriteDNS(after(44*time.Minute), status); providers.KindOf(err) != providers.Transient || !strings.Contains(err.Error(), "alidns:SetDomainRecordStatus") {
		t.Errorf("disabling a record: error %v, want transient", err)
	}
	if err := w.WriteDNS(after(46*time.Minute), back); err != nil {
		t.Errorf("after the outage: %v", err)
	}
}
