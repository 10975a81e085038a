package guardrails

import "math"

// window is the tally of one evaluation's minutes.
type window struct {
	obs    []observation
	within int    // length of the rule's window, in minutes
	late   Minute // newest minutes that may yet come; they are not in obs
}

// tally counts one side's minutes. Each condition has its own reach back from the newest minute.
type tally struct {
	breach, ok, unknown int // all minutes
	why                 Unknown
	fire                int // breaching in the rule's window
	suspect             int // breaching of the last six
	clearBreach         int // of the last ten
	clearUnknown        int
	lastBreach          int // of the last two
	fast                int // extreme of the last five
	latest              int // index of the newest known minute; -1 for none
}

func (w *window) tally(sd *side) tally {
	t := tally{latest: -1}
	for i := range w.obs {
		o, age := &w.obs[i], len(w.obs)-1-i
		switch sd.mark(o) {
		case unknown:
			t.unknown++
			t.why = o.unknown
			if age < clearMinutes {
				t.clearUnknown++
			}
		case fine:
			t.ok++
			t.latest = i
		case breach:
			t.breach++
			t.latest = i
			t.count(w, sd, o, age)
		}
	}
	return t
}

// count adds a breaching minute to the conditions that reach as far back as its age.
func (t *tally) count(w *window, sd *side, o *observation, age int) {
	if age < w.within {
		t.fire++
	}
	if age < suspectWindow {
		t.suspect++
	}
	if age < clearMinutes {
		t.clearBreach++
	}
	if age < clearLast {
		t.lastBreach++
	}
	if age < fastMinutes && sd.isExtreme(o) {
		t.fast++
	}
}

// state applies the conditions, worst first.
func (w *window) state(j *judge, sd *side, t *tally) State {
	switch {
	case t.fast >= fastMinutes && w.fastEvidence(j, sd):
		return FireFast
	case w.fires(j, t):
		if j.rule.Signal == Requests && j.situation.Share < silenceHold {
			return Suspect
		}
		return Fire
	case w.blind():
		return Blind
	case t.suspect >= suspectBreach || j.rule.Signal == ErrorRate && w.thinSuspect(j, sd):
		return Suspect
	case w.isClear(t):
		return Clear
	}
	return Pending
}

// fires wants enough breaching minutes within the rule's window, and enough requests behind them.
func (w *window) fires(j *judge, t *tally) bool {
	if t.fire < minutesOf(j.rule.For) {
		return false
	}
	n, bad := w.pool(w.within)
	return n >= fireRequests && (j.rule.Signal != ErrorRate || bad >= fireErrors)
}

// pool sums the known minutes among the newest.
func (w *window) pool(minutes int) (n, bad float64) {
	for i := max(0, len(w.obs)-minutes); i < len(w.obs); i++ {
		if o := &w.obs[i]; o.unknown == 0 {
			n, bad = n+o.n, bad+o.bad
		}
	}
	return n, bad
}

func (w *window) fastEvidence(j *judge, sd *side) bool {
	n, bad := w.pool(fastMinutes)
	return n >= fastRequests && (j.rule.Signal != ErrorRate || wilsonLow(bad, n, fastZ) > sd.extreme/100)
}

// blind is three minutes without data at the end. Thin or fresh minutes are data.
func (w *window) blind() bool {
	if len(w.obs) < blindMinutes {
		return false
	}
	for i := len(w.obs) - blindMinutes; i < len(w.obs); i++ {
		if !w.obs[i].unknown.noData() {
			return false
		}
	}
	return true
}

// thinSuspect pools ten minutes of thin traffic: the error rate is above the limit with 95 % confidence, and in every third of them.
func (w *window) thinSuspect(j *judge, sd *side) bool {
	if len(w.obs) < clearMinutes {
		return false
	}
	last := w.obs[len(w.obs)-clearMinutes:]
	n, bad, minutes := raw(last)
	limit := sd.limit / 100
	if n < j.minimum || n >= thinRequests*minutes || wilsonLow(bad, n, suspectZ) <= limit {
		return false
	}
	for third := range 3 {
		n, bad, _ := raw(last[third*clearMinutes/3 : (third+1)*clearMinutes/3])
		if n == 0 || !beyond(bad/n, limit) {
			return false
		}
	}
	return true
}

// raw sums minutes that hold data, however thin each of them is.
func raw(obs []observation) (n, bad, minutes float64) {
	for i := range obs {
		if o := &obs[i]; o.unknown == 0 || o.unknown == LowN {
			n, bad, minutes = n+o.n, bad+o.bad, minutes+1
		}
	}
	return n, bad, minutes
}

// isClear wants ten whole minutes since the last change. A minute that may yet come is unknown.
func (w *window) isClear(t *tally) bool {
	return len(w.obs) >= clearMinutes && t.clearUnknown+int(w.late) <= clearUnknown && t.clearBreach <= clearBreach && t.lastBreach == 0
}

// wilsonLow is the lower end of the Wilson score interval of bad ÷ n.
func wilsonLow(bad, n, z float64) float64 {
	p, zz := bad/n, z*z
	return (p + zz/(2*n) - z*math.Sqrt(max(0, p*(1-p))/n+zz/(4*n*n))) / (1 + zz/n)
}
