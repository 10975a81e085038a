package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// preflight is what is known before the first step.
type preflight struct {
	state     bool
	primary   []plans.Handshake
	backup    []plans.Handshake
	checked   bool // everything above was there and in order
	resolved  bool
	rehearsed bool
	rounds    int               // of handshakes that were made again
	earlier   []plans.Handshake // what the edges answered in them
	trouble   string            // last failure of a read
}

// started pins the plan and waits for its hour, or begins.
func (t *turn) started(e Started) {
	r := &t.r
	if r.Plan != nil {
		return
	}
	plan, problems := e.Parsed, plans.Problems(nil)
	if plan == nil {
		plan, problems = plans.Parse("journal", []byte(e.Plan))
	}
	r.ID, r.Digest, r.Started, r.Way = e.Run, e.Digest, t.at, Forward
	if problems.HasErrors() {
		t.end(Halted, "the plan in the journal cannot be read by this version: "+problems.Error())
		return
	}
	r.Plan, r.Start = plan, e.Begin
	t.beginOnTime()
}

// beginOnTime begins, waits, or has missed the start: it is missed, never late, also after a crash while it was waited for.
func (t *turn) beginOnTime() {
	r := &t.r
	deadline := r.Plan.Schedule.StartDeadline
	switch {
	case r.Start.IsZero():
		t.begin()
	case t.at.After(r.Start.Add(deadline)):
		late := t.at.Sub(r.Start).Round(time.Second)
		t.end(Missed, fmt.Sprintf("the start at %s was %s ago, later than the start deadline of %s", r.Start.Format(time.RFC3339), late, deadline))
	case t.at.Before(r.Start):
		r.Stage = StageScheduled
		t.issue(Wake{At: r.Start, Do: Begin})
	default:
		t.begin()
	}
}

func (t *turn) begin() {
	t.r.Stage, t.r.Begun = StageChecking, t.at
	if until, ok := t.r.Plan.AdvanceUntilAfter(t.at); ok {
		t.r.AdvanceUntil = until
	}
	t.issue(Wake{At: nextMinute(t.at), Do: Tick})
	t.askPreflight()
	for _, s := range t.r.Plan.Sources {
		t.fetch(s)
	}
	t.askWeek()
}

// askPreflight asks for what is still missing.
func (t *turn) askPreflight() {
	p := &t.r.pre
	if p.checked {
		if !p.resolved {
			t.askResolve()
		}
		if !p.rehearsed && !t.pendingAny(func(a Action) bool { _, ok := a.(Rehearse); return ok }) {
			t.issue(Rehearse{Names: t.r.names()})
		}
		return
	}
	if !p.state {
		t.ask(ReadState{})
	}
	if len(p.primary) == 0 {
		t.ask(Handshake{Leg: guardrails.Primary})
	}
	if len(p.backup) == 0 {
		t.ask(Handshake{Leg: guardrails.Backup})
	}
}

func (t *turn) askResolve() {
	t.ask(Resolve{Names: t.r.names(), Queries: resolveQueries})
}

func (r Run) names() Names {
	return Names{Primary: r.Observed.Primary.CNAME, Backup: r.Observed.Backup.CNAME}
}

// check ends preflight: Halted with every finding, or on to the first step.
func (t *turn) check() bool {
	p := &t.r.pre
	switch {
	case p.checked && p.resolved && p.rehearsed:
		return t.ready()
	case t.at.Sub(t.r.Begun) > PreflightLimit:
		t.end(Halted, "preflight had no answer in "+PreflightLimit.String()+": "+t.missing())
		return true
	case p.checked || !t.complete():
		return false
	}
	if t.askEdgesAgain() {
		return false
	}
	if findings := t.findings(); len(findings) > 0 {
		t.end(Halted, "preflight: "+strings.Join(findings, "; "))
		return true
	}
	t.observe()
	p.checked, p.rehearsed = true, !t.r.Plan.Rehearse
	t.askPreflight()
	return true
}

