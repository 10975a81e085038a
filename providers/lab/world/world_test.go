package world_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

var (
	start = time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC) // 02:00 in Shanghai
	old   = plans.TLSSetOf(plans.TLS10, plans.TLS11, plans.TLS12)
	all   = old.With(plans.TLS13)
)

// config is a domain at 60:40 with TLS 1.0 to 1.2 written out, TTL 60 s, edges and clients as they come.
func config(fault world.Fault) world.Config {
	record := func(id, value string, weight int) plans.Record {
		return plans.Record{
			ID: id, Name: "cdn", Type: "CNAME", Value: value, Line: "default", TTL: time.Minute,
			Weight: weight, WeightKnown: true, Enabled: true,
		}
	}
	return world.Config{
		Fault: fault, Seed: 7, Location: time.FixedZone("UTC+8", 8*3600),
		State: plans.State{
			Primary: plans.CDNState{
				Domain: "cdn.example.com", CNAME: "p.example.net", Status: "online", Online: true, Certificate: true, TLSReadable: true,
				TLS: plans.TLSSettings{Explicit: true, Enabled: old, ConfigID: "1", Status: plans.ConfigLive},
			},
			Backup: plans.CDNState{Domain: "cdn.example.com", CNAME: "b.example.net", Status: "success", Online: true, Certificate: true},
			DNS: plans.DNSState{
				Records: []plans.Record{record("11", "p.example.net", 60), record("12", "b.example.net", 40)}, Weighted: true, MinTTL: time.Minute,
			},
		},
	}
}

func after(d time.Duration) time.Time { return start.Add(d) }

func turnOn(t *testing.T, w *world.World, at time.Time) {
	t.Helper()
	set := w.State(at).Primary.TLS
	set.Enabled = all
	if _, err := w.WriteTLS(at, plans.TLSWrite{Set: &set}); err != nil {
		t.Fatal(err)
	}
}

func weigh(t *testing.T, w *world.World, at time.Time, primary int) {
	t.Helper()
	for _, d := range []plans.DNSWrite{
		{Leg: guardrails.Backup, Action: plans.SetWeight, Weight: 100 - primary},
		{Leg: guardrails.Primary, Action: plans.SetWeight, Weight: primary},
	} {
		if err := w.WriteDNS(at, d); err != nil {
			t.Fatal(err)
		}
	}
}

// sums adds up the client measurements of whole minutes of one leg, seen long after they settled.
func sums(w *world.World, leg guardrails.Leg, from, to time.Time) guardrails.Counts {
	var c guardrails.Counts
	for _, r := range w.Minutes(to.Add(10*time.Minute), world.RUM, guardrails.MinuteOf(from), guardrails.MinuteOf(to)-1) {
		if r.Leg != leg {
			continue
		}
		c.Requests += r.Counts.Requests
		c.Errors += r.Counts.Errors
		c.TotalMS += r.Counts.TotalMS
		c.TLSMS += r.Counts.TLSMS
		c.TLS += r.Counts.TLS
		c.TLS13 += r.Counts.TLS13
		c.Bytes += r.Counts.Bytes
	}
	return c
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s is %.4g, want %.4g ± %.2g", what, got, want, tolerance)
	}
}

func TestBaselineExistsAtTheStart(t *testing.T) {
	w := world.New(config(world.None), start)
	rows := w.Minutes(start, world.RUM, guardrails.MinuteOf(start)-90, guardrails.MinuteOf(start))
	if got := len(rows); got < 88*4 || got > 90*4 {
		t.Fatalf("%d rows in the 90 minutes before the start, want a row for almost every minute, platform and leg", got)
	}
	p, b := sums(w, guardrails.Primary, after(-90*time.Minute), start), sums(w, guardrails.Backup, after(-90*time.Minute), start)
	near(t, "primary share", p.Requests/(p.Requests+b.Requests), 0.60, 0.02)
	near(t, "requests a minute", (p.Requests+b.Requests)/90, 21_000*0.46, 700)
	near(t, "error rate", p.Errors/p.Requests, 0.005, 0.0005)
	near(t, "total time", p.TotalMS/p.Requests, (281*9+307*12)/21.0, 3)
	near(t, "TLS 1.3 handshakes", p.TLS13, 0, 0)
}

