package sim

import (
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// deed is what somebody or something does to a run.
type deed int

const (
	doPause deed = iota + 1
	doResume
	doPromote
	doAbort
	doDrift
	doCrash    // everything but journal and world is lost
	doTakeover // the process freezes, and another one takes over
	doSuspend  // the process freezes and comes back
	doAhead    // the run's clock goes ahead
	doStill    // it stands still
)

// String returns a word for an event list.
func (d deed) String() string {
	return [...]string{
		doPause: "pause", doResume: "resume", doPromote: "promote", doAbort: "abort", doDrift: "drift", doCrash: "crash", doTakeover: "takeover",
		doSuspend: "suspend", doAhead: "clock ahead", doStill: "clock stands still",
	}[d]
}

// moment is what an act waits for.
type moment int

const (
	atTime   moment = iota + 1
	atRecord        // the n-th record is durable
	atBegun         // the n-th write has left the process
	atLanded        // the n-th write has arrived: between the two writes of a shift
	atTLS           // the n-th write of the TLS settings has left
	atBack          // the way back has begun
	moments
)

// trigger is when an act happens: after the n-th moment of its kind, or at a time.
type trigger struct {
	on    moment
	n     int
	after time.Duration
}

// act is one deed of the script.
type act struct {
	do      deed
	when    trigger
	long    time.Duration // until the next process, or until the frozen one is back; how far a clock jumps
	late    time.Duration // doTakeover: when a write on its way lands, after the takeover
	durable bool          // doCrash: between a record and its commands
	leg     guardrails.Leg
	weight  int
}

// trigger draws a moment; the nasty ones are as common as the others together.
func (d dice) trigger() trigger {
	t := trigger{on: moment(1 + d.IntN(int(moments)-1)), after: pick(d, 0, d.between(0, 3*time.Second), d.between(0, 2*time.Minute))}
	switch t.on {
	case atTime:
		t.after = d.between(0, 170*time.Minute)
	case atRecord:
		t.n, t.after = 1+d.IntN(420), 0
	case atBegun, atLanded:
		t.n = 1 + d.IntN(14)
	case atTLS:
		t.n = 1 + d.IntN(2)
	case atBack, moments:
		t.after = d.between(0, 40*time.Minute)
	}
	return t
}

// orders is what people do: a pause is mostly followed by a resume.
func (d dice) orders() []act {
	first := act{do: pick(d, doPause, doPause, doPromote, doPromote, doAbort, doResume), when: d.trigger()}
	if first.do == doPromote { // in a bake whose rules cannot be CLEAR yet
		first.when = trigger{on: atLanded, n: 1 + d.IntN(14), after: d.between(4*time.Minute, 9*time.Minute)}
	}
	list := []act{first}
	if first.do == doPause && d.percent(75) {
		then := first
		then.do = doResume
		then.when.after += d.between(10*time.Second, 50*time.Minute)
		list = append(list, then)
	}
	if d.percent(25) {
		list = append(list, act{do: pick(d, doPause, doPromote, doAbort, doResume), when: d.trigger()})
	}
	return list
}

func (d dice) crash() act {
	a := act{do: pick(d, doCrash, doCrash, doTakeover, doSuspend), when: d.trigger()}
	switch a.do {
	case doCrash:
		a.long, a.durable = d.between(time.Second, pick(d, 10*time.Second, 5*time.Minute)), d.percent(50)
	case doTakeover:
		a.long, a.late = d.between(leaseTTL, 3*leaseTTL), d.between(-leaseTTL, callTimeout())
	case doSuspend:
		a.long = d.between(5*time.Second, pick(d, time.Minute, 20*time.Minute))
	case doPause, doResume, doPromote, doAbort, doDrift, doAhead, doStill:
	}
	return a
}

func (d dice) jump() act {
	a := act{do: pick(d, doAhead, doStill), when: d.trigger(), long: d.between(time.Second, pick(d, time.Minute, 10*time.Minute, time.Hour))}
	if a.do == doStill {
		a.long = min(a.long, 10*time.Minute)
	}
	return a
}
