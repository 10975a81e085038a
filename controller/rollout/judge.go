package rollout

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// situation is what the judge must know of the run.
func (t *turn) situation() guardrails.Situation {
	r := &t.r
	return guardrails.Situation{Now: t.at, Since: r.Since, TTL: r.Plan.DNS.TTL, Share: r.InForce, Settled: !r.ShareOK.IsZero()}
}

// judge evaluates every rule on the leg that matters now: the primary, or the backup while the primary is asked to carry nothing.
func (t *turn) judge() {
	r := &t.r
	if !t.fresh || r.Stage <= StageChecking {
		return
	}
	t.fresh = false
	r.judged, r.lingered, r.judgedBy = t.situation(), t.maybeOnPrimary(), r.Baseline.At
	r.Verdicts = guardrails.Watch(&r.Table, &r.Baseline, r.Plan.Guardrails, r.judged, r.lingered)
	t.watchCommon()
	t.pageVerdicts()
}

// maybeOnPrimary is the share that the primary may carry although the run has it at zero: zero written as a weight of 1, a rise whose
// answer is not there yet, or what another hand left.
func (t *turn) maybeOnPrimary() plans.Percent {
	share := max(t.r.Weights.Share(), t.r.seen)
	if a, ok := t.r.share.want.(SetShare); ok && t.r.share.busy() {
		share = max(share, a.Want.Share())
	}
	return share
}

// breach says what turns the run round now: a rule that rolls back, a common cause that has lasted, or blindness on both legs when the
// plan says so; "" when nothing does.
func (t *turn) breach() string {
	r := &t.r
	if text := breaching(r.Verdicts, func(v guardrails.Verdict) bool {
		return v.RollsBack() && (v.State != guardrails.Blind || t.blindnessCounts())
	}); text != "" {
		return text
	}
	if r.Plan.OnBlind == plans.ReactRollback && t.blindnessCounts() {
		if text := breaching(r.Verdicts, func(v guardrails.Verdict) bool { return v.Decision() == guardrails.HoldBlind }); text != "" {
			return "no data about either CDN: " + text
		}
	}
	lasting := func(v guardrails.Verdict) bool {
		return v.Decision() == guardrails.HoldCommon && t.age(r.commonSince(v)) >= r.Plan.CommonCauseLimit
	}
	if text := breaching(r.Verdicts, lasting); text != "" {
		return "both CDNs have breached for " + r.Plan.CommonCauseLimit.String() + ": " + text
	}
	return ""
}

// blindnessCounts reports whether missing minutes are the sources' fault. They are not while another hand has moved the traffic, nor
// where nobody asked: after a resume somebody must have watched for as long as blindness takes.
func (t *turn) blindnessCounts() bool {
	r := &t.r
	drifted := r.Held != nil && r.Held.Why == HoldDrift
	return !drifted && (r.resumedAt.IsZero() || t.age(r.resumedAt) >= blindWatch)
}

// commonCause is a breach that the control leg shows too.
type commonCause struct {
	rule, platform string
	since          time.Time
}

// watchCommon remembers since when each breach has been common, until its rule is CLEAR: a gap does not end it, nor a window that is
// neither wrong nor healthy.
func (t *turn) watchCommon() {
	r := &t.r
	if r.InForce == 0 { // the backup is judged
		r.common = nil
	}
	for _, v := range r.Verdicts {
		if v.Leg != guardrails.Primary {
			continue
		}
		is := func(c commonCause) bool { return c.rule == v.Rule && c.platform == v.Platform }
		switch {
		case v.State == guardrails.Clear:
			r.common = slices.DeleteFunc(r.common, is)
		case v.Decision() == guardrails.HoldCommon && !slices.ContainsFunc(r.common, is):
			r.common = append(r.common, commonCause{v.Rule, v.Platform, t.at})
		}
	}
}

// commonSince is when a verdict's breach became a common cause.
func (r Run) commonSince(v guardrails.Verdict) time.Time {
	for _, c := range r.common {
		if c.rule == v.Rule && c.platform == v.Platform {
			return c.since
		}
	}
	return r.At
}

// pageVerdicts tells a person at once what only holds: a pause by hand must not keep it from anybody.
func (t *turn) pageVerdicts() {
	r := &t.r
	if r.Way == Back {
		return
	}
	for _, v := range r.Verdicts {
		d := v.Decision()
		if d < guardrails.HoldCommon {
			continue
		}
		text, hour := VerdictText(v), t.at.Truncate(time.Hour).Format(time.RFC3339)
		switch {
		case d == guardrails.HoldCommon && v.Leg == guardrails.Primary:
			t.notify(Page, "common cause "+r.commonSince(v).Format(time.RFC3339),
				"Both CDNs breach, so the change is not the likely cause: "+text+". It rolls back when this lasts for "+r.Plan.CommonCauseLimit.String()+".")
		case v.State == guardrails.Blind && !t.blindnessCounts():
		case d == guardrails.HoldBlind:
			t.notify(Page, "blind "+hour, "No data about either CDN: "+text+".")
		case d == guardrails.RollBack && v.Leg == guardrails.Backup:
			t.notify(Page, "backup breaches "+hour, "The backup, which carries the traffic, breaches: "+text+". Going back would not help; it rolls back when a hold reaches its limit.")
		}
	}
}

