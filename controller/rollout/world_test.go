package rollout_test

import (
	"container/heap"
	"fmt"
	"math"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// world is a small model of everything around a run, in virtual time: two CDNs, two records, edges, traffic, and people. It is
// deliberately not the simulator of the product: the laws are checked against something that shares no code with it.
type world struct {
	setup   setup
	now     time.Time
	start   time.Time
	state   plans.State
	origin  plans.TLSSettings
	edges   plans.TLSSet // what the primary's edges speak
	edgesTo plans.TLSSet // what they will speak
	edgesAt time.Time
	carried []point // the share that the traffic follows, oldest first
	stuck   time.Time
	queue   queue
	order   int
	rolls   uint64 // state of the generator
	lives   int    // processes that died
}

// setup is what a generated world is like. Times are minutes after the start; a negative one never comes.
type setup struct {
	Zero       plans.Zero
	Plan       string
	Requests   float64 // a minute and platform, both legs
	FaultAt    int     // the change hurts from then on
	ErrorRate  float64 // of the primary while the change hurts
	Slow       float64 // factor on total time while the change hurts
	GapFrom    int     // minutes without data
	GapTo      int
	GapLeg     guardrails.Leg // 0: of both
	NoPast     bool           // the source keeps nothing of earlier days
	BackupAt   int            // the backup breaks
	Failures   int            // of 100 commands this many fail
	LostWrites bool
	SlowWrites int // seconds that a write may take
	SlowReads  int // seconds that a read's answer may be on its way
	Orders     []order
	DriftAt    int
	DNSStuck   int // minutes that the first shift takes to show
	EdgesStuck bool
	WrongEdge  bool   // edges that speak TLS 1.3 show another certificate
	Absent     bool   // the primary has no TLS function at the start: the vendor's default
	Until      string // advance_until, UTC
	Seed       uint64
}

type order struct {
	At   int
	Kind int
}

type point struct {
	at    time.Time
	share float64
}

type item struct {
	at    time.Time
	order int
	event rollout.Event
	act   func() // an act of the world; nil for an event
}

type queue []item

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at.Before(q[j].at) || q[i].at.Equal(q[j].at) && q[i].order < q[j].order
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(item)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

const line = "default"

func newWorld(s setup) *world {
	start := time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC)
	on := plans.TLSSetOf(plans.TLS12)
	w := &world{setup: s, start: start, now: start, edges: on, edgesTo: on, edgesAt: start, rolls: s.Seed*2 + 1}
	w.state = plans.State{
		Primary: plans.CDNState{
			Domain: "cdn.example.com", CNAME: "p.example.net", Status: "online", Online: true, Certificate: true, TLSReadable: true,
			TLS: plans.TLSSettings{Explicit: true, Enabled: on, ConfigID: "7", Status: plans.ConfigLive},
		},
		Backup: plans.CDNState{Domain: "cdn.example.com", CNAME: "b.example.net", Status: "success", Online: true, Certificate: true},
		DNS: plans.DNSState{Weighted: true, MinTTL: time.Second, Records: []plans.Record{
			{ID: "1", Name: "cdn", Type: "CNAME", Value: "p.example.net", Line: line, TTL: time.Minute, Weight: 60, WeightKnown: true, Enabled: true},
			{ID: "2", Name: "cdn", Type: "CNAME", Value: "b.example.net", Line: line, TTL: time.Minute, Weight: 40, WeightKnown: true, Enabled: true},
		}},
	}
	if s.Absent {
		w.state.Primary.TLS = plans.TLSSettings{}
	}
	w.origin = w.state.Primary.TLS
	w.carried = []point{{start.Add(-24 * time.Hour), 0.6}}
	for _, o := range s.Orders {
		w.push(w.minute(o.At), orderEvent(o.Kind), nil)
	}
	if s.DriftAt >= 0 {
		w.push(w.minute(s.DriftAt), nil, func() { w.setWeights(plans.Weights{Primary: 55, Backup: 45, PrimaryOn: true, BackupOn: true}) })
	}
	return w
}

func orderEvent(kind int) rollout.Event {
	switch kind {
	case 0:
		return rollout.PauseOrdered{Actor: "ann", Reason: "look"}
	case 1:
		return rollout.ResumeOrdered{Actor: "ann"}
	case 2:
		return rollout.PromoteOrdered{Actor: "ann"}
	}
	return rollout.AbortOrdered{Actor: "ann"}
}

func (w *world) minute(m int) time.Time {
	return w.start.Add(time.Duration(m)*time.Minute + 7*time.Second)
}

func (w *world) push(at time.Time, e rollout.Event, act func()) {
	if at.Before(w.now) {
		at = w.now
	}
	w.order++
	heap.Push(&w.queue, item{at: at, order: w.order, event: e, act: act})
}

// next returns the next event of the run.
func (w *world) next() (time.Time, rollout.Event, bool) {
	for w.queue.Len() > 0 {
		i := heap.Pop(&w.queue).(item)
		w.now = i.at
		if i.act != nil {
			i.act()
		}
		if i.event != nil {
			return i.at, i.event, true
		}
	}
	return w.now, nil, false
}

