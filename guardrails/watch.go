package guardrails

// Watch evaluates every rule on the leg that matters: the primary, or the backup while the primary is asked to carry nothing. lingering
// is the share, 0..100, that the primary may carry all the same: zero that is written as a weight of 1, or what another hand left. With
// one, the primary's bad verdicts follow the backup's: too few people to call it healthy, enough to be hurt; silence and missing minutes are no sign then.
// A live run, a backtest and a second judgement of a journal decide by this one function.
func Watch(t *Table, b *Baseline, rules []Rule, s Situation, lingering Percent) []Verdict {
	leg := Primary
	if s.Share == 0 {
		leg = Backup
	}
	out := JudgeAll(t, b, rules, leg, s)
	if leg == Primary || lingering <= 0 {
		return out
	}
	s.Share = lingering
	for _, v := range JudgeAll(t, b, rules, Primary, s) {
		if v.Signal != Requests && v.State != Blind && v.Decision() >= HoldHere {
			out = append(out, v)
		}
	}
	return out
}

// Unmeasured returns the first rule that acts, other than silence, whose source has no series of the primary in the baseline: it would
// never be CLEAR, so a run must not begin. ok is false when there is none.
func (b *Baseline) Unmeasured(rules []Rule) (rule Rule, ok bool) {
	for _, r := range rules {
		if r.Mode == Act && r.Signal != Requests && !b.measures(r.Source) {
			return r, true
		}
	}
	return Rule{}, false
}

func (b *Baseline) measures(name string) bool {
	for i := range b.Series {
		if s := &b.Series[i]; s.Source == name && s.Leg == Primary {
			return true
		}
	}
	return false
}
