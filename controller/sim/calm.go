package sim

import (
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// conditions are what calls meet on their way, and who watches them. The methods are called with the world locked; what they answer may
// depend on the instant and on how often an API was called, never on the order of two APIs' calls of one instant.
type conditions interface {
	witness

	// call says what happens to a call of an API.
	call(api string, kind world.Call, now time.Time) reply
	// rows is what becomes of the rows that a source has for the minutes up to to; an error is the source's.
	rows(source string, now time.Time, to guardrails.Minute, rows []guardrails.Row) ([]guardrails.Row, error)
	// mayWrite says whether a process may write: an error, or how long it has to wait.
	mayWrite(life int, now time.Time) (time.Duration, error)
}

// witness watches what passes.
type witness interface {
	// began is told of each write that leaves a process, landed of its arrival, refused of an answer that says that nothing was done, and saw
	// of each state that a task has read.
	began(t *task, w sent, now time.Time)
	landed(t *task, w sent, now time.Time)
	refused(w sent)
	saw(t *task, s plans.State, lever int)
}

// reply is what happens to one call. The zero reply is an answer at once.
type reply struct {
	before time.Duration // until it is carried out
	after  time.Duration // from then until the answer
	lost   bool          // it is not carried out
	err    error         // the answer, when it is none
	behind time.Duration // a read shows the state as it was so long ago
}

// calm is a world in which every call is answered at once and nobody watches.
type calm struct{}

func (calm) call(string, world.Call, time.Time) reply { return reply{} }
func (calm) rows(_ string, _ time.Time, _ guardrails.Minute, rows []guardrails.Row) ([]guardrails.Row, error) {
	return rows, nil
}
func (calm) mayWrite(int, time.Time) (time.Duration, error) { return 0, nil }
func (calm) began(*task, sent, time.Time)                   {}
func (calm) landed(*task, sent, time.Time)                  {}
func (calm) refused(sent)                                   {}
func (calm) saw(*task, plans.State, int)                    {}
