package sim

import (
	"math/rand/v2"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// script is everything that will happen in a random night, before it begins. It is a pure function of plan, seed and index.
type script struct {
	seed     uint64
	index    int
	plan     *plans.Plan
	start    time.Time
	world    world.Config
	spells   []spell
	acts     []act
	delay    time.Duration // of an API call, on average
	begin    time.Time     // the hour that the plan has; zero: at once
	approval time.Duration // until a person approves; negative: never
	watch    time.Duration // of the last, long observation, until somebody cuts it short; negative: nobody does
}

// Of a hundred nights so many have each trouble; chosen so that every way to end is common. About one night in six has none at all.
const (
	faultPart   = 60
	spellPart   = 50
	orderPart   = 30
	driftPart   = 8
	crashPart   = 40
	jumpPart    = 8
	metricPart  = 18
	latePart    = 3
	calmPart    = 12 // of these nights nothing at all is drawn
	wholePart   = 1  // in four thousand nights so many observe until the end
	wholeNights = 4000
)

// dice are the numbers of one night.
type dice struct{ *rand.Rand }

func diceFor(seed uint64, index int) dice {
	return dice{rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15^uint64(index)))} //nolint:gosec // a reproducible model, not a secret
}

func (d dice) percent(n int) bool { return d.IntN(100) < n }

// between is uniform.
func (d dice) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(d.Int64N(int64(hi-lo)+1))
}

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// draw decides a night. The plan is not changed.
func draw(plan *plans.Plan, start time.Time, seed uint64, index int) script {
	d := diceFor(seed, index)
	p := *plan
	p.DNS.Zero = pick(d, plan.DNS.Zero, plans.ZeroDisable, plans.ZeroWeight, plans.ZeroFloor)
	s := script{
		seed: seed, index: index, plan: &p, start: start, world: d.world(&p), delay: d.between(50*time.Millisecond, 800*time.Millisecond),
		approval: d.between(time.Minute, 20*time.Minute), watch: d.between(2*time.Minute, 25*time.Minute),
	}
	if d.percent(2) {
		s.approval = -1
	}
	if d.percent(latePart) {
		s.begin = start.Add(-d.between(0, 30*time.Minute))
	}
	if d.IntN(wholeNights) < wholePart {
		s.watch = -1
	}
	if d.percent(calmPart) {
		return s
	}
	d.fault(&s)
	if d.percent(spellPart) {
		s.spells = append(s.spells, d.spells()...)
	}
	if d.percent(metricPart) {
		s.spells = append(s.spells, d.metricSpell())
	}
	if d.percent(orderPart) {
		s.acts = append(s.acts, d.orders()...)
	}
	if d.percent(driftPart) {
		s.acts = append(s.acts, act{do: doDrift, leg: pick(d, guardrails.Primary, guardrails.Backup), weight: 5 + d.IntN(90), when: d.trigger()})
	}
	if d.percent(crashPart) {
		for range 1 + d.IntN(2) {
			s.acts = append(s.acts, d.crash())
		}
	}
	if d.percent(jumpPart) {
		s.acts = append(s.acts, d.jump())
	}
	return s
}

// world is traffic, noise and what is configured at the start.
func (d dice) world(p *plans.Plan) world.Config {
	c := world.Config{
		State: d.state(p), Seed: d.Uint64(), Platforms: world.DefaultPlatforms(),
		PropagationDNS: d.between(time.Second, 20*time.Second), PropagationTLS: d.between(20*time.Second, 4*time.Minute),
		DayDemand: 0.1 * d.Float64(), DayTimes: 0.05 * d.Float64(), NightRise: 0.05 * d.Float64(),
		Stretching: pick(d, 0.03, 0.03, 0.03, 0.06, -1),
	}
	c.DefaultTLS = startingSet(p)
	level := pick(d, 1, 1, 1, 0.5, 2, 5) * (0.8 + 0.4*d.Float64())
	for i := range c.Platforms {
		c.Platforms[i].Peak *= level * (0.7 + 0.6*d.Float64())
		c.Platforms[i].Errors *= 0.5 + d.Float64()
	}
	return c
}

// startingSet is what edges speak before the plan's change: something is left to change.
func startingSet(p *plans.Plan) plans.TLSSet {
	return plans.TLSSetOf(plans.TLS10, plans.TLS11, plans.TLS12)&^p.Change.On | p.Change.Off
}