func TestFiguresOfTheRealChange(t *testing.T) {
	w := world.New(config(world.None), start)
	turnOn(t, w, start)
	type means struct{ Total, TLS float64 }
	got := map[string]means{}
	for _, platform := range w.Platforms() {
		var c guardrails.Counts
		for _, r := range w.Minutes(after(3*time.Hour), world.RUM, guardrails.MinuteOf(start)+5, guardrails.MinuteOf(start)+124) {
			if r.Platform == platform && r.Leg == guardrails.Primary {
				c.Requests += r.Counts.Requests
				c.TotalMS += r.Counts.TotalMS
				c.TLS += r.Counts.TLS
				c.TLSMS += r.Counts.TLSMS
			}
		}
		got[platform] = means{Total: c.TotalMS / c.Requests, TLS: c.TLSMS / c.TLS}
	}
	near(t, "iOS total time", got["ios"].Total, 237, 3)
	near(t, "iOS TLS time", got["ios"].TLS, 137+0.02*73, 2)
	near(t, "Android total time", got["android"].Total, 269, 3)
	near(t, "Android TLS time", got["android"].TLS, 71, 1)
	c := sums(w, guardrails.Primary, after(5*time.Minute), after(2*time.Hour))
	near(t, "TLS 1.3 share", c.TLS13/c.TLS, 0.98, 0.003)
}

