// Package world is a pure model of two CDNs behind one weighted name: what is configured, what the authoritative servers answer,
// what edges negotiate, and which minutes the metric systems show. Time is an argument; nothing here sleeps, listens or logs.
//
// Laws:
//
//   - The same Config, start and sequence of calls give the same answers. Noise comes from a PCG seeded with Config.Seed and the
//     minute, so a minute does not depend on how often anybody looked at it.
//   - Time never goes back: an instant before the latest one counts as the latest one for the traffic.
//   - A write that returns nil is read back at once. It reaches the authoritative servers after Config.PropagationDNS and the edges
//     one after another within Config.PropagationTLS.
//   - Weight is not traffic: about 300 resolvers of unequal size cache one answer each, 3 % of the demand stretches the TTL to five
//     minutes, and part of a minute's requests stays on last minute's connections.
//   - A fault acts on the requests that meet the change, or on what is measured of them, on the primary, while it is live on the edges;
//     [Faults] lists the exceptions.
//
// The figures of Config are those of the civil day of the start. Every other day, of the weeks before and of the time after, has its own
// level of demand and times; the shape of the hours is the same.
//
// A World belongs to one goroutine at a time.
package world

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// History is how much traffic exists before the start, so that a baseline can be taken at once.
const History = 90 * time.Minute

// World is the model. Make one with [New].
type World struct {
	cfg    Config
	effect effect
	state  plans.State
	now    time.Time

	pcg *rand.PCG
	rnd *rand.Rand

	answered   []dnsEpoch
	stuckUntil time.Time
	downUntil  time.Time
	drifted    bool
	tls        []tlsEpoch
	tlsStart   plans.TLSSet   // what the primary's edges spoke at the start
	configs    int            // configuration ids given out
	asked      map[string]int // calls counted by Refuse, of each API
	log        []Write
	versions   []version // what was configured before each change

	today    int64 // the civil day of the start
	byName   []int // indices of the platforms, sorted by name
	crowd    *population
	first    guardrails.Minute // oldest minute kept
	next     guardrails.Minute // first minute not computed yet
	counts   []guardrails.Counts
	statuses []legStatuses
	past     map[guardrails.Minute]*[pastBlock]rolled // of earlier days, as far as they were asked for, by minute ÷ pastBlock
}

// New returns a world at the instant start, with [History] behind it. It keeps no reference into cfg.
func New(cfg Config, start time.Time) *World {
	cfg = cfg.withDefaults()
	pcg := rand.NewPCG(cfg.Seed, 0)
	w := &World{
		cfg: cfg, effect: cfg.Fault.effect(), state: copyState(cfg.State), now: start, today: civilDay(start.In(cfg.Location)),
		pcg: pcg, rnd: rand.New(pcg), //nolint:gosec // a reproducible model, not a secret
	}
	for i := range cfg.Platforms {
		w.byName = append(w.byName, i)
	}
	slices.SortFunc(w.byName, func(i, j int) int { return strings.Compare(cfg.Platforms[i].Name, cfg.Platforms[j].Name) })
	begin := start.Add(-History)
	w.tlsStart = w.effective(w.state.Primary.TLS)
	w.tls = []tlsEpoch{{at: begin.Add(-cfg.PropagationTLS), set: w.tlsStart}}
	w.answered = []dnsEpoch{w.epochAt(begin.Add(-time.Hour))}
	w.first = guardrails.MinuteOf(begin)
	w.next = w.first
	w.crowd = newPopulation(w, w.first.Start())
	w.Advance(start)
	return w
}

// Advance computes every minute that has ended by now. An instant in the past changes nothing.
func (w *World) Advance(now time.Time) {
	if now.After(w.now) {
		w.now = now
	}
	for ; !w.next.End().After(w.now); w.next++ {
		share := w.carriedShare(w.next)
		n := len(w.counts)
		w.counts = append(w.counts, make([]guardrails.Counts, 2*len(w.cfg.Platforms))...)
		w.statuses = append(w.statuses, legStatuses{})
		w.roll(w.next, w.mixOf(w.next, share), w.counts[n:], &w.statuses[len(w.statuses)-1])
		w.act(w.next.End())
	}
	w.act(w.now)
}

// State returns what the providers' APIs report at now. The caller owns it.
func (w *World) State(now time.Time) plans.State {
	w.Advance(now)
	s := copyState(w.state)
	s.Primary.TLS.Status = w.configStatus(now)
	return s
}

// Platforms returns the names of the client platforms, in the order of the configuration.
func (w *World) Platforms() []string {
	names := make([]string, len(w.cfg.Platforms))
	for i, p := range w.cfg.Platforms {
		names[i] = p.Name
	}
	return names
}

// Edges returns how many edges a leg has.
func (w *World) Edges(leg guardrails.Leg) int {
	if leg == guardrails.Backup {
		return w.cfg.BackupEdges
	}
	return w.cfg.PrimaryEdges
}

// Lever tells the two things that can be written apart.
type Lever int

// The levers.
const (
	LeverDNS Lever = iota + 1
	LeverTLS
)

// String returns "dns" or "tls".
func (l Lever) String() string {
	switch l {
	case LeverDNS:
		return "dns"
	case LeverTLS:
		return "tls"
	}
	return "none"
}

// Write is one accepted write. DNS or TLS is set, as Lever says.
type Write struct {
	At    time.Time
	Lever Lever
	DNS   plans.DNSWrite
	TLS   plans.TLSWrite
}

// Log returns every accepted write, oldest first. The caller owns the slice.
func (w *World) Log() []Write { return append([]Write(nil), w.log...) }

// seed makes the generator's next numbers a function of the seed, the minute and the purpose.
func (w *World) seed(m int64, purpose uint64) {
	hi := scramble(w.cfg.Seed ^ purpose)
	w.pcg.Seed(hi, scramble(hi^uint64(m))) //nolint:gosec // any bits will do
}

// scramble spreads neighbouring numbers over the whole range; the finaliser of SplitMix64.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit is a number in [0, 1) that depends on the seed, the minute and the purpose alone.
func (w *World) unit(m guardrails.Minute, purpose uint64) float64 {
	x := scramble(scramble(w.cfg.Seed^purpose) ^ uint64(m)) //nolint:gosec // any bits will do
	return float64(x>>11) / (1 << 53)
}

// Purposes of random numbers: one stream each, so that a new use does not shift another.
const (
	forResolvers uint64 = iota + 0x7151
	forCounts
	forFirstSight
	forCompleteness
	forRevision
	forAnswers
	forHandshakes
	forPast
	forDayDemand
	forDayTimes
)

func copyState(s plans.State) plans.State {
	s.DNS.Records = append([]plans.Record(nil), s.DNS.Records...)
	s.Primary.TLS.Extra = append([]plans.Arg(nil), s.Primary.TLS.Extra...)
	s.Backup.TLS.Extra = append([]plans.Arg(nil), s.Backup.TLS.Extra...)
	return s
}
