package sim

import (
	"fmt"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// Broken is a law that did not hold.
type Broken struct {
	Law    string
	Night  int
	Seed   uint64
	Record uint64    // the last one before it
	At     time.Time // of the world
	Text   string    // what was seen
}

// String returns it in a line.
func (b Broken) String() string {
	return fmt.Sprintf("%s: night %d of seed %d, record %d, %s: %s", b.Law, b.Night, b.Seed, b.Record, b.At.UTC().Format(time.RFC3339), b.Text)
}

// seenBefore is how many minutes before the start the watcher remembers.
const seenBefore = 100

// watcher looks at a night from outside: at the world, at what was written, at the records, and at the run's state where there is no other
// way to know what it was about.
type watcher struct {
	broken    []Broken
	origin    plans.Weights     // what was stored before the first write
	settings  plans.TLSSettings // the primary's, then
	restoring bool              // the way back has written the settings
	shifted   time.Time         // the last write of a weight has landed
	touched   bool
	drifted   time.Time // another hand wrote
	jumped    bool      // the run's clock is not the world's
	late      time.Time // when such a write has landed
	away      time.Duration
	frozen    []*task
	approved  int
	promoted  time.Time
	last      [2]remembered        // by lever
	seen      map[seriesKey][]look // what the first source with two legs delivered
	source    string               // its name
	deaf      time.Time            // a process went on then, and no source has answered since
	wrote     bool                 // the way back has written
	breaching time.Time            // law L2: since when the records show a whole window
	hurt      time.Time            // since when users have met a harmful fault
}

// remembered is the last write on a lever, and what its process has read since.
type remembered struct {
	what  sent
	life  int
	read  bool // something was read since the answer
	shown bool // and showed the write
	at    time.Time
}

type seriesKey struct {
	platform string
	leg      guardrails.Leg
}

// look is what a minute looked like when it was delivered last.
type look struct {
	counts  guardrails.Counts
	unknown guardrails.Unknown
	there   bool
}

func (n *night) law(name, format string, args ...any) {
	b := Broken{Law: name, Night: n.script.index, Seed: n.script.seed, Record: uint64(len(n.log)), At: n.w.now, Text: fmt.Sprintf(format, args...)}
	n.say("!!! %s", b)
	n.broken = append(n.broken, b)
}

func (n *night) watch() {
	n.origin, n.settings = n.w.model.Weights(), n.w.model.Settings()
	n.seen = map[seriesKey][]look{}
	for _, s := range n.script.plan.Sources {
		if s.Type != "alicloud" {
			n.source = s.Name
			return
		}
	}
}

// look watches a turn.
func (n *night) look(before, after rollout.Run, rec rollout.Record) {
	switch e := rec.Event.(type) {
	case rollout.MinutesArrived:
		n.deaf = time.Time{}
		if e.Batch.Source == n.source {
			n.remember(e.Batch)
		}
	case rollout.Resumed:
		n.deaf = n.w.now
	default:
	}
	if n.drifted.IsZero() && n.w.model.Drifted() {
		n.drifted = n.w.now
	}
	n.oneWriteEach(after)
	n.noDrift(before, after)
	n.breaches(after)
	n.bothLevers(after)
	n.hurting()
	switch {
	case before.Way == rollout.Back && after.Way != rollout.Back:
		n.law("S10", "the run turned forward again")
	case before.Way == rollout.Forward && after.Way == rollout.Back:
		n.reasons(before, after)
		if !n.hurt.IsZero() {
			n.outcome.Detection = n.w.now.Sub(n.hurt)
		}
	}
}

// bothLevers holds that the way back does not leave the settings for later. Where calls fail, or nobody is there, it may take longer.
func (n *night) bothLevers(run rollout.Run) {
	if n.turned.IsZero() || n.restoring || run.End != nil || n.restoredTLS() || len(n.script.spells) > 0 || n.away > 0 || n.script.world.Fault == world.Throttle {
		return
	}
	if since := n.w.now.Sub(n.turned); since > time.Minute {
		n.restoring = true
		n.law("levers", "%s after the run turned round nobody has written the settings back", since)
	}
}

// noDrift holds that a run does not take its own writes for another hand's.
func (n *night) noDrift(before, after rollout.Run) {
	drift := func(r rollout.Run) bool { return r.Held != nil && r.Held.Why == rollout.HoldDrift }
	if drift(after) && !drift(before) && n.drifted.IsZero() && n.late.IsZero() {
		n.law("drift", "nobody else has touched anything, and the run holds: %s", after.Held.Text)
	}
}

// oneWriteEach is law S5.
func (n *night) oneWriteEach(run rollout.Run) {
	var count [2]int
	for _, c := range run.Outstanding() {
		switch c.Action.(type) {
		case rollout.SetShare:
			count[0]++
		case rollout.SetTLS:
			count[1]++
		default:
		}
	}
	if max(count[0], count[1]) > 1 {
		n.law("S5", "%d writes of the share and %d of the settings are outstanding", count[0], count[1])
	}
}

func (n *night) remember(b guardrails.Batch) {
	for i := range b.Rows {
		r := &b.Rows[i]
		k := n.minuteIndex(r.Minute)
		if k < 0 {
			continue
		}
		key := seriesKey{r.Platform, r.Leg}
		list := n.seen[key]
		for len(list) <= k {
			list = append(list, look{})
		}
		if r.Unknown == 0 || !list[k].there || list[k].unknown != 0 {
			list[k] = look{counts: r.Counts, unknown: r.Unknown, there: true}
		}
		n.seen[key] = list
	}
}

// delivered is one minute as the run knows it.
func (n *night) delivered(key seriesKey, m guardrails.Minute) (guardrails.Counts, bool) {
	k, list := n.minuteIndex(m), n.seen[key]
	if k < 0 || k >= len(list) || !list[k].there || list[k].unknown != 0 {
		return guardrails.Counts{}, false
	}
	return list[k].counts, true
}

// changeMayBeLive reports whether settings or edges are not those of the start.
func (n *night) changeMayBeLive(now time.Time) bool {
	return !n.restoredTLS() || !n.w.model.AsAtStart(now)
}

// restoredTLS reports whether the settings stored are those of the start.
func (n *night) restoredTLS() bool {
	s := n.w.model.Settings()
	return s.Explicit == n.settings.Explicit && (!s.Explicit || s.Enabled == n.settings.Enabled)
}
