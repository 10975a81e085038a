package guardrails

import (
	"math"
	"time"
)

// The figures of share verification; reference semantics, section 8.
const (
	tolMin        = 2.0 // percentage points
	tolMax        = 8.0
	tolWanted     = 5.0 // shorter means are used only with a tolerance as small as this
	tolEnds       = 5.0 // at 0 and 100 % for the first quarter of an hour
	tolSigmas     = 3.0
	endsSettle    = 15 * time.Minute
	verifiedTicks = 3
	movedPart     = 0.8
	movedSigmas   = 2.0 // the demand for the moved part is dropped where it would be finer than this
	movedShort    = 0.5 // and this part is asked for instead
	longestMean   = 15  // minutes
	// thinShare is the requests in 15 minutes from which a coin's noise stays within the widest tolerance: 3·√(¼ ÷ n) ≤ 8 pp.
	thinShare = 352
)

// ShareQuestion asks whether the traffic is where it was sent.
type ShareQuestion struct {
	Source string
	Now    time.Time
	Asked  Percent       // 0..100
	Before Percent       // the share before the change, 0..100
	Since  time.Time     // when the change was read back
	TTL    time.Duration // of the record, ≥ 0
}

// ShareAnswer is what the traffic says.
type ShareAnswer struct {
	Known     bool    // there are enough settled minutes after the change
	Through   Minute  // last minute used
	Minutes   int     // length of the mean: 5, 10 or 15
	Carried   Percent // the primary's share of requests, all platforms together
	Tolerance Points
	Verified  bool // within tolerance three minutes in a row, on every platform, and most of the way done
	WrongWay  bool // moved the other way, or far beyond what was asked
	Platforms []PlatformShare
}

// PlatformShare is the share of one platform; the first of an answer is the total, with Platform "".
type PlatformShare struct {
	Platform  string
	Carried   Percent
	Tolerance Points
	Within    bool // the share is where it was sent, as far as one mean can tell
	Thin      bool // too few requests to tell: it has no say
}

// VerifyShare compares the carried share with the asked one. It needs a source that reports both legs, and uses minutes that both
// have. The tolerance is three standard deviations of the mean, at least 2 points and at most 8; the mean gets longer, to 15 minutes,
// until that is 5 points, and only a mean of 15 minutes is used with more. A platform without a baseline and with fewer than 352
// requests in 15 minutes has no say.
func VerifyShare(t *Table, b *Baseline, q ShareQuestion) ShareAnswer {
	through := t.common(q.Source, t.Through(q.Source, q.Now))
	a := q.answer(t, b, through)
	a.Verified = a.Known && a.allWithin()
	for back := 1; back < verifiedTicks && a.Verified; back++ {
		earlier := q.answer(t, b, through-Minute(back))
		a.Verified = earlier.Known && earlier.allWithin()
	}
	return a
}

// common is the newest minute up to m that no series of the source may yet add to.
func (t *Table) common(name string, m Minute) Minute {
	late := Minute(0)
	if s := t.source(name); s != nil {
		for i := range s.series {
			in := input{one: &s.series[i]}
			late = max(late, in.late(m))
		}
	}
	return m - late
}

func (a *ShareAnswer) allWithin() bool {
	for i := range a.Platforms {
		if p := &a.Platforms[i]; !p.Within && !p.Thin {
			return false
		}
	}
	return len(a.Platforms) > 0
}

// answer is for the mean that ends with one minute.
func (q *ShareQuestion) answer(t *Table, b *Baseline, through Minute) ShareAnswer {
	a := ShareAnswer{Through: through}
	total, minutes := q.mean(t, b, "", through)
	if minutes == 0 {
		return a
	}
	a.Known, a.Minutes, a.Carried, a.Tolerance = true, minutes, total.Carried, total.Tolerance
	a.WrongWay = q.wrongWay(&total)
	a.Platforms = append(a.Platforms, total)
	for _, p := range t.Platforms(q.Source) {
		if p == "" {
			continue
		}
		one, _ := q.mean(t, b, p, through)
		one.Thin = !b.knows(q.Source, p) && t.requestsIn(q.Source, p, through) < thinShare
		a.Platforms = append(a.Platforms, one)
	}
	return a
}

