package plans

import (
	"slices"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// maxRise bounds relative changes: a threshold of more than ten times is a slip of the pen.
const maxRise Percent = 1000

// slack is how much longer than for the window is by default: two minutes may be missing, late or healthy.
const slack = 2 * time.Minute

// maxWindow is the longest window of a rule: sources are asked for at most 180 minutes at once.
const maxWindow = 180 * time.Minute

func source(b block) Source {
	s := Source{
		Name:        b.name,
		Type:        b.word("type"),
		URL:         readOr(b, "url", "", text(urlOf)),
		Credentials: readOr(b, "credentials", "", text(credentialsOf)),
	}
	settle := time.Minute
	if s.Type == "alicloud" {
		settle = 8 * time.Minute
	}
	s.Settle = readOr(b, "settle", settle, scalar(durationOf))
	labels, legs, queries := b.sub("labels"), b.sub("legs"), b.sub("queries")
	if s.Type != "prometheus" {
		return s
	}
	s.Labels = readLabels(labels)
	if _, told := s.Labels["cdn"]; told {
		s.Legs = readLegs(legs)
	}
	for _, k := range queries.keys {
		if q, ok := read(queries, k.name, text(queryOf)); ok {
			if s.Queries == nil {
				s.Queries = map[string]string{}
			}
			s.Queries[k.name] = q
		}
	}
	return s
}

func readLabels(b block) map[string]string {
	if !b.written() {
		return map[string]string{"platform": "platform", "cdn": "cdn"}
	}
	labels := map[string]string{}
	for _, k := range b.keys {
		if v, ok := read(b, k.name, text(labelOf)); ok {
			labels[k.name] = v
		}
	}
	return labels
}

// labelOf reads the name of a Prometheus label.
func labelOf(s string) (string, *flaw) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	if s == "" || len(s) > 128 || strings.Trim(s, letters+"0123456789") != "" || !strings.ContainsAny(s[:1], letters) {
		return "", &flaw{message: quoted(s) + " is not the name of a label", hint: "use letters, digits and underscores"}
	}
	return s, nil
}

func readLegs(b block) map[string]guardrails.Leg {
	if !b.written() {
		return map[string]guardrails.Leg{"primary": guardrails.Primary, "backup": guardrails.Backup}
	}
	legs := map[string]guardrails.Leg{}
	for _, leg := range []guardrails.Leg{guardrails.Primary, guardrails.Backup} {
		for _, v := range readList(b, leg.String(), text(lineOf)) {
			if legs[v] != 0 {
				b.d.errorAt(b.at(leg.String()), quoted(v)+" stands twice", "one value of the cdn label means one leg")
			}
			legs[v] = leg
		}
	}
	return legs
}

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