// state is the start: share, versions, and whether the TLS function is there at all.
func (d dice) state(p *plans.Plan) plans.State {
	set := startingSet(p)
	if old := plans.TLSSetOf(plans.TLS10, plans.TLS11); d.percent(25) && p.Change.Off&old == 0 && set&^old != 0 {
		set &^= old
	}
	tls := plans.TLSSettings{Explicit: true, Enabled: set, ConfigID: "7", Status: plans.ConfigLive}
	if d.percent(20) {
		tls = plans.TLSSettings{}
	}
	share := pick(d, 60, 60, 60, 20+d.IntN(61))
	record := func(id, value string, weight int) plans.Record {
		return plans.Record{ID: id, Name: p.DNS.Record, Type: "CNAME", Value: value, Line: p.DNS.Line, TTL: p.DNS.TTL, Weight: weight, WeightKnown: true, Enabled: true}
	}
	const primary, backup = "p.w.example.net", "b.q.example.net"
	return plans.State{
		Primary: plans.CDNState{Domain: p.Domain, CNAME: primary, Status: "online", Online: true, Certificate: true, TLSReadable: true, TLS: tls},
		Backup:  plans.CDNState{Domain: p.Domain, CNAME: backup, Status: "success", Online: true, Certificate: true},
		DNS:     plans.DNSState{Weighted: true, MinTTL: time.Second, Records: []plans.Record{record("1", primary, share), record("2", backup, 100-share)}},
	}
}

// fault draws one of the world's faults, at once with the change or later.
func (d dice) fault(s *script) {
	if !d.percent(faultPart) {
		return
	}
	all := world.Faults()
	s.world.Fault = all[1+d.IntN(len(all)-1)].Fault
	if d.percent(30) {
		s.world.Onset = s.start.Add(d.between(10*time.Minute, 150*time.Minute))
	}
}

// spells is one time of API trouble.
func (d dice) spells() []spell {
	from := d.between(0, 150*time.Minute)
	whole := spell{from: from, to: from + d.between(5*time.Second, 4*time.Minute), part: 1, trouble: world.Unreachable}
	switch d.IntN(9) {
	case 0: // both APIs are away
		return []spell{whole}
	case 1: // the DNS API is away when the way back begins
		whole.api, whole.back, whole.from, whole.to = "alidns", true, 0, d.between(10*time.Second, 20*time.Minute)
		return []spell{whole}
	case 2: // throttled for a while
		whole.trouble, whole.part, whole.to = world.Throttling, 0.7, from+d.between(time.Minute, 10*time.Minute)
		return []spell{whole}
	case 3: // reads are behind, all night
		return []spell{{to: 24 * time.Hour, part: 0.5, behind: d.between(time.Second, 10*time.Second)}}
	case 4: // late in the night a permission is taken away
		if d.percent(80) {
			return []spell{{to: 24 * time.Hour, part: 0.1, slow: d.between(time.Second, 10*time.Second)}}
		}
		whole.trouble, whole.api, whole.writes = world.AccessDenied, pick(d, "alidns", "cdn"), true
		return []spell{whole}
	case 5: // the CDN API is away at the start of the way back
		whole.api, whole.back, whole.from, whole.to = "cdn", true, 0, d.between(10*time.Second, 10*time.Minute)
		return []spell{whole}
	}
	kind := pick(d, world.ServerError, world.Timeout, world.EmptyAnswer, world.ServiceBusy, world.ServerError)
	return []spell{{to: 24 * time.Hour, part: pick(d, 0.05, 0.2, 0.5), trouble: kind, api: pick(d, "", "alidns", "cdn")}}
}

// metricSpell is a time in which measurements are late, missing, partial, or not to be had.
func (d dice) metricSpell() spell {
	from := d.between(0, 150*time.Minute)
	return spell{
		from: from, to: from + d.between(time.Minute, pick(d, 4*time.Minute, 10*time.Minute, 40*time.Minute)), part: 1,
		metric: pick(d, metricLate, metricMissing, metricPartial, metricCut, metricFails), leg: pick(d, 0, guardrails.Primary, guardrails.Backup),
		api: pick(d, "rum", "rum", "edge"),
	}
}