// askEdgesAgain asks for another round of handshakes when an edge did not answer all of them: one lost packet is no reason to call a night
// off, and none to take a version for refused. It does so twice; what an edge answered in an earlier round counts.
func (t *turn) askEdgesAgain() bool {
	p := &t.r.pre
	silent := func(h plans.Handshake) bool { return h.Error != "" }
	if p.rounds == edgeRounds-1 || !slices.ContainsFunc(p.primary, silent) && !slices.ContainsFunc(p.backup, silent) {
		return false
	}
	p.rounds++
	p.earlier = append(slices.Clone(p.primary), p.backup...)
	p.primary, p.backup = nil, nil
	return true
}

// together adds what the edges answered in an earlier round to what they left out in this one.
func together(earlier, now []plans.Handshake) []plans.Handshake {
	out := slices.Clone(now)
	for i := range out {
		h := &out[i]
		for _, e := range earlier {
			if e.Edge != h.Edge || e.Leg != h.Leg {
				continue
			}
			missing := e.Probed &^ h.Probed
			probed, accepted := h.Probed|missing, h.Accepted|e.Accepted&missing
			if h.Version == 0 && e.Version != 0 {
				*h = e
			}
			h.Probed, h.Accepted = probed, accepted
			if probed == allTLS && h.Version != 0 {
				h.Error = ""
			}
		}
	}
	return out
}

// allTLS are the versions that a round probes.
const allTLS = plans.TLSSet(1<<plans.TLS10 | 1<<plans.TLS11 | 1<<plans.TLS12 | 1<<plans.TLS13)

// complete reports whether every first answer is there.
func (t *turn) complete() bool {
	for _, s := range t.r.Plan.Sources {
		if t.r.Sources[t.sourceIndex(s.Name)].AnsweredAt.IsZero() {
			return false
		}
	}
	return t.r.pre.state && len(t.r.pre.primary) > 0 && len(t.r.pre.backup) > 0 && (t.r.weekKnown() || t.age(t.r.Begun) > weekPatience)
}

func (t *turn) missing() string {
	var parts []string
	if !t.r.pre.state {
		parts = append(parts, "the providers' state")
	}
	if len(t.r.pre.primary) == 0 || len(t.r.pre.backup) == 0 {
		parts = append(parts, "handshakes with the edges")
	}
	for _, s := range t.r.Sources {
		if s.AnsweredAt.IsZero() {
			parts = append(parts, "source "+s.Name+" "+s.Failure)
		}
	}
	if !t.r.weekKnown() {
		parts = append(parts, "the same hours of the week before")
	}
	if t.r.pre.checked && !t.r.pre.resolved {
		parts = append(parts, "the name servers")
	}
	if t.r.pre.checked && !t.r.pre.rehearsed {
		parts = append(parts, "the rehearsal of a write")
	}
	return strings.Join(parts, ", ") + because(t.r.pre.trouble)
}

// observe remembers what the run found: where the way back leads.
func (t *turn) observe() {
	r := &t.r
	r.Origin, _ = r.Observed.Weights(r.Plan.DNS.Line)
	for _, h := range r.pre.primary {
		r.Accepted, r.Probed = r.Accepted|h.Accepted, r.Probed|h.Probed
	}
	r.Restore = plans.RestoreTarget(r.Observed.Primary.TLS)
	r.Change = r.Plan.TLSTargetFor(r.Observed.Primary.TLS, r.Accepted)
	r.Weights = r.Origin
	r.Asked, r.AskedFrom, r.InForce = r.Origin.Share(), r.Origin.Share(), r.Origin.Share()
	r.TLSStatus = r.Observed.Primary.TLS.Status
	r.Handshakes = r.pre.primary
}

// ready freezes the baseline and opens the first step.
func (t *turn) ready() bool {
	r := &t.r
	t.freeze()
	if share := r.Origin.Share(); share <= 0 || share >= 100 {
		t.end(Halted, fmt.Sprintf("preflight: the primary carries %s of the weight, so one leg has no traffic to compare with; give both some weight first", share))
		return true
	}
	if doubts, passing := t.selfTest(); doubts != "" {
		if passing && t.age(r.Begun) < selfTestPatience {
			return false
		}
		t.end(Halted, "preflight: "+doubts)
		return true
	}
	r.ShareAt = t.at.Add(-historyMinutes * time.Minute)
	r.Stage, r.Waiting = StageEntering, t.at
	t.fresh = true
	t.judge()
	return true
}

