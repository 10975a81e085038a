package guardrails

// How much traffic there was before the last change; what the requests rule compares with until the share was verified.
const (
	referenceMinutes = 10
	referenceKnown   = 5
)

// silence fills an observation for the requests rule: the leg's odds against the odds asked for, in percent. Traffic that stayed on
// the other leg is unmoved, not silent; once the share was verified it cannot be unmoved.
func (j *judge) silence(o *observation, m Minute) {
	var ownSum, otherSum Counts
	own, up := j.own.at(m, &ownSum)
	other, ub := j.other.at(m, &otherSum)
	w, p, b := j.asked(), own.requests(), other.requests()
	switch {
	case up != 0 && up != Missing:
		o.unknown = up
		return
	case w >= 1:
		j.alone(o, p, up)
		return
	case ub != 0:
		o.unknown = ub
		return
	}
	o.n = p + b
	switch {
	case w*o.n < j.minimum || o.n == 0:
		o.unknown = LowN
		return
	case b == 0:
		o.value[0], o.quiet = 100, true // all there is comes from this leg
		return
	}
	o.value[0] = 100 * (p * (1 - w)) / (b * w)
	if j.situation.Settled {
		return
	}
	if j.reference == 0 {
		o.unknown = NoBaseline
		return
	}
	missing, extra := w*j.reference-p, b-(1-w)*j.reference
	o.quiet = extra >= missing/2
}

// asked is the share asked of the leg, 0..1.
func (j *judge) asked() float64 {
	if j.leg == Backup {
		return 1 - float64(j.situation.Share)/100
	}
	return float64(j.situation.Share) / 100
}

// alone judges a leg that is asked to carry everything. Nothing tells a fall from a quiet hour then, so only its absence counts: no
// minutes are BLIND, too few requests are unknown.
func (j *judge) alone(o *observation, p float64, missing Unknown) {
	o.n, o.unknown = p, missing
	switch {
	case missing != 0:
	case p < j.minimum:
		o.unknown = LowN
	default:
		o.value[0], o.quiet = 100, true
	}
}

// referenceRequests is the mean of both legs' requests in the minutes before the one of the last change.
func (j *judge) referenceRequests() float64 {
	var ownSum, otherSum Counts
	sum, known := 0.0, 0.0
	last := j.situation.Since - 1
	for m := last - referenceMinutes; m < last; m++ {
		p, up := j.own.at(m, &ownSum)
		b, ub := j.other.at(m, &otherSum)
		if up == 0 && (ub == 0 || ub == Missing) || up == Missing && ub == 0 {
			sum += p.requests() + b.requests()
			known++
		}
	}
	if known < referenceKnown {
		return 0
	}
	return sum / known
}
