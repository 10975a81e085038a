package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// heartbeat is how often a wait is said again, in the run's time.
const heartbeat = 10 * time.Minute

// Lines prints a run as lines, one for each thing that changed: time in the plan's zone, what, numbers. Turn may be called by one
// goroutine, Tell and Talk by any.
type Lines struct {
	out    io.Writer
	zone   *time.Location
	at     time.Time // of the last turn
	said   time.Time // when the last wait was said
	waits  string
	states map[string]guardrails.State
	lock   chan struct{}
}

// NewLines returns a printer.
func NewLines(out io.Writer, zone *time.Location) *Lines {
	return &Lines{out: out, zone: zone, states: map[string]guardrails.State{}, lock: make(chan struct{}, 1)}
}

// Tell prints a notification.
func (l *Lines) Tell(u rollout.Urgency, text string) { l.say(strings.ToUpper(u.String()), text) }

// Talk prints something about the process.
func (l *Lines) Talk(text string) { l.say("tlsroll", text) }

// say prints one line: clock, a word, a sentence.
func (l *Lines) say(word, text string) {
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	clock := "--:--:--"
	if !l.at.IsZero() {
		clock = l.at.In(l.zone).Format("15:04:05")
	}
	fmt.Fprintf(l.out, "%s  %-9s %s\n", clock, word, text)
}

func (l *Lines) more(format string, args ...any) {
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	fmt.Fprintf(l.out, "%20s%s\n", "", fmt.Sprintf(format, args...))
}

// Turn prints what a record changed.
func (l *Lines) Turn(before, after rollout.Run, rec rollout.Record) {
	l.lock <- struct{}{}
	l.at = after.At
	<-l.lock
	if text := orderText(rec.Event); text != "" {
		l.say("order", text)
	}
	if before.Plan == nil && after.Plan != nil {
		l.started(after)
	}
	if before.Stage == rollout.StageChecking && after.Stage > rollout.StageChecking {
		l.preflight(after)
	}
	l.steps(before, after)
	l.verdicts(before, after)
	if before.Held != nil && after.Held == nil && after.Way == rollout.Forward && after.End == nil {
		l.say("go on", "the hold is over: "+before.Held.Text)
	}
	if after.End != nil {
		l.ended(after)
		return
	}
	l.wait(after)
}

// orderText says what a person ordered; "" for any other event.
func orderText(e rollout.Event) string {
	switch e.(type) {
	case rollout.PauseOrdered, rollout.ResumeOrdered, rollout.PromoteOrdered, rollout.AbortOrdered, rollout.Approved:
		return eventText(e)
	case rollout.Started, rollout.Resumed, rollout.CommandSucceeded, rollout.CommandFailed, rollout.MinutesArrived, rollout.SourceFailed, rollout.TimerFired:
	}
	return ""
}