// selfTest says which rules cannot be relied on: a rule that cannot compare would never be CLEAR, and one that cannot fire guards
// nothing, so the run must not begin. passing means that all of it may pass by itself.
func (t *turn) selfTest() (doubts string, passing bool) {
	r := &t.r
	s := guardrails.Situation{Now: t.at, TTL: r.Plan.DNS.TTL, Share: r.Origin.Share(), Settled: true}
	var out []string
	passing = true
	doubted := guardrails.SelfTest(&r.Table, &r.Baseline, r.Plan.Guardrails, s)
	if r.drains() {
		doubted = append(doubted, guardrails.SelfTestDrained(&r.Table, &r.Baseline, r.Plan.Guardrails, s)...)
	}
	for _, d := range doubted {
		passing = passing && d.Passing
		name := "guardrail " + d.Rule
		if d.Platform != "" {
			name += " on " + d.Platform
		}
		if n := len(out); n > 0 && strings.HasSuffix(out[n-1], ": "+d.Text) {
			out[n-1] = strings.TrimSuffix(out[n-1], ": "+d.Text) + ", " + strings.TrimPrefix(name, "guardrail ") + ": " + d.Text
			continue
		}
		out = append(out, name+": "+d.Text)
	}
	if r.shareSource() == "" {
		out = append(out, "no source tells both legs apart, so the carried share cannot be verified; add a source with a cdn label")
		passing = false
	}
	return strings.Join(out, "; "), passing
}

// drains reports whether the plan takes the primary to 0 % and back up from there.
func (r Run) drains() bool {
	return slices.ContainsFunc(r.Plan.Steps, func(s plans.Step) bool {
		shift, _ := parts(s)
		return shift != nil && shift.Primary == 0
	})
}

// shareSource is the first source that has shown both legs.
func (r Run) shareSource() string {
	for _, s := range r.Plan.Sources {
		if r.Table.Legs(s.Name) == 2 {
			return s.Name
		}
	}
	return ""
}

// findings are the reasons not to begin.
func (t *turn) findings() []string {
	var out []string
	for _, f := range t.r.Plan.CheckState(t.r.Observed) {
		out = append(out, f.String())
	}
	out = append(out, t.edgeFindings("primary", t.r.pre.primary)...)
	out = append(out, t.edgeFindings("backup", t.r.pre.backup)...)
	if len(out) > 0 {
		return out
	}
	tls, first := t.r.Observed.Primary.TLS, t.r.pre.primary[0]
	target := t.r.Plan.TLSTargetFor(tls, first.Accepted)
	if target.Enabled&first.Probed == first.Accepted&first.Probed && (!tls.Explicit || tls.Enabled == target.Enabled) {
		out = append(out, "the primary already speaks "+first.Accepted.String()+": there is nothing to change")
	}
	return out
}

func (t *turn) edgeFindings(leg string, hs []plans.Handshake) []string {
	var out []string
	for _, h := range hs {
		switch {
		case t.r.unusable(h):
			out = append(out, fmt.Sprintf("%s edge %s: handshake failed: %s", leg, h.Edge, h.Error))
		case h.ChainError != "":
			out = append(out, fmt.Sprintf("%s edge %s: certificate: %s", leg, h.Edge, h.ChainError))
		case (h.Accepted^hs[0].Accepted)&h.Probed&hs[0].Probed != 0:
			out = append(out, fmt.Sprintf("%s edges disagree: %s accepts %s, %s accepts %s; wait until the CDN is at rest",
				leg, h.Edge, h.Accepted, hs[0].Edge, hs[0].Accepted))
		}
	}
	return out
}

// because appends a reason, if there is one.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}