// roll returns 0..n-1.
func (w *world) roll(n int) int {
	w.rolls = w.rolls*6364136223846793005 + 1442695040888963407
	return int((w.rolls >> 33) % uint64(n))
}

// perform carries out a command; its answer comes a little later.
func (w *world) perform(c rollout.Command) {
	after := time.Duration(1+w.roll(3)) * time.Second
	if lever(c.Action) {
		after += time.Duration(w.roll(1+w.setup.SlowWrites)) * time.Second
	}
	fails := w.roll(100) < w.setup.Failures
	fail := func(k rollout.FailureKind) {
		w.push(w.now.Add(after), rollout.CommandFailed{ID: c.ID, Kind: k, Text: "no answer"}, nil)
	}
	life := w.lives
	answer := func(event func() rollout.Event) {
		w.push(w.now.Add(after), nil, func() {
			if w.lives == life { // nobody hears what a dead process asked for
				w.push(w.now, event(), nil)
			}
		})
	}
	ok := func(res func() rollout.Result) {
		answer(func() rollout.Event { return rollout.CommandSucceeded{ID: c.ID, Result: res()} })
	}
	switch a := c.Action.(type) {
	case rollout.Wake:
		w.push(a.At, rollout.TimerFired{ID: c.ID}, nil)
	case rollout.FetchMinutes:
		if fails {
			w.push(w.now.Add(after), rollout.SourceFailed{ID: c.ID, Source: a.Source, Kind: rollout.Transient, Text: "no answer"}, nil)
			return
		}
		answer(func() rollout.Event { return w.minutes(c.ID, a) })
	case rollout.SetShare:
		if fails && !w.setup.LostWrites {
			fail(rollout.Transient)
			return
		}
		w.push(w.now.Add(after/2), nil, func() { w.setWeights(a.Want) })
		if fails {
			fail(rollout.Unknown)
			return
		}
		ok(func() rollout.Result { return rollout.ShareSet{DNS: w.state.DNS} })
	case rollout.SetTLS:
		if fails && !w.setup.LostWrites {
			fail(rollout.Throttled)
			return
		}
		w.push(w.now.Add(after/2), nil, func() { w.setTLS(a.Want) })
		if fails {
			fail(rollout.Unknown)
			return
		}
		ok(func() rollout.Result { return rollout.TLSSet{TLS: w.state.Primary.TLS} })
	default:
		if fails {
			fail(rollout.Transient)
			return
		}
		// What a read says is what was true when it began; it may be long on its way.
		seen := w.read(c.Action)
		after += time.Duration(w.roll(1+w.setup.SlowReads)) * time.Second
		ok(func() rollout.Result { return seen })
	}
}

func lever(a rollout.Action) bool {
	switch a.(type) {
	case rollout.SetShare, rollout.SetTLS:
		return true
	default:
		return false
	}
}

func (w *world) read(a rollout.Action) rollout.Result {
	switch a := a.(type) {
	case rollout.ReadState:
		s := w.state
		s.DNS.Records = append([]plans.Record(nil), s.DNS.Records...)
		return rollout.StateRead{State: s}
	case rollout.Handshake:
		return rollout.HandshakesDone{Handshakes: []plans.Handshake{w.handshake(a.Leg)}}
	case rollout.Resolve:
		share := w.answeredShare()
		p := int(math.Round(share * float64(a.Queries)))
		return rollout.Resolved{Answers: []plans.Answers{{Server: "ns", Authoritative: true, Primary: p, Backup: a.Queries - p}}}
	default:
		return rollout.Done{}
	}
}

func (w *world) handshake(leg guardrails.Leg) plans.Handshake {
	set := plans.TLSSetOf(plans.TLS12)
	if leg == guardrails.Primary {
		set = w.edgesNow()
	}
	h := plans.Handshake{Leg: leg, Edge: "192.0.2.1:443", Accepted: set, Probed: plans.TLSSetOf(plans.TLS12, plans.TLS13)}
	if w.setup.WrongEdge && set.Has(plans.TLS13) {
		h.ChainError = "not valid for this host"
	}
	return h
}

func (w *world) edgesNow() plans.TLSSet {
	if !w.now.Before(w.edgesAt) {
		w.edges = w.edgesTo
	}
	return w.edges
}

func (w *world) weights() plans.Weights {
	ws, _ := w.state.Weights(line)
	return ws
}

func (w *world) answeredShare() float64 {
	if w.now.Before(w.stuck) {
		return w.carried[0].share
	}
	return float64(w.weights().Share()) / 100
}