func TestSameSeedSameWorldHoweverOftenItIsAsked(t *testing.T) {
	a, b := world.New(config(world.None), start), world.New(config(world.None), start)
	for i := range 300 {
		now := after(time.Duration(i) * 7 * time.Second)
		a.Advance(now)
		a.Answers(now, 3)
		a.Handshakes(now, guardrails.Primary)
		a.Minutes(now, world.RUM, 0, 10)
	}
	end := after(time.Hour)
	from, to := guardrails.MinuteOf(start)-200, guardrails.MinuteOf(end)
	if diff := cmp.Diff(b.Minutes(end, world.RUM, from, to), a.Minutes(end, world.RUM, from, to)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	other := config(world.None)
	other.Seed = 8
	if cmp.Equal(a.Minutes(end, world.RUM, from, to), world.New(other, start).Minutes(end, world.RUM, from, to)) {
		t.Error("another seed gave the same counts")
	}
}

func TestCarriedShareLagsThenAgrees(t *testing.T) {
	for _, share := range []int{10, 30, 60} {
		w := world.New(config(world.None), start)
		weigh(t, w, start, 1)
		weigh(t, w, after(30*time.Minute), share)
		at := func(d time.Duration) float64 {
			p, b := sums(w, guardrails.Primary, after(d), after(d+5*time.Minute)), sums(w, guardrails.Backup, after(d), after(d+5*time.Minute))
			return 100 * p.Requests / (p.Requests + b.Requests)
		}
		near(t, "share in the first minutes after the drain", at(0), 10, 4)
		near(t, "share a quarter of an hour after the drain", at(15*time.Minute), 1, 1)
		for _, minutes := range []int{40, 45, 50, 55} {
			near(t, "carried share", at(time.Duration(minutes)*time.Minute), float64(share), 5)
		}
	}
}

func TestResolversAreUnequal(t *testing.T) {
	w := world.New(config(world.None), start)
	// The variance of the minutes' share tells the effective number of resolvers. Keeping connections and answers for a while
	// smooths a minute, so it looks larger than 1/Σd² ≈ 175.
	var shares []float64
	for i := range 600 {
		d := time.Duration(i) * time.Minute
		p, b := sums(w, guardrails.Primary, after(d), after(d+time.Minute)), sums(w, guardrails.Backup, after(d), after(d+time.Minute))
		shares = append(shares, p.Requests/(p.Requests+b.Requests))
	}
	mean, variance := 0.0, 0.0
	for _, s := range shares {
		mean += s / float64(len(shares))
	}
	for _, s := range shares {
		variance += (s - mean) * (s - mean) / float64(len(shares))
	}
	if n := mean * (1 - mean) / variance; n < 150 || n > 450 {
		t.Errorf("the minutes' share wobbles like %.0f equal resolvers, want 150 to 450", n)
	}
}

func TestEdgesFollowOneAfterAnother(t *testing.T) {
	w := world.New(config(world.None), start)
	turnOn(t, w, start)
	type seen struct {
		First, Last plans.TLSSet
		Status      plans.ConfigStatus
	}
	look := func(d time.Duration) seen {
		at := after(d)
		return seen{w.EdgeTLS(at, guardrails.Primary, 0), w.EdgeTLS(at, guardrails.Primary, 1), w.State(at).Primary.TLS.Status}
	}
	got := []seen{look(0), look(50 * time.Second), look(70 * time.Second), look(95 * time.Second)}
	want := []seen{
		{old, old, plans.ConfigPending}, {all, old, plans.ConfigPending}, {all, old, plans.ConfigLive}, {all, all, plans.ConfigLive},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := w.EdgeTLS(after(time.Hour), guardrails.Backup, 0); got != old {
		t.Errorf("the backup speaks %v, want %v", got, old)
	}
}

func TestDeletedSettingsReturnToTheDefault(t *testing.T) {
	cfg := config(world.None)
	cfg.State.Primary.TLS = plans.TLSSettings{}
	cfg.DefaultTLS = plans.TLSSetOf(plans.TLS12)
	w := world.New(cfg, start)
	id, err := w.WriteTLS(start, plans.TLSWrite{Set: &plans.TLSSettings{Enabled: all}})
	if err != nil || id == "" {
		t.Fatalf("id %q, error %v", id, err)
	}
	if got := w.EdgeTLS(after(2*time.Minute), guardrails.Primary, 0); got != all {
		t.Errorf("set: the edge speaks %v, want %v", got, all)
	}
	for range 2 {
		if _, err := w.WriteTLS(after(3*time.Minute), plans.TLSWrite{Delete: id}); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.EdgeTLS(after(5*time.Minute), guardrails.Primary, 0); got != cfg.DefaultTLS {
		t.Errorf("deleted: the edge speaks %v, want %v", got, cfg.DefaultTLS)
	}
	if diff := cmp.Diff(plans.TLSSettings{}, w.State(after(5*time.Minute)).Primary.TLS); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := len(w.Log()); got != 2 {
		t.Errorf("%d writes in the log, want the set and one delete", got)
	}
}

func TestRefusedWritesChangeNothing(t *testing.T) {
	type row struct {
		name   string
		change func(*world.Config)
		write  plans.DNSWrite
		code   string
		kind   providers.Kind
	}
	set := func(n int) plans.DNSWrite {
		return plans.DNSWrite{Leg: guardrails.Primary, RecordID: "11", Action: plans.SetWeight, Weight: n}
	}
	first := func(f func(*plans.Record)) func(*world.Config) {
		return func(c *world.Config) { f(&c.State.DNS.Records[0]) }
	}
	for _, r := range []row{
		{"weight 0", nil, set(0), "InvalidWeigth", providers.Invalid},
		{"weight 101", nil, set(101), "InvalidWeigth", providers.Invalid},
		{"disabled record", first(func(r *plans.Record) { r.Enabled = false }), set(5), "DomainRecordDisable", providers.Conflict},
		{"locked record", first(func(r *plans.Record) { r.Locked = true }), set(5), "DomainRecordLocked", providers.Conflict},
		{"wildcard record", first(func(r *plans.Record) { r.Name = "*" }), set(5), "PanDomainRecord", providers.Invalid},
		{"weighting off", func(c *world.Config) { c.State.DNS.Weighted = false }, set(5), "DisableDNSSLB", providers.Conflict},
		{"foreign record", nil, plans.DNSWrite{RecordID: "99", Action: plans.SetWeight, Weight: 5}, "DomainRecordNotBelongToUser", providers.Missing},
	} {
		cfg := config(world.None)
		if r.change != nil {
			r.change(&cfg)
		}
		w := world.New(cfg, start)
		before := w.State(start)
		err := w.WriteDNS(start, r.write)
		e, ok := errors.AsType[*providers.Error](err)
		if !ok || e.Code != r.code || e.Kind != r.kind {
			t.Errorf("%s: error %v, want %s (%v)", r.name, err, r.code, r.kind)
		}
		if diff := cmp.Diff(before, w.State(start)); diff != "" || len(w.Log()) != 0 {
			t.Errorf("%s: the refused write changed something (-want +got)\n%s", r.name, diff)
		}
	}
}

func TestZeroAndDisable(t *testing.T) {
	cfg := config(world.None)
	cfg.ZeroWeight = true
	w := world.New(cfg, start)
	if err := w.WriteDNS(start, plans.DNSWrite{Leg: guardrails.Primary, Action: plans.SetWeight, Weight: 0}); err != nil {
		t.Fatal(err)
	}
	if leg, ok := w.Answer(after(time.Minute), 0); leg != guardrails.Backup || !ok {
		t.Errorf("weight 0 answers %v, %v", leg, ok)
	}
	for _, leg := range []guardrails.Leg{guardrails.Primary, guardrails.Backup} {
		if err := w.WriteDNS(start, plans.DNSWrite{Leg: leg, Action: plans.DisableRecord}); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := w.Answer(after(time.Minute), 0.5); ok {
		t.Error("two disabled records still answer")
	}
	if got := w.Answers(after(time.Minute), 9).Other; got != 9 {
		t.Errorf("%d of 9 queries found nothing, want all", got)
	}
}
