package plans

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/tlsroll/tlsroll/guardrails"
)

// Encode returns the canonical form of a plan that Parse returned: YAML with every key that has a value, every default written out,
// texts quoted, in one order. Parse reads it back to an equal plan.
func Encode(p *Plan) []byte {
	var w writer
	w.line("version", Version)
	w.line("name", strconv.Quote(p.Name))
	w.line("domain", strconv.Quote(p.Domain))
	w.text("ticket", p.Ticket)
	w.texts("owners", p.Owners)
	w.open("schedule")
	w.text("at", p.Schedule.At)
	w.text("cron", p.Schedule.Cron)
	w.text("timezone", p.Schedule.Zone)
	w.line("start_deadline", durationText(p.Schedule.StartDeadline))
	w.text("advance_until", p.Schedule.AdvanceUntil)
	w.shut()
	w.cdn("primary", p.Primary)
	w.cdn("backup", p.Backup)
	w.dns(p.DNS)
	w.line("change", changeText(p.Change))
	w.expect(p.Expect)
	w.open("sources")
	for _, s := range p.Sources {
		w.source(s)
	}
	w.shut()
	w.open("guardrails")
	for _, r := range p.Guardrails {
		w.entry(ruleText(r))
	}
	w.shut()
	w.line("hold_limit", durationText(p.HoldLimit))
	w.line("on_drift", p.OnDrift.String())
	w.line("on_blind", p.OnBlind.String())
	w.line("common_cause_limit", durationText(p.CommonCauseLimit))
	w.line("rehearse", onOff(p.Rehearse).String())
	w.steps("steps", p.Steps)
	w.steps("rollback", p.Rollback)
	return []byte(w.b.String())
}

// Digest returns "sha256:" and the hex digest of the canonical form. Comments and layout of the file do not change it.
func Digest(p *Plan) string {
	sum := sha256.Sum256(Encode(p))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// writer prints blocks with two blanks a level.
type writer struct {
	b     strings.Builder
	depth int
}

func (w *writer) line(key, value string) {
	w.b.WriteString(strings.Repeat("  ", w.depth) + key + ": " + value + "\n")
}

// text writes a quoted text; an empty one is a key left out.
func (w *writer) text(key, value string) {
	if value != "" {
		w.line(key, strconv.Quote(value))
	}
}

func (w *writer) texts(key string, values []string) {
	if len(values) > 0 {
		w.line(key, textsText(values))
	}
}

func (w *writer) entry(value string) {
	w.b.WriteString(strings.Repeat("  ", w.depth) + "- " + value + "\n")
}

func (w *writer) open(key string) {
	w.b.WriteString(strings.Repeat("  ", w.depth) + key + ":\n")
	w.depth++
}

func (w *writer) shut() { w.depth-- }

func (w *writer) cdn(key string, c CDN) {
	w.open(key)
	w.line("provider", c.Provider)
	w.text("credentials", c.Credentials)
	w.text("endpoint", c.Endpoint)
	w.text("analytics_endpoint", c.Analytics)
	w.text("region", c.Region)
	w.texts("edges", c.Edges)
	w.text("ca", c.CA)
	w.line("max_share", percentText(c.MaxShare))
	w.shut()
}

func (w *writer) dns(d DNS) {
	w.open("dns")
	w.line("provider", d.Provider)
	w.text("credentials", d.Credentials)
	w.text("endpoint", d.Endpoint)
	w.text("zone", d.Zone)
	w.text("record", d.Record)
	w.text("line", d.Line)
	w.line("ttl", durationText(d.TTL))
	w.line("zero", d.Zero.String())
	w.line("fence", d.Fence.String())
	w.texts("nameservers", d.Nameservers)
	w.texts("resolvers", d.Resolvers)
	w.shut()
}

func (w *writer) expect(all []Expectation) {
	if len(all) == 0 {
		return
	}
	w.open("expect")
	for _, e := range all {
		if e.Signal == guardrails.TLS13Share {
			w.line(e.Signal.String(), "above "+percentText(e.Above))
			continue
		}
		w.line(e.Signal.String(), percentText(e.Change))
	}
	w.shut()
}

func (w *writer) steps(key string, steps []Step) {
	w.open(key)
	for _, s := range steps {
		w.entry(stepText(s))
	}
	w.shut()
}