// mean takes the shortest mean of 5, 10 or 15 minutes after the change whose tolerance is small enough, or the longest there is. A
// mean that could still get longer is never within a wide tolerance. minutes is 0 when there is none.
func (q *ShareQuestion) mean(t *Table, b *Baseline, platform string, through Minute) (best PlatformShare, minutes int) {
	best.Platform = platform
	neff := b.neff(q.Source, platform)
	for n := 5; n <= longestMean && through-Minute(n)+1 >= q.first(); n += 5 {
		carried, ok := t.shareOver(b, q.Source, platform, through-Minute(n)+1, through)
		if !ok {
			break
		}
		tol := q.tolerance(neff, n, through)
		best.Carried, best.Tolerance, minutes = carried, tol, n
		best.Within = (tol <= tolWanted || n == longestMean) && q.within(carried, tol)
		if tol <= tolWanted {
			break
		}
	}
	return best, minutes
}

// first is the first whole minute after the change and the time that resolvers may keep the old answer.
func (q *ShareQuestion) first() Minute { return MinuteOf(q.Since.Add(q.TTL + time.Minute - 1)) }

// shareOver is the mean of the minutes' shares. At most one minute in five may be unknown.
func (t *Table) shareOver(b *Baseline, name, platform string, from, through Minute) (Percent, bool) {
	sum, known, all := 0.0, 0, int(through-from)+1
	for m := from; m <= through; m++ {
		if share, ok := t.shareAt(b, name, platform, m); ok {
			sum += share
			known++
		}
	}
	if known == 0 || (all-known)*5 > all {
		return 0, false
	}
	return Percent(100 * sum / float64(known)), true
}

// requestsIn is how many requests a platform had on both legs in the longest mean that ends with a minute.
func (t *Table) requestsIn(name, platform string, through Minute) float64 {
	sum := 0.0
	for m := through - longestMean + 1; m <= through; m++ {
		for _, leg := range [...]Leg{Primary, Backup} {
			c, _ := t.Counts(name, platform, leg, m)
			sum += c.Requests
		}
	}
	return sum
}

func (q *ShareQuestion) tolerance(neff float64, minutes int, through Minute) Points {
	w := float64(q.Asked) / 100
	if w <= 0 || w >= 1 {
		if through.End().Sub(q.Since) <= endsSettle {
			return tolEnds
		}
		return tolMin
	}
	sigma := 100 * math.Sqrt(w*(1-w)/neff/float64(minutes))
	return Points(min(max(tolMin, tolSigmas*sigma), tolMax))
}

// within reports that a share is close to what was asked, and that most of the way is done. On a short way "most of it" would be a
// demand on the noise: there the share must be nearer to what was asked than to where it came from, and where even that is less than
// the tolerance, the two cannot be told apart and the tolerance alone decides.
func (q *ShareQuestion) within(carried Percent, tol Points) bool {
	if math.Abs(float64(carried-q.Asked)) > float64(tol) {
		return false
	}
	way, moved := q.way(carried)
	switch {
	case way*(1-movedPart) >= float64(tol)*movedSigmas/tolSigmas:
		return moved >= movedPart*way
	case way >= float64(tol):
		return moved >= movedShort*way
	}
	return true
}

// wrongWay reports a share that moved away from what was asked, or past it, by more than twice the tolerance.
func (q *ShareQuestion) wrongWay(s *PlatformShare) bool {
	way, moved := q.way(s.Carried)
	return moved < -2*float64(s.Tolerance) || moved-way > 2*float64(s.Tolerance)
}

// way is how far the share had to go, and how far it went in that direction.
func (q *ShareQuestion) way(carried Percent) (way, moved float64) {
	way, moved = float64(q.Asked-q.Before), float64(carried-q.Before)
	if way < 0 {
		return -way, -moved
	}
	return way, moved
}
