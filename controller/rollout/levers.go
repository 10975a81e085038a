package rollout

import (
	"fmt"
	"slices"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// pull makes an action the one write of a lever. What was outstanding on the lever is dropped: its answer will change nothing.
func (t *turn) pull(l *lever, a Action) {
	t.drop(l)
	*l = lever{want: a, asked: t.at}
	l.cmd = t.issue(a)
	if !t.r.Touched {
		t.r.Touched = true
		t.r.Week, t.r.past = guardrails.Week{}, nil // the baseline is frozen
	}
	t.fence()
}

// fence makes the answers of every read that has begun so far stale: each may show the time before the write.
func (t *turn) fence() { t.r.fence = t.r.nextID }

func (t *turn) drop(l *lever) {
	t.r.pending = slices.DeleteFunc(t.r.pending, func(c Command) bool { return c.ID == l.cmd || c.ID == l.retry })
	t.out = slices.DeleteFunc(t.out, func(c Command) bool { return c.ID == l.cmd || c.ID == l.retry })
}

// idle reports whether nothing is under way on either lever.
func (t *turn) idle() bool {
	return !t.r.share.busy() && !t.r.tls.busy()
}

// busy reports whether a write is under way, waiting to be repeated, or parked.
func (l *lever) busy() bool { return l.cmd != 0 || l.retry != 0 || l.parked }

// setShare asks for weights. From here on the old share's verification does not count.
func (t *turn) setShare(share plans.Percent, want plans.Weights) {
	r := &t.r
	r.AskedFrom, r.Asked = r.InForce, share
	r.ShareAt, r.ShareOK = zeroTime, zeroTime
	r.Share = guardrails.ShareAnswer{}
	r.lastSet = want
	t.pull(&r.share, SetShare{Names: r.names(), Want: want, Before: r.Weights, Force: r.Way == Back})
}

func (t *turn) setTLS(want, before plans.TLSTarget) {
	t.r.Proofs, t.r.TLSAt = 0, zeroTime
	t.pull(&t.r.tls, SetTLS{Want: want, Before: before, Force: t.r.Way == Back})
}

// insist writes again what the way back wrote, when something later undid it before the restored settings were proved: a write of the way
// forward that was on its way when the run turned, or another hand. It is the one place where tlsroll contradicts a state that it reads.
func (t *turn) insist(s plans.State) {
	r := &t.r
	if r.Way != Back || r.Stage == StageApplying || r.Retreat != "" {
		return
	}
	if r.Restored {
		if !isTarget(s.Primary.TLS, r.Restore) {
			r.Restored, r.Exposed = false, true
			t.retreat("somebody changed the TLS settings again during the rollback: " + r.Drifted)
		}
		return
	}
	if !isTarget(s.Primary.TLS, r.Restore) {
		t.setTLS(r.Restore, r.Change)
	}
	if w, ok := s.Weights(r.Plan.DNS.Line); ok && w.Share() > r.Weights.Share() {
		t.pull(&r.share, SetShare{Names: r.names(), Want: r.lastSet, Before: r.Weights, Force: true})
	}
}

// isTarget reports whether settings are what was asked for.
func isTarget(s plans.TLSSettings, want plans.TLSTarget) bool {
	return s.Explicit != want.Absent && (want.Absent || s.Enabled == want.Enabled)
}

// shareSet is a share that was written and read back.
func (t *turn) shareSet(dns plans.DNSState) {
	r := &t.r
	want, ok := r.share.want.(SetShare)
	s := r.Observed
	s.DNS = dns
	w, paired := s.Weights(r.Plan.DNS.Line)
	if !ok || !paired || !w.Equal(want.Want) {
		t.leverFailed(&r.share, RetryShare, Unknown, fmt.Sprintf("read back %s instead of %s", w, want.Want))
		return
	}
	r.share = lever{}
	t.fence()
	r.Weights, r.seen, r.ShareAt, r.InForce = w, w.Share(), t.at, r.Asked
	r.Since = guardrails.MinuteOf(t.at) + 1
	t.r.Verdicts = nil
	t.landed()
}

// tlsSet is settings that were accepted and read back.
func (t *turn) tlsSet(s plans.TLSSettings) {
	r := &t.r
	r.tls = lever{}
	t.fence()
	r.TLSAt, r.TLSStatus = t.at, s.Status
	if r.InForce > 0 {
		r.Since = guardrails.MinuteOf(t.at) + 1
		t.r.Verdicts = nil
	}
	t.landed()
}

// landed moves on once nothing is under way any more.
func (t *turn) landed() {
	if t.r.Stage != StageApplying || !t.idle() {
		return
	}
	if p := t.last(); p != nil {
		p.Applied, p.Stored = t.at, t.r.Weights
	}
	if t.r.Retreat != "" {
		t.end(RolledBackUnverified, t.r.Retreat)
		return
	}
	t.prove()
}

// leverFailed decides what a failed write means. On the way back it is repeated whatever it was.
func (t *turn) leverFailed(l *lever, errand Errand, kind FailureKind, text string) {
	l.cmd, l.text = 0, text
	t.fence()
	if l.failed.IsZero() {
		l.failed = t.at
	}
	if t.r.Way == Forward && !kind.repeatable() {
		if kind == Conflict {
			t.conflict(l, text)
			return
		}
		t.rollBack(fmt.Sprintf("a write failed for good (%s): %s", kind, text))
		return
	}
	t.again(l, errand)
}

// callFailed tells a verdict from a silence: a webhook that refused turns the run round, one that could not be heard is asked again. The
// step does not end meanwhile, and the run holds when that takes long.
func (t *turn) callFailed(kind FailureKind, text string) {
	l := &t.r.call
	l.cmd, l.text = 0, text
	if l.failed.IsZero() {
		l.failed = t.at
	}
	if !kind.repeatable() {
		t.rollBack("the webhook refused: " + text)
		return
	}
	t.again(l, RetryCall)
}

// conflict is drift found by a write. The lever is parked: the write is made again when a person resumes the run.
func (t *turn) conflict(l *lever, text string) {
	l.parked = true
	t.drift(text)
}

// again schedules the next try: 5 s, doubling to 30 s.
func (t *turn) again(l *lever, errand Errand) {
	wait := min(retryFirst<<min(l.tries, 8), retryMax)
	l.tries++
	l.retry = t.issue(Wake{At: t.at.Add(wait), Do: errand})
}

// retry repeats a lever's write. One that raises exposure waits while what let it begin no longer holds.
func (t *turn) retry(l *lever, errand Errand) {
	l.retry, l.parked = 0, false
	switch {
	case l.want == nil:
	case t.r.Way == Forward && t.raising(l.want) && t.noLonger() != "":
		t.again(l, errand)
	default:
		l.cmd, l.asked = t.issue(l.want), t.at
		t.fence()
	}
}

// raising reports whether a write raises the primary's share, or turns the change on where somebody is.
func (t *turn) raising(a Action) bool {
	switch a := a.(type) {
	case SetShare:
		return a.Want.Share() > a.Before.Share()
	case SetTLS:
		return a.Want == t.r.Change && t.maybeOnPrimary() > 0
	case ReadState, Handshake, Resolve, FetchMinutes, Wake, Rehearse, Notify, Call:
	}
	return false
}

// resumed looks at what was under way when the process ended. What raises exposure is not simply done again: it waits until the sources
// answer, every rule is CLEAR on what they say now, and the window is still open. Everything else is repeated by whoever drives the run.
func (t *turn) resumed() {
	r := &t.r
	r.resumedAt, r.ReadAt = t.at, zeroTime
	t.fence()
	t.fresh = true
	if r.Way != Forward || r.Plan == nil {
		return
	}
	for _, l := range []struct {
		*lever
		errand Errand
	}{{&r.share, RetryShare}, {&r.tls, RetryTLS}} {
		if l.cmd != 0 && t.raising(l.want) {
			t.drop(l.lever)
			l.cmd = 0
			t.again(l.lever, l.errand)
		}
	}
}

// noLonger says why a write that raises exposure must not be made now; "" when it may.
func (t *turn) noLonger() string {
	if h := t.r.Held; h != nil && h.Why != HoldLever {
		return h.Text
	}
	if text := t.windowClosed(); text != "" {
		return text
	}
	return t.notJudgedWell()
}

// failing names the lever that has failed for longest, and since when.
func (t *turn) failing() (l *lever, name string) {
	switch s, c := &t.r.share, &t.r.tls; {
	case !s.failed.IsZero() && (c.failed.IsZero() || !c.failed.Before(s.failed)):
		return s, "DNS share"
	case !c.failed.IsZero():
		return c, "TLS settings"
	}
	return nil, ""
}
