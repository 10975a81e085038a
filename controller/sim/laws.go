package sim

import (
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// foreign is how long after another hand's write, or after one of a frozen process that landed late, nobody can be blamed for not knowing:
// the longest that a command on a lever takes.
const foreign = 3 * time.Minute

// blameless reports whether something that the run did not do has just changed what is stored.
func (n *night) blameless(now time.Time) bool {
	recent := func(t time.Time) bool { return !t.IsZero() && now.Sub(t) < foreign }
	return recent(n.drifted) || recent(n.late)
}

// writeBegan judges a write as it leaves a process. Whatever it does later, this is the moment of the decision.
func (n *night) writeBegan(t *task, w sent, now time.Time) {
	rehearsal := false
	if t != nil {
		_, rehearsal = t.command.Action.(rollout.Rehearse)
	}
	n.say("%s >>> life %d writes %s (stored %s)", now.Format("15:04:05.000"), t.life, w, n.w.model.Weights())
	switch {
	case t.life != n.w.life.number:
		n.law("fence", "a process that was taken over writes %s", w)
		return
	case now.Before(n.w.life.quiet):
		n.law("fence", "%s is written %s before the last call of the process before can be over", w, n.w.life.quiet.Sub(now))
	}
	n.mark(atBegun, decided)
	if w.TLS != nil {
		n.mark(atTLS, decided)
		n.restoring = n.restoring || !n.turned.IsZero()
	}
	if rehearsal {
		return
	}
	n.repeated(t, w, now)
	if !n.turned.IsZero() && !n.wrote {
		n.wrote = true
		n.outcome.BackToWrite = now.Sub(n.turned)
	}
	if n.blameless(now) {
		return
	}
	if w.TLS != nil {
		n.settingsBegan(t)
		return
	}
	n.weightBegan(t, w.DNS, now)
}

// repeated holds that no write is made again blindly, nor after it was seen to be in force.
func (n *night) repeated(t *task, w sent, now time.Time) {
	last := &n.last[w.lever()]
	same := !last.at.IsZero() && last.what.equal(w)
	switch {
	case same && !last.read:
		n.law("repeat", "%s is written again, and nothing was read in between", w)
	case same && last.shown && w.inForce(n.w.model.Weights(), n.w.model.Settings()):
		n.law("repeat", "%s is written again although it was read back", w)
	}
	*last = remembered{what: w, life: t.life, at: now}
}

// readDone takes in what a process reads on a lever.
func (n *night) readDone(t *task, s plans.State, lever int) {
	if t == nil || t.life != n.w.life.number {
		return
	}
	last := &n.last[lever]
	if last.at.IsZero() {
		return
	}
	weights, _ := s.Weights(n.script.plan.DNS.Line)
	last.read, last.shown = true, last.what.inForce(weights, s.Primary.TLS)
}

// writeLanded looks at the world after a write.
func (n *night) writeLanded(t *task, w sent, now time.Time) {
	if t.ended || t.life != n.w.life.number {
		n.late = now // nobody can call it back
	}
	n.touched = true
	if w.TLS == nil {
		n.shifted = now
	}
	weights := n.w.model.Weights()
	n.say("%s <<< %s has landed, stored %s", now.Format("15:04:05.000"), w, weights)
	if !weights.Answering() {
		n.law("S9", "nothing answers any more: %s", weights)
	}
	if t.life == n.w.life.number {
		n.mark(atLanded, decided)
	}
}

// weightBegan judges a write of a weight against what is stored.
func (n *night) weightBegan(t *task, d plans.DNSWrite, now time.Time) {
	a, ok := t.command.Action.(rollout.SetShare)
	if !ok {
		return
	}
	truth := n.w.model.Weights()
	after := d.Apply(truth)
	if !after.Answering() {
		n.law("S9", "the write leaves %s", after)
	}
	lo, hi := min(truth.Share(), a.Want.Share()), max(truth.Share(), a.Want.Share())
	if s := after.Share(); s > hi+slack || s < lo-slack {
		n.law("S9", "between %s and %s the write leaves %s, a share of %s", truth, a.Want, after, s)
	}
	if after.Share() <= truth.Share()+slack {
		return
	}
	if n.run.Way == rollout.Back {
		if n.changeMayBeLive(now) {
			n.law("S3", "the share rises from %s to %s on the way back, and the change may be live", truth, after)
		}
		return
	}
	if n.changeMayBeLive(now) {
		n.exposureRises(t, a, after)
	}
	n.inWindow("the share rises")
}

// exposureRises is laws S1 and S2, and what a resume owes to them, for a write on the way forward.
func (n *night) exposureRises(t *task, a rollout.SetShare, after plans.Weights) {
	if shift, ok := n.shiftNow(); ok && after.Share() > shift+slack {
		n.law("S1", "%s is more than the %s of the step", after, shift)
	}
	if soon := t.begun.Sub(n.shifted); !t.judged && !n.jumped && t.stored.Equal(a.Before) && a.Before.Share() > 1 && soon < shortestBake {
		n.law("S2", "the share rises again %s after it was %s: no rule can be CLEAR on it yet", soon, a.Before)
	}
	n.mayRise(t, n.run.AskedFrom)
	if !n.deaf.IsZero() && !t.begun.Before(n.deaf) {
		n.law("resume", "the share rises to %s before any source has answered since the process went on", after)
	}
}

// shortestBake is what every rule needs to be CLEAR on a share: ten whole minutes.
const shortestBake = 10 * time.Minute

// slack is what rounding may do to a share, in points.
const slack = 0.05

// settingsBegan judges a write of the TLS settings.
func (n *night) settingsBegan(t *task) {
	a, ok := t.command.Action.(rollout.SetTLS)
	if !ok {
		return
	}
	back := a.Want.Absent == !n.settings.Explicit && (a.Want.Absent || a.Want.Enabled == n.settings.Enabled)
	switch {
	case n.run.Way == rollout.Back && !back:
		n.law("S3", "the way back sets %s", a.Want.Enabled)
	case back:
	case n.w.model.Weights().Share() > 1:
		n.mayRise(t, t.stored.Share())
		n.inWindow("the change is set")
	default:
		n.inWindow("the change is set")
		if carried := n.carried(t.begun); carried > 9 {
			n.law("S2", "the change is set while the primary, which should carry nothing, carries %.1f %%", carried)
		}
	}
}

// shiftNow is the share that the step of the way forward may reach.
func (n *night) shiftNow() (plans.Percent, bool) {
	step, ok := n.run.Current()
	if !ok {
		return 0, false
	}
	return shiftIn(step)
}

func shiftIn(step plans.Step) (plans.Percent, bool) {
	switch s := step.(type) {
	case plans.Shift:
		return s.Primary, true
	case plans.Together:
		for _, sub := range s.Steps {
			if p, ok := shiftIn(sub); ok {
				return p, true
			}
		}
	default:
	}
	return 0, false
}

// inWindow holds that nothing rises after advance_until. A command that began before may still be under way.
func (n *night) inWindow(what string) {
	if u := n.run.AdvanceUntil; !u.IsZero() && n.run.At.After(u.Add(foreign)) {
		n.law("advance_until", "%s at %s", what, n.run.At.UTC().Format(time.RFC3339))
	}
}

// mayRise is laws S2 and S8: exposure rises on ten minutes that were delivered, none of which breaches by much, with the traffic where it
// was asked to be.
func (n *night) mayRise(t *task, share plans.Percent) {
	now := t.begun
	if n.jumped || t.judged {
		return // the run's minutes are not the world's
	}
	t.judged = true
	leg := guardrails.Primary
	if share <= 1 {
		leg = guardrails.Backup
	}
	settle := n.settle()
	through := guardrails.MinuteOf(now.Add(-settle-foreign)) - 1 // a write may wait this long for its turn
	limit := n.errorLimit()
	for _, platform := range n.w.model.Platforms() {
		bad, missing := 0, 0
		for m := through - 6; m <= through; m++ {
			c, known := n.delivered(seriesKey{platform, leg}, m)
			switch {
			case !known:
				missing++
			case limit > 0 && c.Requests >= 200 && 100*c.Errors/c.Requests > 1.3*limit:
				bad++
			}
		}
		if missing > 4 {
			n.law("S8", "exposure rises with %d of 7 minutes of %s on the %s missing", missing, platform, leg)
		}
		if bad > 2 {
			n.law("S2", "exposure rises with %d of 7 minutes of %s on the %s breaching", bad, platform, leg)
		}
	}
	if carried := n.carried(now); carried-float64(share) > 12 || float64(share)-carried > 12 {
		n.law("S2", "exposure rises from a share of %s while the traffic is at %.1f %%", share, carried)
	}
}

// carried is the primary's share of the traffic in the minutes before the last ones, in percent.
func (n *night) carried(now time.Time) float64 {
	sum, count := 0.0, 0
	for m := guardrails.MinuteOf(now) - 7; m <= guardrails.MinuteOf(now)-4; m++ {
		if share, requests := n.w.model.Carried(m); requests > 0 || share > 0 {
			sum += share
		}
		count++
	}
	return 100 * sum / float64(count)
}

// errorLimit is the plan's limit for failed requests in percent; 0 when it has none.
func (n *night) errorLimit() float64 {
	for _, g := range n.script.plan.Guardrails {
		if g.Signal == guardrails.ErrorRate && g.Source == n.source && g.Mode != guardrails.Shadow && g.Above > 0 {
			return float64(g.Above)
		}
	}
	return 0
}

func (n *night) settle() time.Duration {
	for _, s := range n.script.plan.Sources {
		if s.Name == n.source {
			return s.Settle
		}
	}
	return 0
}
