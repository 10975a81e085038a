package plans

import (
	"slices"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// maxRise bounds relative changes: a threshold of more than ten times is a slip of the pen.
const maxRise Percent = 1000

// slack is how much longer than for the window is by default: two minutes may be missing, late or healthy.
const slack = 2 * time.Minute

// maxWindow is the longest window of a rule: sources are asked for at most 180 minutes at once.
const maxWindow = 180 * time.Minute

func rule(b block) guardrails.Rule {
	r := guardrails.Rule{
		Name:        readOr(b, "name", "", text(nameOf)),
		Source:      readOr(b, "source", "", text(nameOf)),
		Signal:      signalOf(b.word("signal")),
		PerPlatform: b.word("per") == "platform",
		Above:       readOr(b, "above", 0, scalar(below(100, percentOf))),
		Rise:        readOr(b, "rise", 0, scalar(below(maxRise, percentOf))),
		Drop:        readOr(b, "drop", 0, scalar(below(100, percentOf))),
		Moves:       readOr(b, "moves", 0, scalar(movesOf)),
		FallsBelow:  readOr(b, "falls_below", 0, scalar(below(100, ofExpectedOf))),
		For:         readOr(b, "for", 0, scalar(minutesOf)),
		MinRequests: readOr(b, "min_requests", 0, scalar(countOf)),
		Mode:        guardrails.Act,
	}
	if b.word("mode") == "shadow" {
		r.Mode = guardrails.Shadow
	}
	r.Within = readOr(b, "within", min(r.For+slack, max(maxWindow, r.For)), scalar(minutesOf))
	for _, c := range readList(b, "classes", text(wordOf(b.spec("classes").words))) {
		class := guardrails.Class(slices.Index(b.spec("classes").words, c) + 1)
		if slices.Contains(r.Classes, class) {
			b.d.errorAt(b.at("classes"), c+" stands twice", "")
		}
		r.Classes = append(r.Classes, class)
	}
	slices.Sort(r.Classes)
	return r
}

// movesOf reads a difference of shares, more than 0 and less than 100 points.
func movesOf(s string) (Points, *flaw) {
	p, f := pointsOf(s)
	if f == nil && (p <= 0 || p >= 100) {
		return 0, &flaw{message: quoted(s) + " is out of range", hint: "it lies between 0pp and 100pp"}
	}
	return p, f
}
