package backtest

import "github.com/tlsroll/tlsroll/guardrails"

// carriedKnown is how many of the minutes before the start must tell the share.
const carriedKnown = 20

// startShare is the primary's share at the start: of the last change before it, or else the mean that the traffic had in the half hour
// before, taken as asked. A source that tells both legs apart answers; without one, all there is comes from the primary.
func (w *watch) startShare() (share guardrails.Percent, source string, known bool) {
	for _, c := range w.in.Changes {
		if !c.At.After(w.night.Start) {
			share, known = c.Share, true
		}
	}
	if known {
		return share, "", true
	}
	for i := range w.record {
		r := &w.record[i]
		if w.table.Legs(r.name) == 2 {
			share, known = w.carried(r)
			return share, r.name, known
		}
	}
	return 100, "", true
}

// carried is the mean of the minutes' shares, all platforms together.
func (w *watch) carried(r *recorded) (guardrails.Percent, bool) {
	last := r.settled(w.night.Start)
	platforms := w.table.Platforms(r.name)
	sum, minutes := 0.0, 0
	for m := last - guardrails.BaselineMinutes + 1; m <= last; m++ {
		var legs [2]float64
		for _, p := range platforms {
			for i, leg := range [...]guardrails.Leg{guardrails.Primary, guardrails.Backup} {
				c, unknown := w.table.Counts(r.name, p, leg, m)
				if unknown == 0 {
					legs[i] += c.Requests
				}
			}
		}
		if total := legs[0] + legs[1]; total > 0 {
			sum, minutes = sum+legs[0]/total, minutes+1
		}
	}
	if minutes < carriedKnown {
		return 0, false
	}
	return guardrails.Percent(100 * sum / float64(minutes)), true
}