// tellBreaches is how many verdicts a sentence names.
const tellBreaches = 3

// breaching says the primary's verdicts that satisfy f, worst first: "" when none does.
func breaching(vs []guardrails.Verdict, f func(guardrails.Verdict) bool) string {
	var bad []guardrails.Verdict
	for _, v := range vs {
		if f(v) && v.Leg == guardrails.Primary {
			bad = append(bad, v)
		}
	}
	slices.SortStableFunc(bad, Worse)
	var texts []string
	for _, v := range bad[:min(len(bad), tellBreaches)] {
		texts = append(texts, VerdictText(v))
	}
	if more := len(bad) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// Worse orders verdicts, the worst first: by state, then by how far the value is beyond its limit.
func Worse(a, b guardrails.Verdict) int {
	if a.State != b.State {
		return int(b.State) - int(a.State)
	}
	return cmp.Compare(beyond(b), beyond(a))
}

func beyond(v guardrails.Verdict) float64 {
	if v.Limit == 0 {
		return 0
	}
	return math.Abs(v.Value/v.Limit - 1)
}

// VerdictText says a verdict in one line: rule, platform, the number against its limit, and the minutes that decided.
func VerdictText(v guardrails.Verdict) string {
	var b strings.Builder
	b.WriteString(v.Rule)
	if v.Platform != "" {
		b.WriteString(" " + v.Platform)
	}
	if v.Leg == guardrails.Backup {
		b.WriteString(" on the backup")
	}
	b.WriteString(" " + v.State.String())
	if v.Known {
		fmt.Fprintf(&b, ": newest minute %s (%s limit %s)", Quantity(v.Signal, v.Value), v.Side, Quantity(v.Signal, v.Limit))
	}
	fmt.Fprintf(&b, ", %d breaching, %d ok, %d unknown", v.Breach, v.OK, v.Unknown)
	if v.Why != 0 {
		b.WriteString(" (" + v.Why.String() + ")")
	}
	b.WriteString(ControlText(v))
	return b.String()
}

// ControlText says what the control leg shows of a verdict that looks wrong, and whether the time of day might explain it; "" for others.
func ControlText(v guardrails.Verdict) string {
	text, unit := "", " %"
	switch v.Signal {
	case guardrails.ErrorRate, guardrails.StatusShare, guardrails.TLS13Share:
		unit = " pp"
	case guardrails.TotalTime, guardrails.TLSTime, guardrails.ResponseSize, guardrails.Requests:
	}
	switch v.Control {
	case guardrails.ControlConfirms, guardrails.ControlNeutral, guardrails.ControlDenies:
		if v.Signal != guardrails.Requests {
			text = fmt.Sprintf(", over the window %+.1f%s against the backup, which %s", v.Versus, unit, v.Control)
		}
	case guardrails.ControlNone:
		text = ", no backup to compare with"
	}
	if v.Weak {
		text += ", no week of history to compare with"
	}
	return text
}

// Quantity prints a number in a signal's unit.
func Quantity(s guardrails.Signal, v float64) string {
	switch s {
	case guardrails.ErrorRate, guardrails.StatusShare, guardrails.TLS13Share:
		return fmt.Sprintf("%.2f %%", v)
	case guardrails.TotalTime, guardrails.TLSTime:
		return fmt.Sprintf("%.0f ms", v)
	case guardrails.ResponseSize:
		return fmt.Sprintf("%.0f bytes", v)
	case guardrails.Requests:
		return fmt.Sprintf("%.0f %% of expected", v)
	}
	return fmt.Sprint(v)
}

func percent(p plans.Percent) string { return fmt.Sprintf("%.1f %%", float64(p)) }

// StepName says a step in a few words, as "shift primary to 10 %, bake 20m".
func StepName(s plans.Step) string {
	switch s := s.(type) {
	case plans.Shift:
		name := "shift primary to " + s.Primary.String()
		if s.Bake > 0 {
			name += ", bake " + minutes(s.Bake)
		}
		return name
	case plans.TLS:
		if s.Restore {
			return "restore TLS"
		}
		return "change TLS"
	case plans.Bake:
		return "bake " + minutes(s.For)
	case plans.Observe:
		if s.Until != "" {
			return "observe until " + s.Until
		}
		return "observe " + minutes(s.For)
	case plans.Approve:
		return "approval by " + s.By
	case plans.Call:
		return "call " + s.URL
	case plans.Together:
		var names []string
		for _, sub := range s.Steps {
			names = append(names, StepName(sub))
		}
		return strings.Join(names, " + ")
	case plans.Verify:
		return "verify TLS"
	}
	return "step"
}

// minutes prints a duration without its empty parts: 20m, 1h30m.
func minutes(d fmt.Stringer) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
