package guardrails

// Requests (or handshakes) that a minute needs before it is judged; reference semantics, section 8.
const (
	minErrorRequests  = 20
	minMeanRequests   = 50
	minShareRequests  = 200
	minCanaryRequests = 20 // requests rule: expected on the leg
)

// judge is what is fixed in one evaluation.
type judge struct {
	rule      *Rule
	leg       Leg
	situation *Situation
	own       input
	other     input      // the other leg; requests rule only
	needs     Field      // what a minute must have
	minimum   float64    // requests or handshakes that a minute needs
	compares  bool       // with the baseline
	known     bool       // the baseline knows what is expected
	expected  [3]float64 // in the signal's unit; status_share has one a class
	reference float64    // requests rule: requests of both legs a minute before the last change; 0 when unknown
	shape     []float32  // of a mean: the factor by the time of the night; see Shape
	first     Minute     // of shape
}

// observation is one minute as the rule sees it.
type observation struct {
	unknown Unknown
	value   [3]float64 // in the signal's unit, means divided by shape; status_share has one a class
	shape   float64    // how the minute usually differs from those before the change, 1 when nothing is known
	n       float64    // requests or handshakes of this minute
	bad     float64    // failed requests of this minute
	quiet   bool       // requests: whatever the value says, it is not silence
}

// Needs are the fields that a signal is made of.
func (s Signal) Needs() Field {
	switch s {
	case ErrorRate:
		return HasRequests | HasErrors
	case TotalTime:
		return HasRequests | HasTotalMS
	case TLSTime:
		return HasTLS | HasTLSMS
	case ResponseSize:
		return HasRequests | HasBytes
	case StatusShare:
		return HasStatus
	case Requests:
		return HasRequests
	case TLS13Share:
		return HasTLS | HasTLS13
	}
	return 0
}

// minimum is the number of requests or handshakes a minute needs, at least one.
func (r *Rule) minimum() float64 {
	if r.MinRequests > 0 {
		return float64(r.MinRequests)
	}
	switch r.Signal {
	case ErrorRate:
		return minErrorRequests
	case TotalTime, TLSTime, ResponseSize, TLS13Share:
		return minMeanRequests
	case Requests:
		return minCanaryRequests
	case StatusShare:
	}
	return minShareRequests
}

// burnsIn reports whether the signal waits for the mix of users to settle after a change.
func (s Signal) burnsIn() bool {
	return s == TotalTime || s == TLSTime || s == ResponseSize || s == Requests
}

// expect takes over what the baseline says. A mean of zero is no mean that anything could be a fifth above.
func (j *judge) expect(b *SeriesBaseline) {
	switch j.rule.Signal {
	case ErrorRate:
		return
	case Requests:
		j.expected[0] = 100
		return
	case TotalTime, TLSTime, ResponseSize, StatusShare, TLS13Share:
	}
	j.compares = true
	if b == nil || b.Has&j.needs != j.needs {
		return
	}
	j.known, j.first = true, b.Shape.First
	switch j.rule.Signal {
	case TotalTime:
		j.expected[0], j.known, j.shape = b.TotalMS, b.TotalMS > 0, b.Shape.TotalMS
	case TLSTime:
		j.expected[0], j.known, j.shape = b.TLSMS, b.TLSMS > 0, b.Shape.TLSMS
	case ResponseSize:
		j.expected[0], j.known, j.shape = b.Bytes, b.Bytes > 0, b.Shape.Bytes
	case StatusShare:
		for i, s := range b.Share {
			j.expected[i] = 100 * s
		}
	case TLS13Share:
		j.expected[0] = 100 * b.TLS13
	case ErrorRate, Requests:
	}
}

// observe says of each minute from one on what the rule's signal was.
func (j *judge) observe(obs []observation, from Minute) {
	burnIn := from
	if j.rule.Signal.burnsIn() {
		burnIn = j.situation.burnIn()
	}
	var sum Counts
	for i := range obs {
		m, o := from+Minute(i), &obs[i]
		o.shape = shapeAt(j.shape, j.first, m)
		if j.rule.Signal == Requests {
			j.silence(o, m)
		} else if c, missing := j.own.at(m, &sum); missing != 0 {
			o.unknown = missing
		} else {
			j.read(o, c)
		}
		if m < burnIn && !o.unknown.noData() {
			o.unknown = BurnIn
		}
	}
	if j.rule.Signal != Requests {
		j.mergeThin(obs, from)
	}
}

// read fills an observation from one minute's counts, or from several merged.
func (j *judge) read(o *observation, c *Counts) {
	if !c.has(j.needs) {
		o.unknown = Missing
		return
	}
	o.n, o.bad = j.weight(c), c.Errors
	switch {
	case o.n < j.minimum || o.n == 0:
		o.unknown = LowN
	case j.compares && !j.known:
		o.unknown = NoBaseline
	default:
		o.unknown = 0
		j.value(o, c)
	}
}

// weight is the denominator of the signal.
func (j *judge) weight(c *Counts) float64 {
	switch j.rule.Signal {
	case TLSTime, TLS13Share:
		return c.TLS
	case StatusShare:
		return c.answers()
	case ErrorRate, TotalTime, ResponseSize, Requests:
	}
	return c.Requests
}

// value divides; o.n is not zero here.
func (j *judge) value(o *observation, c *Counts) {
	switch j.rule.Signal {
	case ErrorRate:
		o.value[0] = 100 * c.Errors / o.n
	case TotalTime:
		o.value[0] = c.TotalMS / o.n / o.shape
	case ResponseSize:
		o.value[0] = c.Bytes / o.n / o.shape
	case StatusShare:
		o.value = [3]float64{100 * c.Status2xx / o.n, 100 * c.Status4xx / o.n, 100 * c.Status5xx / o.n}
	case TLSTime:
		o.value[0] = c.TLSMS / o.n / o.shape
	case TLS13Share:
		o.value[0] = 100 * c.TLS13 / o.n
	case Requests:
	}
}

// mergeThin joins minutes with too few requests to the thin ones right before them until there are enough; what the joined minutes
// show then holds for each of them.
func (j *judge) mergeThin(obs []observation, from Minute) {
	start, own, sum := -1, Counts{}, Counts{}
	for i := range obs {
		if obs[i].unknown != LowN {
			start = -1
			continue
		}
		c, _ := j.own.at(from+Minute(i), &own) // known: it has too few requests
		if start < 0 {
			start, sum = i, *c
		} else {
			sum = sum.plus(c)
		}
		joined := observation{shape: obs[i].shape}
		j.read(&joined, &sum)
		if joined.unknown == LowN {
			continue
		}
		for k := start; k <= i; k++ {
			obs[k].unknown, obs[k].value = joined.unknown, joined.value
		}
		start = -1
	}
}
