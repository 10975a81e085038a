package guardrails

// The absolute part of the error limit on the way back; reference semantics, "rollback verification".
const (
	backErrorFloor = 2.0 // percent
	backErrorAbove = 1.0 // points over the baseline
)

// HalfBand returns the rule at half its band for one series: means and shares with half the limits, errors below
// max(2 %, baseline + 1 point) and never above the rule's own limit. The end of a rollback is judged by it.
func HalfBand(r Rule, b *Baseline, platform string, leg Leg) Rule {
	r.Rise, r.Drop, r.Moves = r.Rise/2, r.Drop/2, r.Moves/2
	if r.Signal == ErrorRate {
		limit := backErrorFloor
		if e, ok := b.Of(r.Source, platform, leg); ok && e.Has&HasErrors != 0 {
			limit = max(limit, 100*e.ErrorRate+backErrorAbove)
		}
		r.Above = Percent(min(limit, float64(r.Above)))
	}
	return r
}

// JudgeRestored evaluates every rule on the primary at half its band.
func JudgeRestored(t *Table, b *Baseline, rules []Rule, s Situation) []Verdict {
	var out []Verdict
	for i := range rules {
		for _, p := range platformsOf(t, b, &rules[i]) {
			out = append(out, Judge(t, b, HalfBand(rules[i], b, p, Primary), p, Primary, s))
		}
	}
	return out
}
