package world

import (
	"fmt"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// Fault is one thing that goes wrong.
type Fault int

// The faults; [Faults] says what each does.
const (
	None Fault = iota + 1
	Errors10
	Errors6
	Latency25
	TLSSlow
	SizeDrop
	Status5xx
	Silence
	Blind
	CommonCause
	Flap
	Throttle
	DNSStuck
	TLSStuck
	EdgeWrongCert
	Drift
	RollbackDNSDown
	TooGood
	NaN
	Gaps
)

// FaultText is one line of the list of faults.
type FaultText struct {
	Fault Fault
	Text  string // one sentence
}

// effect is what a fault does to the requests that meet the change. The zero effect does nothing.
type effect struct {
	failing   float64 // share of them that fails, when above the usual rate
	total     float64 // added to total time, as a share of it
	tls       float64 // added to handshake time, as a share of it
	size      float64 // added to response size, as a share of it
	status5xx float64 // share of answers that become 502
	lost      float64 // share of requests that nobody ever counts
	everyLeg  bool    // the backup's requests suffer too, in the same minutes
	flap      bool    // it comes and goes every few minutes
	measured  damage  // what happens to the client measurements of the primary
}

// damage is what happens to client measurements on their way to the metric system. The zero damage is none.
type damage int

const (
	vanish damage = iota + 1 // none arrives
	poison                   // the sums are NaN
	skip                     // one minute in six never arrives
)

type faultEntry struct {
	fault  Fault
	name   string
	text   string
	effect effect
}

// catalogue is the one place where a fault is described; what it does to data is its effect.
func catalogue() []faultEntry {
	return []faultEntry{
		{None, "none", "Nothing goes wrong.", effect{}},
		{Errors10, "errors-10", "10 % of the primary's requests fail while the change is live.", effect{failing: 0.10}},
		{Errors6, "errors-6", "6 % of the primary's requests fail while the change is live.", effect{failing: 0.06}},
		{Latency25, "latency-25", "Total time on the primary is 25 % above what it was before the change while it is live.", effect{total: 0.25}},
		{TLSSlow, "tls-slow", "Handshakes with the primary take 60 % longer than before the change while it is live.", effect{tls: 0.60}},
		{SizeDrop, "size-drop", "Answers of the primary are 40 % smaller while the change is live.", effect{size: -0.40}},
		{Status5xx, "status-5xx", "8 % of the primary's answers become 502 while the change is live.", effect{status5xx: 0.08}},
		{Silence, "silence", "70 % of the primary's requests vanish uncounted while the change is live.", effect{lost: 0.70}},
		{Blind, "blind", "Client measurements of the primary are missing while the change is live.", effect{measured: vanish}},
		{CommonCause, "common-cause", "10 % of the requests fail on both CDNs while the change is live.", effect{failing: 0.10, everyLeg: true}},
		{Flap, "flap", "15 % of the primary's requests fail for 6 minutes of every 12 while the change is live.", effect{failing: 0.15, flap: true}},
		{Throttle, "throttle", "Each cloud API refuses the first two of every five calls.", effect{}},
		{DNSStuck, "dns-stuck", "After the first change of weight the authoritative servers keep the old weights for 25 minutes.", effect{}},
		{TLSStuck, "tls-stuck", "The change is accepted and stays configuring for ever; setting it back works.", effect{}},
		{
			EdgeWrongCert, "edge-wrong-cert",
			"The primary's last edge shows a certificate for another name while the change is live there, and 2 % of the primary's requests fail.",
			// Too few to breach a guardrail: handshakes alone show it.
			effect{failing: 0.02},
		},
		{Drift, "drift", "Ten minutes after the change is live everywhere, another hand sets the backup's weight to 50.", effect{}},
		{
			RollbackDNSDown, "rollback-dns-down",
			"As errors-10, and for 15 minutes from the first attempt to lower the primary's share while the change is live no record can be written.",
			effect{failing: 0.10},
		},
		{
			TooGood, "too-good", "Total time on the primary is 45 % below what it was before the change while it is live, and no more requests fail.",
			effect{total: -0.45},
		},
		{NaN, "nan", "The sums of the primary's client measurements are NaN while the change is live.", effect{measured: poison}},
		{Gaps, "gaps", "One minute in six of the primary's client measurements never appears while the change is live.", effect{measured: skip}},
	}
}

// Faults returns all faults with a sentence each, None first. The caller owns the slice.
func Faults() []FaultText {
	var list []FaultText
	for _, e := range catalogue() {
		list = append(list, FaultText{Fault: e.fault, Text: e.text})
	}
	return list
}

// ParseFault returns the fault of that name, as "errors-10".
func ParseFault(name string) (Fault, error) {
	for _, e := range catalogue() {
		if e.name == name {
			return e.fault, nil
		}
	}
	return 0, fmt.Errorf("no fault is named %q", name)
}

// String returns the name, as "errors-10".
func (f Fault) String() string {
	for _, e := range catalogue() {
		if e.fault == f {
			return e.name
		}
	}
	return fmt.Sprintf("fault %d", int(f))
}

func (f Fault) effect() effect {
	for _, e := range catalogue() {
		if e.fault == f {
			return e.effect
		}
	}
	return effect{}
}

// When the faults that act by themselves do so.
const (
	driftAfter  = 10 * time.Minute
	driftWeight = 50
	dnsDownFor  = 15 * time.Minute
)

// act does what faults do without being asked.
func (w *World) act(now time.Time) {
	last := w.tls[len(w.tls)-1]
	if w.cfg.Fault != Drift || w.drifted || last.stuck || last.set == w.tlsStart || now.Before(last.at.Add(w.cfg.PropagationTLS+driftAfter)) {
		return
	}
	w.drifted = true
	w.Disturb(now, guardrails.Backup, driftWeight)
}

// dnsDown reports whether RollbackDNSDown refuses a write that would lead to the given share.
func (w *World) dnsDown(now time.Time, share float64) bool {
	if w.cfg.Fault != RollbackDNSDown {
		return false
	}
	if w.downUntil.IsZero() && share < w.shareAsked().share && w.EdgeTLS(now, guardrails.Primary, 0) != w.tlsStart {
		w.downUntil = now.Add(dnsDownFor)
	}
	return now.Before(w.downUntil)
}
