package rollout

import (
	"slices"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// The times of a run, in the run's time. Those of proofs are from the reference semantics (20 and 40 minutes) and the fact sheet of
// the CDN (15 minutes); the others are ours.
const (
	tickEvery        = time.Minute
	PreflightLimit   = 30 * time.Minute // for the world to answer at all
	selfTestPatience = 10 * time.Minute // for the newest minutes of a source, before the first step
	historyMinutes   = 75               // asked for at the start: the baseline's hour and room for late data
	refetchMinutes   = 15               // asked for again at every tick, so that revisions arrive
	maxFetch         = 180
	keptMinutes      = 60               // of every series: more than the longest look back of the judge at rules of the usual length, which is 45
	readEvery        = 5                // ticks between reads for drift
	sourceFresh      = 3 * time.Minute  // what raises exposure wants every source to have answered this recently
	behindFor        = 30 * time.Second // after a write was read back, a read may still show the state before it; the bound of a read back
	readFresh        = time.Minute      // what raises exposure wants the state read this recently
	ConvergeHold     = 20 * time.Minute
	convergePage     = 40 * time.Minute
	convergeBack     = 60 * time.Minute // way back: then the end is unverified
	ProofLimit       = 15 * time.Minute
	ProofLimitBack   = 2 * time.Hour
	spreadUntold     = 5 * time.Minute // way back: what a CDN tells no status of may still be on its way to an edge; the longest update seen in the field
	proofRounds      = 2
	edgeRounds       = 3                // preflight: handshakes with edges that do not answer
	SettleLimit      = 90 * time.Minute // way back: for CLEAR at half the band
	gateGrace        = 15 * time.Minute // a closed gate is a hold after this
	leverHold        = 10 * time.Minute // forward: a failing lever is a hold after this
	leverPage        = time.Minute      // way back: a failing lever pages after this
	residualTime     = 15 * time.Minute // way back: after it a drained primary carries residualSoon percent at most, after twice that residualLate
	residualSoon     = 5
	residualLate     = 2
	blindWatch       = 15 * time.Minute // after a resume: missing minutes count from here on
	retryFirst       = 5 * time.Second
	retryMax         = 30 * time.Second
	resolveQueries   = 400 // a server and tick
)

// turn is one call of Next: the new run being made, and what is due.
type turn struct {
	r     Run
	at    time.Time
	out   []Command
	after []Command // notifications: started after everything else
	fresh bool      // there is something new to judge
}

// Next returns the run after a record, and the commands to start, in order. It changes neither of its arguments. A record at or before
// the run's last changes nothing. A terminal run stays as it is; it only takes in which of its notifications were delivered.
func Next(r Run, rec Record) (Run, []Command) {
	switch {
	case rec.Seq <= r.Seq:
		return r, nil
	case r.End != nil:
		return r.delivered(rec), nil
	}
	t := turn{r: r, at: rec.At}
	if t.at.Before(r.At) {
		t.at = r.At
	}
	t.r.Seq, t.r.At = rec.Seq, t.at
	t.r.pending = slices.Clone(r.pending)
	t.r.Steps = slices.Clone(r.Steps)
	t.r.Sources = slices.Clone(r.Sources)
	t.r.paged = slices.Clone(r.paged)
	t.r.past = slices.Clone(r.past)
	t.r.common = slices.Clone(r.common)
	t.r.Week.Days = slices.Clone(r.Week.Days)
	t.apply(rec.Event)
	t.settle()
	return t.r, append(t.out, t.after...)
}

// delivered is an ended run after a record: the notification that it answers is no longer outstanding.
func (r Run) delivered(rec Record) Run {
	t := turn{r: r}
	t.r.pending = slices.Clone(r.pending)
	if _, ok := t.answered(Answers(rec.Event)); !ok {
		return r
	}
	t.r.Seq = rec.Seq
	return t.r
}

// Replay returns the run that a journal leads to.
func Replay(records []Record) Run {
	var r Run
	for _, rec := range records {
		r, _ = Next(r, rec)
	}
	return r
}

// apply takes in what happened; settle then draws the conclusions.
func (t *turn) apply(e Event) {
	switch e := e.(type) {
	case Started:
		t.started(e)
	case CommandSucceeded, CommandFailed, MinutesArrived, SourceFailed, TimerFired:
		t.answer(e)
	case Resumed:
		t.resumed()
	case PauseOrdered:
		t.hold(Hold{Since: t.at, Why: HoldOperator, Text: "paused by " + e.Actor + because(e.Reason), Manual: true})
	case ResumeOrdered:
		t.resume(e)
	case PromoteOrdered:
		t.promote()
	case AbortOrdered:
		t.rollBack("aborted by " + e.Actor + because(e.Reason))
	case Approved:
		t.approved()
	}
}

// answer takes in what answers a command. An answer to a command that is not outstanding is late, or was replaced: nothing follows.
func (t *turn) answer(e Event) {
	id := Answers(e)
	a, ok := t.answered(id)
	if !ok {
		return
	}
	switch e := e.(type) {
	case CommandSucceeded:
		t.succeeded(id, a, e.Result)
	case CommandFailed:
		t.failed(id, a, e.Kind, e.Text)
	case MinutesArrived:
		if f, ok := a.(FetchMinutes); ok && f.DaysAgo > 0 {
			t.pastArrived(f, e.Batch)
			return
		}
		t.minutes(e.Batch)
	case SourceFailed:
		if f, ok := a.(FetchMinutes); ok && f.DaysAgo > 0 {
			t.pastFailed(f, e.Kind)
			return
		}
		t.sourceFailed(e)
	case TimerFired:
		t.fired(a)
	case Started, Resumed, PauseOrdered, ResumeOrdered, PromoteOrdered, AbortOrdered, Approved:
	}
}

// Answers is the id of the command that an event answers; 0 for none.
func Answers(e Event) CommandID {
	switch e := e.(type) {
	case CommandSucceeded:
		return e.ID
	case CommandFailed:
		return e.ID
	case MinutesArrived:
		return e.ID
	case SourceFailed:
		return e.ID
	case TimerFired:
		return e.ID
	case Started, Resumed, PauseOrdered, ResumeOrdered, PromoteOrdered, AbortOrdered, Approved:
	}
	return 0
}

// settle repeats until nothing more follows from what is known. The bound is far above the number of steps a plan may have.
func (t *turn) settle() {
	if t.r.Plan != nil && t.r.End == nil {
		t.judge()
	}
	for range 1000 {
		if t.r.End != nil || !t.progress() {
			break
		}
	}
	t.record()
}

func (t *turn) progress() bool {
	switch {
	case t.r.Plan == nil || t.r.Stage == StageScheduled:
		return false
	case t.r.Stage == StageChecking:
		return t.check()
	case t.r.Way == Back:
		return t.progressBack()
	}
	return t.progressForward()
}

// issue makes a command outstanding and due.
func (t *turn) issue(a Action) CommandID {
	t.r.nextID++
	c := Command{ID: t.r.nextID, Action: a}
	t.r.pending = append(t.r.pending, c)
	if _, ok := a.(Notify); ok {
		t.after = append(t.after, c)
	} else {
		t.out = append(t.out, c)
	}
	return c.ID
}

// answered takes a command off the outstanding ones.
func (t *turn) answered(id CommandID) (Action, bool) {
	i := slices.IndexFunc(t.r.pending, func(c Command) bool { return c.ID == id })
	if i < 0 {
		return nil, false
	}
	a := t.r.pending[i].Action
	t.r.pending = slices.Delete(t.r.pending, i, i+1)
	return a, true
}

// pendingAny reports whether an outstanding action satisfies f.
func (t *turn) pendingAny(f func(Action) bool) bool {
	return slices.ContainsFunc(t.r.pending, func(c Command) bool { return f(c.Action) })
}

// ask issues a read unless the same read is outstanding, and not stale.
func (t *turn) ask(a Action) {
	for _, c := range t.r.pending {
		_, minutes := c.Action.(FetchMinutes)
		if sameRead(c.Action, a) && (minutes || c.ID > t.r.fence) {
			return
		}
	}
	t.issue(a)
}

func sameRead(a, b Action) bool {
	switch a := a.(type) {
	case ReadState:
		_, ok := b.(ReadState)
		return ok
	case Handshake:
		o, ok := b.(Handshake)
		return ok && o == a
	case Resolve:
		_, ok := b.(Resolve)
		return ok
	case FetchMinutes:
		o, ok := b.(FetchMinutes)
		return ok && o.Source == a.Source && o.DaysAgo == a.DaysAgo
	case SetShare, SetTLS, Wake, Rehearse, Notify, Call:
	}
	return false
}

// notify tells a person, once for each key.
func (t *turn) notify(u Urgency, key, text string) {
	if slices.Contains(t.r.paged, key) {
		return
	}
	t.r.paged = append(t.r.paged, key)
	t.issue(Notify{Urgency: u, Text: text})
}

// end ends the run. Nothing but notifications stays outstanding.
func (t *turn) end(p Phase, why string) {
	t.r.End = &Ended{Phase: p, Why: why}
	t.r.Held = nil
	t.r.Week, t.r.past = guardrails.Week{}, nil
	t.r.pending = slices.DeleteFunc(t.r.pending, func(c Command) bool { _, ok := c.Action.(Notify); return !ok })
	t.out = nil
	urgency := Info
	switch {
	case p == RolledBackUnverified, p == Halted && t.r.Touched:
		urgency = Page
	case p != Succeeded:
		urgency = Warn
	}
	t.notify(urgency, "end", p.String()+": "+why+". Live now: "+t.r.Live()+".")
}

// fired sends a Wake on its errand.
func (t *turn) fired(a Action) {
	w, ok := a.(Wake)
	if !ok {
		return
	}
	switch w.Do {
	case Begin:
		t.beginOnTime()
	case Tick:
		t.tick()
	case RetryShare:
		t.retry(&t.r.share, RetryShare)
	case RetryTLS:
		t.retry(&t.r.tls, RetryTLS)
	case RetryCall:
		t.retry(&t.r.call, RetryCall)
	}
}

// tick is the pulse: fetch, prove, look for drift, and come back in a minute.
func (t *turn) tick() {
	t.r.ticks++
	t.fresh = true
	t.issue(Wake{At: nextMinute(t.at), Do: Tick})
	for _, s := range t.r.Plan.Sources {
		t.fetch(s)
	}
	t.goOnWithTheWeek()
	switch t.r.Stage {
	case StageChecking:
		t.askPreflight()
		t.askWeek()
	case StageProveShare:
		t.askResolve()
		if t.r.ticks%readEvery == 0 {
			t.ask(ReadState{})
		}
	case StageProveTLS:
		t.askProof()
	case StageSettling:
		t.ask(ReadState{})
	case StageScheduled, StageEntering, StageApplying, StageBaking, StageApproving:
		if t.r.ticks%readEvery == 0 {
			t.ask(ReadState{})
		}
	}
}

// nextMinute is just after the next whole minute: what settles with it is then settled.
func nextMinute(at time.Time) time.Time { return at.Truncate(tickEvery).Add(tickEvery + time.Second) }

// fetch asks a source for what settled last and for what may have been revised.
func (t *turn) fetch(s plans.Source) {
	to := guardrails.MinuteOf(t.at.Add(-s.Settle)) - 1
	from := to - refetchMinutes + 1
	switch i := t.sourceIndex(s.Name); {
	case t.r.Sources[i].AnsweredAt.IsZero():
		from = to - t.r.history(s.Name) + 1
	default:
		last := guardrails.MinuteOf(t.r.Sources[i].AnsweredAt.Add(-s.Settle)) - refetchMinutes
		from = max(min(from, last), to-maxFetch+1)
	}
	t.ask(FetchMinutes{Source: s.Name, From: from, To: to})
}

// kept is how many minutes of every series a run remembers once the baseline is frozen.
func (r Run) kept() guardrails.Minute {
	longest := guardrails.Minute(keptMinutes)
	for _, g := range r.Plan.Guardrails {
		longest = max(longest, guardrails.Minute(g.Within/time.Minute)+keptMinutes/2)
	}
	return min(longest, maxFetch)
}

// history is how many minutes a source is asked for at the start: the baseline's hour and room for late data, or the longest window.
func (r Run) history(source string) guardrails.Minute {
	longest := guardrails.Minute(historyMinutes)
	for _, g := range r.Plan.Guardrails {
		if g.Source == source {
			longest = max(longest, guardrails.Minute(g.Within/time.Minute)+refetchMinutes)
		}
	}
	return min(longest, maxFetch)
}

func (t *turn) sourceIndex(name string) int {
	i := slices.IndexFunc(t.r.Sources, func(s SourceHealth) bool { return s.Name == name })
	if i < 0 {
		t.r.Sources = append(t.r.Sources, SourceHealth{Name: name})
		i = len(t.r.Sources) - 1
	}
	return i
}

func (t *turn) minutes(b guardrails.Batch) {
	i := t.sourceIndex(b.Source)
	t.r.Sources[i].AnsweredAt, t.r.Sources[i].Failure = t.at, ""
	t.r.Table = t.r.Table.Merge(b, t.at)
	if t.r.Stage > StageChecking {
		t.r.Table = t.r.Table.Trim(guardrails.MinuteOf(t.at) - t.r.kept())
	}
	t.fresh = true
}

func (t *turn) sourceFailed(e SourceFailed) {
	i := t.sourceIndex(e.Source)
	t.r.Sources[i].Failure = e.Kind.String() + ": " + e.Text
	t.fresh = true
	if t.r.Stage == StageChecking && !e.Kind.repeatable() {
		t.end(Halted, "source "+e.Source+" cannot be read: "+e.Text)
	}
}
