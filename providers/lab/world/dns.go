package world

import (
	"math"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

// stuckFor is how long the authoritative servers keep the old weights under the fault DNSStuck.
const stuckFor = 25 * time.Minute

// dnsEpoch is what the authoritative servers answer from an instant on.
type dnsEpoch struct {
	at    time.Time
	share float64 // probability of the primary
	ok    bool    // false: they have no record to answer with
}

// WriteDNS makes one write. A RecordID that is empty means the leg's record on the configured line. Errors are *providers.Error with the
// codes of the DNS API; a refused write changes nothing.
func (w *World) WriteDNS(now time.Time, d plans.DNSWrite) error {
	w.Advance(now)
	i, err := w.findRecord(d)
	if err != nil {
		return err
	}
	r := &w.state.DNS.Records[i]
	d.RecordID, d.Leg = r.ID, w.legOf(*r)
	before := w.shareAsked()
	if after, ok := w.state.Weights(w.cfg.Line); ok && w.dnsDown(now, float64(d.Apply(after).Share())/100) {
		return refused(opOf(d.Action), providers.Transient, "ServiceUnavailable", "The service is unavailable.")
	}
	switch d.Action {
	case plans.SetWeight:
		if err := w.mayWeigh(*r, d.Weight); err != nil {
			return err
		}
		w.keep(now)
		r.Weight, r.WeightKnown = d.Weight, true
	case plans.EnableRecord, plans.DisableRecord:
		if r.Locked {
			return refused(opStatus, providers.Conflict, "DomainRecordLocked", "the record is locked")
		}
		w.keep(now)
		r.Enabled = d.Action == plans.EnableRecord
	}
	w.log = append(w.log, Write{At: now, Lever: LeverDNS, DNS: d})
	w.publish(now, before)
	return nil
}

const (
	opWeight = "alidns:UpdateDNSSLBWeight" //nolint:gosec // the name of an API call
	opStatus = "alidns:SetDomainRecordStatus"
)

func opOf(a plans.WeightAction) string {
	if a == plans.SetWeight {
		return opWeight
	}
	return opStatus
}

func (w *World) findRecord(d plans.DNSWrite) (int, error) {
	id := d.RecordID
	if id == "" {
		p, b, _ := w.state.Pair(w.cfg.Line)
		id = p.ID
		if d.Leg == guardrails.Backup {
			id = b.ID
		}
	}
	for i, r := range w.state.DNS.Records {
		if r.ID == id && id != "" {
			return i, nil
		}
	}
	return 0, refused(opWeight, providers.Missing, "DomainRecordNotBelongToUser", "no such record")
}

// legOf is the leg that a record points at; 0 for any other record.
func (w *World) legOf(r plans.Record) guardrails.Leg {
	switch r.Value {
	case w.state.Primary.CNAME:
		return guardrails.Primary
	case w.state.Backup.CNAME:
		return guardrails.Backup
	}
	return 0
}

func (w *World) mayWeigh(r plans.Record, weight int) error {
	least := 1
	if w.cfg.ZeroWeight {
		least = 0
	}
	switch {
	case strings.HasPrefix(r.Name, "*"):
		return refused(opWeight, providers.Invalid, "PanDomainRecord", "a wildcard record has no weight")
	case r.Locked:
		return refused(opWeight, providers.Conflict, "DomainRecordLocked", "the record is locked")
	case !r.Enabled:
		return refused(opWeight, providers.Conflict, "DomainRecordDisable", "the record is disabled")
	case !w.state.DNS.Weighted:
		return refused(opWeight, providers.Conflict, "DisableDNSSLB", "weighting is not open")
	case weight < least || weight > 100:
		return refused(opWeight, providers.Invalid, "InvalidWeigth", "the weight is out of range")
	}
	return nil
}

// publish schedules what the authoritative servers answer next.
func (w *World) publish(now time.Time, before dnsEpoch) {
	e := w.epochAt(now.Add(w.cfg.PropagationDNS))
	changed := e.share != before.share || e.ok != before.ok
	if w.cfg.Fault == DNSStuck && changed && w.stuckUntil.IsZero() {
		w.stuckUntil = now.Add(stuckFor)
	}
	if e.at.Before(w.stuckUntil) {
		e.at = w.stuckUntil
	}
	w.answered = append(w.answered, e)
}

func (w *World) shareAsked() dnsEpoch { return w.epochAt(time.Time{}) }

func (w *World) epochAt(at time.Time) dnsEpoch {
	weights, ok := w.state.Weights(w.cfg.Line)
	return dnsEpoch{at: at, share: float64(weights.Share()) / 100, ok: ok && weights.Answering()}
}

// answer is the epoch in force at an instant.
func (w *World) answer(at time.Time) dnsEpoch {
	for i := len(w.answered) - 1; i > 0; i-- {
		if !w.answered[i].at.After(at) {
			return w.answered[i]
		}
	}
	return w.answered[0]
}

// Answer returns the leg that the authoritative servers name in reply to one query, for r in [0, 1). ok is false when they have no record.
func (w *World) Answer(now time.Time, r float64) (leg guardrails.Leg, ok bool) {
	e := w.answer(now)
	if !e.ok {
		return 0, false
	}
	if r < e.share {
		return guardrails.Primary, true
	}
	return guardrails.Backup, true
}

// Answers returns what n queries to the authoritative servers at now would count. A quiet world splits them exactly.
func (w *World) Answers(now time.Time, n int) plans.Answers {
	a := plans.Answers{Server: "authoritative", Authoritative: true, TTL: w.ttl()}
	e := w.answer(now)
	if !e.ok {
		a.Other = n
		return a
	}
	if w.cfg.Quiet {
		a.Primary = int(math.Round(float64(n) * e.share))
		a.Backup = n - a.Primary
		return a
	}
	w.seed(now.UnixNano(), forAnswers)
	for range n {
		if w.rnd.Float64() < e.share {
			a.Primary++
		}
	}
	a.Backup = n - a.Primary
	return a
}
