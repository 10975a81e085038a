package world

import (
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// version is what was configured from an instant on.
type version struct {
	at    time.Time
	state plans.State
}

// keep remembers what was configured until now; a change follows.
func (w *World) keep(now time.Time) {
	w.versions = append(w.versions, version{at: now, state: copyState(w.state)})
}

// Behind is [World.State] as a server answers that is so long behind the others: an API that is eventually consistent. 0 is not behind.
func (w *World) Behind(now time.Time, behind time.Duration) plans.State {
	if behind > 0 {
		w.Advance(now)
		then := now.Add(-behind)
		for _, v := range w.versions { // each holds until its instant
			if v.at.After(then) {
				s := copyState(v.state)
				if s.Primary.TLS.Explicit {
					s.Primary.TLS.Status = plans.ConfigLive
				}
				return s
			}
		}
	}
	return w.State(now)
}

// Weights are what is stored.
func (w *World) Weights() plans.Weights {
	weights, _ := w.state.Weights(w.cfg.Line)
	return weights
}

// Settings are the primary's TLS settings as they are stored.
func (w *World) Settings() plans.TLSSettings { return w.state.Primary.TLS }

// AsAtStart reports whether every edge of the primary speaks what it spoke at the start.
func (w *World) AsAtStart(now time.Time) bool {
	for i := range w.cfg.PrimaryEdges {
		if w.EdgeTLS(now, guardrails.Primary, i) != w.tlsStart {
			return false
		}
	}
	return true
}

// Carried is the primary's share of the requests of a minute that has ended, 0..1, and how many requests the primary had.
func (w *World) Carried(m guardrails.Minute) (share, requests float64) {
	if m < w.first || m >= w.next {
		return 0, 0
	}
	n := 2 * len(w.cfg.Platforms)
	i := int(m-w.first) * n
	var total float64
	for k, c := range w.counts[i : i+n] {
		total += c.Requests
		if k%2 == 0 {
			requests += c.Requests
		}
	}
	if total == 0 {
		return 0, 0
	}
	return requests / total, requests
}

// Disturb sets the weight of a leg's record by another hand than the run's. It is not in the log.
func (w *World) Disturb(now time.Time, leg guardrails.Leg, weight int) {
	w.Advance(now)
	i, err := w.findRecord(plans.DNSWrite{Leg: leg})
	if err != nil {
		return
	}
	w.keep(now)
	before := w.shareAsked()
	w.state.DNS.Records[i].Weight = weight
	w.publish(now, before)
}

// Drifted reports whether the fault Drift has acted.
func (w *World) Drifted() bool { return w.drifted }
