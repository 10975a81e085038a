package guardrails

// Watch evaluates every rule on the leg that matters: the primary, or the backup while the primary is asked to carry nothing. lingering
// is the share, 0..100, that the primary may carry all the same: zero that is written as a weight of 1, or what another hand left. With
// one, the primary's bad verdicts follow the backup's: too few people to call it healthy, enough to be hurt; silence and missing minutes are no sign then.
// A live run, a backtest and a second judgement of a journal decide by this one function.
func Watch(t *Table, b *Baseline, rules []Rule, s Situation, lingering Percent) []Verdict {
	leg := Watched(s.Share)
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

// Watched is the leg that is judged while the primary is asked to carry a share, 0..100.
func Watched(share Percent) Leg {
	if share == 0 {
		return Backup
	}
	return Primary
}

// Unmeasured returns the first rule that acts and compares, whose source has no series in the baseline on a leg: it would never be
// CLEAR, so nothing can be judged. ok is false when there is none.
func (b *Baseline) Unmeasured(rules []Rule, leg Leg) (rule Rule, ok bool) {
	for _, r := range rules {
		if r.Mode == Act && r.Signal != Requests && !b.measures(r.Source, leg) {
			return r, true
		}
	}
	return Rule{}, false
}

func (b *Baseline) measures(name string, leg Leg) bool {
	for i := range b.Series {
		if s := &b.Series[i]; s.Source == name && s.Leg == leg {
			return true
		}
	}
	return false
}
