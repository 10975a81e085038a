package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// Rejudged is a record that changed the verdicts.
type Rejudged struct {
	Seq   uint64
	At    time.Time
	Then  []guardrails.Verdict // what the run decided
	Again []guardrails.Verdict // what the rows beside the journal say, judged anew
}

// Equal reports whether both are the same byte for byte, written as JSON.
func (r Rejudged) Equal() bool {
	return written(r.Then) == written(r.Again)
}

// written is the form in which verdicts are compared.
func written(vs []guardrails.Verdict) string {
	data, err := json.Marshal(vs)
	if err != nil {
		panic(fmt.Sprintf("rollout: the verdicts %+v cannot be written as JSON: %v", vs, err)) // every number that leaves the judge is finite
	}
	return string(data)
}

// Rejudge judges a journal a second time. The verdicts of the replay stand for what was decided then; the second judgement makes a table
// of its own from the rows beside the journal, with nothing trimmed on the way, and freezes its own baseline from it. That the replay
// is what was done then is shown by the journal itself: every answer in it must answer a command that the replay issued, of that kind and
// for those minutes. witness is the first record where it does not: there the run had decided otherwise than this program does. It is nil
// when there is none. Rows must be attached to every MinutesArrived.
func Rejudge(records []Record) (out []Rejudged, witness error) {
	again := second{issued: map[CommandID]Action{}}
	var run Run
	for _, rec := range records {
		if err := again.fits(rec); err != nil {
			return out, err
		}
		after, due := Next(run, rec)
		for _, c := range due {
			again.issued[c.ID] = c.Action
		}
		again.take(run, after, rec)
		if len(after.Verdicts) > 0 && written(after.Verdicts) != written(run.Verdicts) {
			out = append(out, Rejudged{Seq: rec.Seq, At: rec.At, Then: after.Verdicts, Again: again.judge(after)})
		}
		run = after
	}
	return out, nil
}

// second is what the second judgement knows.
type second struct {
	table   guardrails.Table
	trimmed guardrails.Minute // a run forgets what is older
	base    guardrails.Baseline
	before  guardrails.Baseline // the one before base: a record may be judged first, and then freeze
	issued  map[CommandID]Action
}

// take adds a batch that the run took, and freezes the baseline when the run did.
func (s *second) take(before, after Run, rec Record) {
	m, ok := rec.Event.(MinutesArrived)
	if ok && before.End == nil && slices.ContainsFunc(before.pending, func(c Command) bool { return c.ID == m.ID }) {
		if f, past := s.issued[m.ID].(FetchMinutes); past && f.DaysAgo > 0 {
			return // the week is the run's own: it is not judged
		}
		s.table = s.table.Merge(m.Batch, after.At)
		if before.Stage > StageChecking {
			s.trimmed = guardrails.MinuteOf(after.At) - after.kept()
		}
	}
	if was, _ := before.Baseline.ShapeThrough(); s.base.At.Equal(after.Baseline.At) {
		if m, ok := after.Baseline.ShapeThrough(); ok && m > was {
			s.base = s.base.Extend(&before.Week)
		}
	}
	if !after.Baseline.At.Equal(before.Baseline.At) {
		week := &after.Week
		if len(week.Days) == 0 { // the run froze, wrote and forgot the week by this record
			week = &before.Week
		}
		s.before, s.base = s.base, guardrails.Freeze(s.table, week, after.Plan.Guardrails, after.Baseline.At)
	}
}

func (s *second) judge(r Run) []guardrails.Verdict {
	kept, base := s.table.Trim(s.trimmed), &s.base
	if !r.judgedBy.Equal(base.At) {
		base = &s.before
	}
	return guardrails.Watch(&kept, base, r.Plan.Guardrails, r.judged, r.lingered)
}

// fits reports, as an error, a record that answers something else than the replay asked for.
func (s *second) fits(rec Record) error {
	id := Answers(rec.Event)
	if id == 0 {
		return nil
	}
	a, ok := s.issued[id]
	if ok && answered(rec.Event, a) {
		return nil
	}
	asked := "never issued"
	if ok {
		asked = "to " + ActionName(a)
	}
	return fmt.Errorf("record %d (%s) answers command %d, which by this judgement was %s: the run had decided otherwise before it",
		rec.Seq, Kind(rec.Event), id, asked)
}

// answered reports whether an event can answer an action.
func answered(e Event, a Action) bool {
	switch e := e.(type) {
	case CommandSucceeded:
		return brings(e.Result, a)
	case CommandFailed:
		_, wakes := a.(Wake)
		_, fetches := a.(FetchMinutes)
		return !wakes && !fetches
	case MinutesArrived:
		f, ok := a.(FetchMinutes)
		return ok && f.Source == e.Batch.Source && f.From == e.Batch.From && f.To == e.Batch.To
	case SourceFailed:
		f, ok := a.(FetchMinutes)
		return ok && f.Source == e.Source
	case TimerFired:
		_, ok := a.(Wake)
		return ok
	case Started, Resumed, PauseOrdered, ResumeOrdered, PromoteOrdered, AbortOrdered, Approved:
	}
	return false
}

// brings reports whether an action has this kind of result.
func brings(r Result, a Action) bool {
	ok := false
	switch r.(type) {
	case StateRead:
		_, ok = a.(ReadState)
	case ShareSet:
		_, ok = a.(SetShare)
	case TLSSet:
		_, ok = a.(SetTLS)
	case HandshakesDone:
		_, ok = a.(Handshake)
	case Resolved:
		_, ok = a.(Resolve)
	case Done:
		switch a.(type) {
		case Rehearse, Notify, Call:
			ok = true
		case ReadState, SetShare, SetTLS, Handshake, Resolve, FetchMinutes, Wake:
		}
	}
	return ok
}
