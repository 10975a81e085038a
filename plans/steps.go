package plans

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// steps reads a list of steps. An entry that could not be read is a nil Step: it keeps its place, and the plan is refused anyway.
func steps(b block, name string) []Step {
	entries := b.blocks(name)
	all := make([]Step, 0, len(entries))
	for _, e := range entries {
		all = append(all, step(e))
	}
	return all
}

// step reads one entry, which has exactly one key.
func step(b block) Step {
	var kinds []string
	for _, k := range b.keys {
		if b.has(k.name) {
			kinds = append(kinds, k.name)
		}
	}
	n := b.d.places[b.path].value
	switch {
	case len(kinds) == 1:
		return stepOf(b, kinds[0])
	case len(kinds) > 1:
		b.d.failed[b.path] = true
		b.d.report(n, Error, flaw{message: "one entry has " + list(kinds), hint: `one entry is one step: start each with its own "- "`})
	case len(b.values) == 0 && n.Kind == yaml.MappingNode && len(n.Content) == 0:
		b.d.failed[b.path] = true
		b.d.report(n, Error, flaw{message: "this entry is empty", hint: "it is one of " + list(names(b.keys))})
	}
	return nil
}

func stepOf(b block, kind string) Step {
	switch kind {
	case "shift":
		s := b.sub("shift")
		shift := Shift{Primary: readOr(s, "primary", 0, scalar(shareOf))}
		if _, ok := find(s.keys, "bake"); ok {
			shift.Bake = readOr(s, "bake", 0, scalar(durationOf))
		}
		return shift
	case "tls":
		return TLS{Restore: b.word("tls") == "restore"}
	case "bake":
		return bake(b)
	case "observe":
		return observe(b.sub("observe"))
	case "approve":
		s := b.sub("approve")
		return Approve{
			By:        readOr(s, "by", "", text(lineOf)),
			TTL:       readOr(s, "ttl", 0, positive(s, "ttl")),
			OnTimeout: reaction(s.word("on_timeout")),
		}
	case "call":
		s := b.sub("call")
		return Call{URL: readOr(s, "url", "", text(urlOf)), Expect: readOr(s, "expect", 200, scalar(statusOf))}
	case "together":
		return Together{Steps: steps(b, "together")}
	case "verify":
		b.word("verify")
		return Verify{}
	}
	panic("plans: no step for the key " + kind)
}

// bake reads both forms, bake: 10m and bake: {for: 10m}.
func bake(b block) Step {
	n := b.values["bake"]
	if n != nil && n.Kind == yaml.ScalarNode {
		return Bake{For: readOr(b, "bake", 0, positive(b, "bake"))}
	}
	s := b.sub("bake")
	return Bake{For: readOr(s, "for", 0, positive(s, "for"))}
}

func observe(b block) Step {
	o := Observe{For: readOr(b, "for", 0, positive(b, "for")), Until: readOr(b, "until", "", quotedClock)}
	switch {
	case b.has("for") && b.has("until"):
		b.d.errorAt(b.at("until"), "observe has for and until", "keep one of them")
	case !b.has("for") && !b.has("until") && !b.d.failed[b.path]:
		b.d.errorAt(b.path, "observe has no end", `give it for: 2h or until: "19:00"`)
	}
	return o
}

// statusOf reads an HTTP status.
func statusOf(s string) (int, *flaw) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 100 || n > 599 || strconv.Itoa(n) != s {
		return 0, &flaw{message: quoted(s) + " is not an HTTP status", hint: "write it as 200, from 100 to 599"}
	}
	return n, nil
}