func (l *Lines) started(r rollout.Run) {
	l.say("run", fmt.Sprintf("%s: %s on %s, ticket %s", r.ID, r.Plan.Name, r.Plan.Domain, orNone(r.Plan.Ticket)))
	l.more("times are %s; started %s (%s)", l.zone, r.At.In(l.zone).Format("2006-01-02 15:04:05 -07:00"), r.At.UTC().Format("15:04:05Z"))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func (l *Lines) preflight(r rollout.Run) {
	l.say("preflight", fmt.Sprintf("ok: primary carries %s (weights %s), its edges accept %s", r.Origin.Share(), r.Origin, r.Accepted))
	l.more("baseline from %d series, %s", len(r.Baseline.Series), shapeText(r))
	l.more("%s", controlText(r))
	for _, h := range r.Handshakes {
		l.more("%s", HandshakeLine(h))
	}
}

// shapeText says what is known of how a night usually goes on.
func shapeText(r rollout.Run) string {
	days, without := 0, 0
	for _, s := range r.Baseline.Series {
		days = max(days, len(s.Shape.Days))
		if len(s.Shape.Days) == 0 && s.Has&guardrails.HasTotalMS != 0 {
			without++
		}
	}
	switch {
	case days == 0:
		return "no week of history: a mean that moves by less than twice its limit holds, unless the backup confirms it"
	case without > 0:
		return fmt.Sprintf("the shape of the night from %d earlier days, but for %d series", days, without)
	}
	return fmt.Sprintf("the shape of the night from %d earlier days", days)
}

// controlText says which rules the backup can be asked about.
func controlText(r rollout.Run) string {
	var names []string
	for _, g := range r.Plan.Guardrails {
		if g.Signal == guardrails.Requests || slices.ContainsFunc(r.Baseline.Alike, func(a guardrails.Alike) bool { return a.Rule == g.Name }) {
			continue
		}
		names = append(names, g.Name)
	}
	if len(names) == 0 {
		return "the backup is the control of every rule"
	}
	return "the backup is no control for " + strings.Join(names, ", ") + ": a breach there is the primary's, unless others say otherwise"
}

// steps prints what changed in the step under way: entered, read back, proved, left.
func (l *Lines) steps(before, after rollout.Run) {
	for i := range after.Steps {
		var was rollout.Progress
		if i < len(before.Steps) {
			was = before.Steps[i]
		}
		p := after.Steps[i]
		if was.Entered.IsZero() {
			l.say(stepWord(p), fmt.Sprintf("%d/%d %s", p.Index+1, stepCount(after, p.Way), p.Name))
		}
		if was.Applied.IsZero() && !p.Applied.IsZero() {
			l.more("written and read back: weights %s, TLS configuration %s", p.Stored, after.TLSStatus)
		}
		if was.Verified.IsZero() && !p.Verified.IsZero() {
			l.proved(p)
		}
		if was.Left.IsZero() && !p.Left.IsZero() && len(p.Verdicts) > 0 && p.Way == rollout.Forward {
			l.guardrails(p)
		}
	}
}

func stepWord(p rollout.Progress) string {
	if p.Way == rollout.Back {
		return "back"
	}
	return "step"
}

func stepCount(r rollout.Run, way rollout.Way) int {
	if way == rollout.Forward {
		return len(r.Plan.Steps)
	}
	return len(r.List())
}

// proved prints the evidence of a step: the four weights, or the handshakes.
func (l *Lines) proved(p rollout.Progress) {
	if strings.Contains(p.Name, "TLS") {
		l.say("proved", fmt.Sprintf("%d edges show the settings in two rounds", len(p.Handshakes)))
		for _, h := range p.Handshakes {
			l.more("%s", HandshakeLine(h))
		}
		return
	}
	l.say("verified", FourWeights(p))
}

// FourWeights prints asked, stored, answered and carried side by side.
func FourWeights(p rollout.Progress) string {
	answered, carried := "unknown", "unknown"
	if p.AnsweredN > 0 {
		answered = pct(p.Answered)
	}
	if p.Carried.Known {
		carried = fmt.Sprintf("%s ±%.1f pp", pct(p.Carried.Carried), float64(p.Carried.Tolerance))
	}
	return fmt.Sprintf("asked %s | stored %s | answered %s | carried %s", pct(p.Asked), pct(p.Stored.Share()), answered, carried)
}

func pct(p plans.Percent) string { return fmt.Sprintf("%.1f %%", float64(p)) }

// HandshakeLine prints what one edge showed.
func HandshakeLine(h plans.Handshake) string {
	if h.Error != "" {
		return fmt.Sprintf("edge %s (%s): FAILED at %s: %s", h.Edge, h.Leg, h.Stage, h.Error)
	}
	line := fmt.Sprintf("edge %s (%s): %s %s %s %s", h.Edge, h.Leg, h.Version, h.Suite, h.Group, orNone(h.ALPN))
	if h.Version == plans.TLS13 && h.Accepted.Has(plans.TLS12) {
		line += ", TLS 1.2 clients still served"
	}
	if h.ChainError != "" {
		line += ", CERTIFICATE: " + h.ChainError
	}
	return line
}

// guardrails prints a rule a line, as it stood at the end of a step.
func (l *Lines) guardrails(p rollout.Progress) {
	for _, v := range p.Verdicts {
		l.more("%s", VerdictLine(v))
	}
}

// VerdictLine prints a verdict as a row: state, rule, platform, value against its limit, minutes breaching, ok and unknown.
func VerdictLine(v guardrails.Verdict) string {
	value := "no data"
	if v.Known {
		value = fmt.Sprintf("%s, %s limit %s", rollout.Quantity(v.Signal, v.Value), v.Side, rollout.Quantity(v.Signal, v.Limit))
	}
	name := v.Rule
	if v.Platform != "" {
		name += " " + v.Platform
	}
	if v.Leg == guardrails.Backup {
		name += " (backup)"
	}
	row := fmt.Sprintf("%-8s %-32s %-48s %2d breaching %2d ok %2d unknown", v.State, name, value, v.Breach, v.OK, v.Unknown)
	if v.Why != 0 {
		row += " (" + v.Why.String() + ")"
	}
	return row + rollout.ControlText(v)
}

// verdicts prints the rules that have just turned worse than PENDING: the worst in full, the others as a number.
func (l *Lines) verdicts(before, after rollout.Run) {
	if after.Way != before.Way {
		clear(l.states)
	}
	var bad []guardrails.Verdict
	for _, v := range after.Verdicts {
		key := verdictKey(v)
		was := l.states[key]
		l.states[key] = v.State
		if v.State >= guardrails.Suspect && v.State > was {
			bad = append(bad, v)
		}
	}
	slices.SortStableFunc(bad, rollout.Worse)
	switch len(bad) {
	case 0:
	case 1:
		l.say("guardrail", rollout.VerdictText(bad[0]))
	default:
		l.say("guardrail", fmt.Sprintf("%s; and %d more", rollout.VerdictText(bad[0]), len(bad)-1))
	}
}

func verdictKey(v guardrails.Verdict) string {
	return v.Rule + "\x00" + v.Platform + "\x00" + v.Leg.String()
}

// wait says what is awaited and until when: at once when that changes, and again every ten minutes.
func (l *Lines) wait(r rollout.Run) {
	what, text := Awaiting(r, l.zone)
	if what == "" || what == l.waits && r.At.Sub(l.said) < heartbeat {
		return
	}
	l.waits, l.said = what, r.At
	l.say("wait", text)
}

func (l *Lines) ended(r rollout.Run) {
	l.say("end", fmt.Sprintf("%s: %s", r.End.Phase, r.End.Why))
	l.more("live now: %s", r.Live())
}
