package plans

import (
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// read takes the value of a key through a node parser. ok is false when the key is absent or its value is wrong; the latter is reported.
func read[T any](b block, name string, parse func(*yaml.Node) (T, *flaw)) (value T, ok bool) {
	b.spec(name)
	n := b.values[name]
	if n == nil {
		return value, false
	}
	v, f := readNode(b.d, name, n, parse)
	if f {
		b.d.failed[b.at(name)] = true
		return value, false
	}
	return v, true
}

// readOr is read with the default of an absent key. A wrong value gives the default too: the plan is refused anyway.
func readOr[T any](b block, name string, fallback T, parse func(*yaml.Node) (T, *flaw)) T {
	if v, ok := read(b, name, parse); ok {
		return v
	}
	return fallback
}

func readNode[T any](d *decoder, name string, n *yaml.Node, parse func(*yaml.Node) (T, *flaw)) (value T, failed bool) {
	if d.spoiled[n] {
		return value, true
	}
	v, f := parse(n)
	if f == nil {
		return v, false
	}
	g := *f
	g.message = name + ": " + g.message
	d.report(n, Error, g)
	return value, true
}

// readList reads a list of values, or one value for a list of one.
func readList[T any](b block, name string, parse func(*yaml.Node) (T, *flaw)) []T {
	n := b.values[name]
	if n == nil {
		return nil
	}
	nodes := []*yaml.Node{n}
	if n.Kind != yaml.ScalarNode {
		nodes = b.items(name)
	}
	var all []T
	for _, n := range nodes {
		v, failed := readNode(b.d, name, n, parse)
		if failed {
			b.d.failed[b.at(name)] = true
			continue
		}
		all = append(all, v)
	}
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		b.d.errorAt(b.at(name), name+" is an empty list", "leave the key out")
	}
	return all
}

// scalar makes a node parser of a text parser for values that no YAML reader takes for something else in a harmful way.
func scalar[T any](parse func(string) (T, *flaw)) func(*yaml.Node) (T, *flaw) {
	return func(n *yaml.Node) (zero T, f *flaw) {
		if n.Kind != yaml.ScalarNode {
			return zero, &flaw{message: "this is " + shape(n) + "; it must be a single value"}
		}
		return parse(n.Value)
	}
}

// text makes a node parser for words: a value that YAML takes for a number, a switch or a date must be quoted, so that "1.30" stays 1.30.
func text[T any](parse func(string) (T, *flaw)) func(*yaml.Node) (T, *flaw) {
	return func(n *yaml.Node) (zero T, f *flaw) {
		if n.Kind == yaml.ScalarNode && plain(n) {
			if taken := takenFor(n); taken != "" {
				return zero, &flaw{message: n.Value + " is read as " + taken + " by YAML", hint: `quote it: "` + n.Value + `"`}
			}
		}
		return scalar(parse)(n)
	}
}

// plain reports whether a scalar has neither quotes nor a block mark.
func plain(n *yaml.Node) bool {
	return n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// takenFor says what a YAML reader, old or new, makes of a plain scalar; "" when it is a text to all of them.
func takenFor(n *yaml.Node) string {
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a switch"
	case "!!timestamp":
		return "a date"
	case "!!null":
		return "nothing"
	}
	switch strings.ToLower(n.Value) {
	case "on", "off", "yes", "no":
		return "a switch"
	}
	if h, m, ok := strings.Cut(n.Value, ":"); ok && digits(h) && digits(m) {
		return "a number in base 60"
	}
	return ""
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// quotedClock reads a clock time that must be quoted, because old YAML readers take 19:00 for 1140.
func quotedClock(n *yaml.Node) (string, *flaw) {
	c, f := scalar(clockOf)(n)
	if f == nil && plain(n) {
		return "", &flaw{message: "a bare " + n.Value + " is a number in base 60 to some YAML readers", hint: `quote it: "` + n.Value + `"`}
	}
	return c, f
}

// wordOf makes a parser for one of some words.
func wordOf(words []string) func(string) (string, *flaw) {
	return func(s string) (string, *flaw) {
		if slices.Contains(words, s) {
			return s, nil
		}
		f := &flaw{message: quoted(s) + " is not known here", hint: "it is one of " + list(words)}
		if len(words) == 1 {
			f.hint = "write " + words[0]
		}
		if near, ok := meant(s, words); ok {
			f.hint = "did you mean " + near + "?"
		}
		return "", f
	}
}

// word reads the value of a key that has words; an absent one gives its default.
func (b block) word(name string) string {
	spec := b.spec(name)
	return readOr(b, name, spec.fallback, scalar(wordOf(spec.words)))
}

// lineOf accepts one line of text: not empty, no blanks around it, no control characters.
func lineOf(s string) (string, *flaw) {
	const longest = 1024
	switch {
	case s == "":
		return "", &flaw{message: "this is empty", hint: "give it a value or leave the key out"}
	case len(s) > longest:
		return "", &flaw{message: "this is longer than 1024 bytes"}
	case strings.ContainsFunc(s, unicode.IsControl) || printable(s) != s:
		return "", &flaw{message: "this has control characters or more than one line", hint: "write one line of text"}
	case strings.TrimSpace(s) != s:
		return "", &flaw{message: "this has blanks around it", hint: "remove them"}
	}
	return s, nil
}

// queryOf accepts a query, which may have several lines.
func queryOf(s string) (string, *flaw) {
	const longest = 16 << 10
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return "", &flaw{message: "this query is empty"}
	case len(s) > longest:
		return "", &flaw{message: "this query is longer than 16 KiB"}
	case strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }) || printable(strings.ReplaceAll(s, "\n", "")) != strings.ReplaceAll(s, "\n", ""):
		return "", &flaw{message: "this query has control characters"}
	}
	return s, nil
}

// within narrows a percentage parser to a range; hint says which.
func within(parse func(string) (Percent, *flaw), inside func(Percent) bool, hint string) func(string) (Percent, *flaw) {
	return func(s string) (Percent, *flaw) {
		p, f := parse(s)
		if f != nil {
			return 0, f
		}
		if !inside(p) {
			return 0, &flaw{message: quoted(s) + " is out of range", hint: hint}
		}
		return p, nil
	}
}

// below narrows a percentage parser to more than 0 and less than hi.
func below(hi Percent, parse func(string) (Percent, *flaw)) func(string) (Percent, *flaw) {
	return within(parse, func(p Percent) bool { return 0 < p && p < hi }, "it lies between 0% and "+percentText(hi))
}

// upTo narrows a percentage parser to lo..hi with both ends.
func upTo(lo, hi Percent, parse func(string) (Percent, *flaw)) func(string) (Percent, *flaw) {
	return within(parse, func(p Percent) bool { return lo <= p && p <= hi }, "it lies from "+percentText(lo)+" to "+percentText(hi))
}

// shareOf reads a share, 0 % to 100 %.
func shareOf(s string) (Percent, *flaw) { return upTo(0, 100, percentOf)(s) }