func (w *world) setWeights(want plans.Weights) {
	rec := append([]plans.Record(nil), w.state.DNS.Records...)
	rec[0].Weight, rec[0].Enabled = want.Primary, want.PrimaryOn
	rec[1].Weight, rec[1].Enabled = want.Backup, want.BackupOn
	before := w.weights()
	w.state.DNS.Records = rec
	if before.Equal(want) {
		return
	}
	shows := w.now
	if w.setup.DNSStuck > 0 && w.stuck.IsZero() {
		w.stuck = w.now.Add(time.Duration(w.setup.DNSStuck) * time.Minute)
	}
	if shows.Before(w.stuck) {
		shows = w.stuck
	}
	w.carried = append(w.carried, point{shows.Add(time.Minute), float64(want.Share()) / 100})
}

func (w *world) setTLS(want plans.TLSTarget) {
	w.edgesNow()
	set := w.state.Primary.TLS
	set.Explicit, set.Enabled, set.Status = !want.Absent, want.Enabled, plans.ConfigLive
	w.state.Primary.TLS = set
	turnsOn := want.Enabled.Has(plans.TLS13)
	if turnsOn && w.setup.EdgesStuck {
		w.state.Primary.TLS.Status = plans.ConfigPending
		return
	}
	w.edgesTo, w.edgesAt = want.Enabled, w.now.Add(90*time.Second)
	if want.Absent {
		w.edgesTo = plans.TLSSetOf(plans.TLS12)
	}
}

// restored reports whether the primary's settings are those of the start.
func (w *world) restored() bool {
	tls := w.state.Primary.TLS
	return tls.Explicit == w.origin.Explicit && tls.Enabled == w.origin.Enabled
}

// truth of one minute.
func (w *world) shareAt(at time.Time) float64 {
	share := w.carried[0].share
	for _, p := range w.carried {
		if !p.at.After(at) {
			share = p.share
		}
	}
	return share
}

// hurts reports whether the primary's requests suffer in a minute. The world keeps when its edges changed.
func (w *world) hurts(m guardrails.Minute) bool {
	return w.setup.FaultAt >= 0 && w.edgesTo.Has(plans.TLS13) && !m.Start().Before(w.edgesAt) && !m.Start().Before(w.minute(w.setup.FaultAt))
}

func (w *world) gap(m guardrails.Minute) bool {
	at := int(m.Start().Sub(w.start) / time.Minute)
	return at >= w.setup.GapFrom && at < w.setup.GapTo
}

func (w *world) minutes(id rollout.CommandID, a rollout.FetchMinutes) rollout.Event {
	b := guardrails.Batch{Source: a.Source, Settle: time.Minute, From: a.From, To: a.To}
	for m := a.From; m <= a.To; m++ {
		if w.setup.GapLeg == 0 && w.gap(m) || w.setup.NoPast && a.DaysAgo > 0 {
			continue
		}
		share := w.shareAt(m.Start())
		for _, leg := range []guardrails.Leg{guardrails.Primary, guardrails.Backup} {
			n := math.Round(w.setup.Requests * share)
			if leg == guardrails.Backup {
				n = math.Round(w.setup.Requests * (1 - share))
			}
			if n > 0 && (w.setup.GapLeg != leg || !w.gap(m)) {
				b.Rows = append(b.Rows, guardrails.Row{Platform: "ios", Leg: leg, Minute: m, Counts: w.counts(leg, m, n)})
			}
		}
	}
	b = b.Resolved(w.now)
	_, digest, err := rollout.EncodeRows(b.Rows)
	if err != nil {
		panic(err)
	}
	return rollout.MinutesArrived{ID: id, Batch: b, Digest: digest}
}

func (w *world) counts(leg guardrails.Leg, m guardrails.Minute, n float64) guardrails.Counts {
	rate, ms := 0.005, 300.0
	if leg == guardrails.Primary && w.hurts(m) {
		rate, ms = w.setup.ErrorRate, ms*w.setup.Slow
	}
	if at := int(m.Start().Sub(w.start) / time.Minute); leg == guardrails.Backup && w.setup.BackupAt >= 0 && at >= w.setup.BackupAt {
		rate = 0.5
	}
	return guardrails.Counts{
		Requests: n, Errors: math.Floor(n * rate), TotalMS: n * ms, Has: guardrails.HasRequests | guardrails.HasErrors | guardrails.HasTotalMS,
	}
}

// planText is a plan for the generated worlds; steps is YAML.
func planText(zero, steps string) string {
	return fmt.Sprintf(`
version: tlsroll/v1
name: law
domain: cdn.example.com
primary: {provider: alicloud, credentials: env}
backup: {provider: qiniu, credentials: env, max_share: 100%%}
dns: {provider: alicloud, credentials: env, zone: example.com, record: cdn, line: default, ttl: 60s, zero: %s}
change: {tls13: on}
sources:
  rum:
    type: prometheus
    url: http://127.0.0.1:1
    settle: 1m
    queries: {requests: r, errors: e, total_ms: t}
guardrails:
  - {name: error-rate, source: rum, signal: error_rate, per: platform, above: 5%%, for: 10m, within: 12m}
  - {name: total-time, source: rum, signal: total_time, per: platform, rise: 20%%, drop: 30%%, for: 10m, within: 12m}
hold_limit: 60m
steps:
%s`, zero, steps)
}
