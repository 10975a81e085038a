package guardrails

import "slices"

// How much a share wobbles by itself; reference semantics, share verification.
const (
	ShareHistoryMinutes = 60 // minutes before the change from which N_eff is measured
	shareBlock          = 20 // minutes: each has its own variance, so that a drift or one odd minute of the hour does not matter
	shareBlockKnown     = 10 // of them must be known
	neffMin             = 20.0
	neffMax             = 1000.0
	neffUnknown         = 60.0 // when the share was 0 or 100 % or the hour is too thin
)

// ShareBaseline is how much a platform's share wobbled before the change.
type ShareBaseline struct {
	Source, Platform string  // Platform "" is the total
	Share            Percent // the mean; 0 when the hour is too thin
	NEff             float64 // effective number of independent resolvers, 20..1000
}

// freezeShare measures N_eff, the median of w(1−w) ÷ variance of the minute share over the blocks of the hour before the change.
func freezeShare(t *Table, b *Baseline, name, platform string, before Minute) ShareBaseline {
	out := ShareBaseline{Source: name, Platform: platform, NEff: neffUnknown}
	var hour, block sample
	var blocks []float64
	for m := before - ShareHistoryMinutes; m < before; m++ {
		if share, ok := t.shareAt(b, name, platform, m); ok {
			hour.add(share)
			block.add(share)
		}
		if (before-m-1)%shareBlock == 0 {
			if block.n >= shareBlockKnown {
				blocks = append(blocks, block.neff())
			}
			block = sample{}
		}
	}
	if hour.n < baselineKnown {
		return out
	}
	out.Share = Percent(100 * hour.mean)
	if hour.mean > 0 && hour.mean < 1 && len(blocks) > 0 {
		slices.Sort(blocks)
		out.NEff = blocks[(len(blocks)-1)/2] // of two in the middle the smaller, which is the wider tolerance
	}
	return out
}

// sample is a running mean and sum of squares (Welford).
type sample struct{ n, mean, squares float64 }

func (s *sample) add(x float64) {
	s.n++
	d := x - s.mean
	s.mean += d / s.n
	s.squares += d * (x - s.mean)
}

// neff of a share that did not move at all is the greatest there is.
func (s *sample) neff() float64 {
	variance, spread := s.squares/(s.n-1), s.mean*(1-s.mean)
	if variance*neffMax <= spread {
		return neffMax
	}
	return max(spread/variance, neffMin)
}

// neff is what was measured for a platform, within its bounds.
func (b *Baseline) neff(name, platform string) float64 {
	for i := range b.Shares {
		if s := &b.Shares[i]; s.Source == name && s.Platform == platform {
			return min(max(s.NEff, neffMin), neffMax)
		}
	}
	return neffUnknown
}

// shareAt is the primary's share of a minute's requests, 0..1; platform "" is all platforms together.
func (t *Table) shareAt(b *Baseline, name, platform string, m Minute) (share float64, known bool) {
	s := t.source(name)
	if s == nil {
		return 0, false
	}
	var legs [Backup + 1]float64
	for i := range s.series {
		e := &s.series[i]
		if platform != "" && e.platform != platform {
			continue
		}
		c, unknown := e.at(m)
		switch {
		case unknown == 0:
			legs[e.leg] += c.Requests
		case unknown != Missing || e.lost(m) || b.knows(name, e.platform) && t.silent(name, e.platform, m):
			return 0, false
		}
	}
	if total := legs[Primary] + legs[Backup]; total > 0 {
		return legs[Primary] / total, true
	}
	return 0, false
}

// silent reports whether neither leg of a platform has a minute.
func (t *Table) silent(name, platform string, m Minute) bool {
	_, up := t.Counts(name, platform, Primary, m)
	_, ub := t.Counts(name, platform, Backup, m)
	return up == Missing && ub == Missing
}
