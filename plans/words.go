package plans

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// unknownKey is the flaw of a key that a block does not have.
func unknownKey(name string, keys []key) flaw {
	switch {
	case secretName(name):
		return flaw{message: "there is no key " + quoted(name) + ", and a plan holds no secrets", hint: "say where the keys are with credentials", secret: true}
	case name == "verify":
		return flaw{message: "verify stands in rollback only", hint: "a tls step proves its change by itself"}
	case name == "<<":
		return flaw{message: "merge keys are not allowed", hint: "write the keys out"}
	}
	f := flaw{message: "there is no key " + quoted(name) + " here"}
	if near, ok := meant(name, names(keys)); ok {
		f.hint = "did you mean " + near + "?"
	} else if len(keys) > 0 {
		f.hint = "the keys here are " + list(names(keys))
	}
	return f
}

// meant returns the word that a person most likely meant: at most two slips away, and not more than a third of it.
func meant(word string, words []string) (string, bool) {
	const longest = 40
	if len(word) > longest {
		return "", false
	}
	plain := strings.NewReplacer("-", "_", ".", "").Replace(strings.ToLower(word))
	best, slips := "", 3
	for _, w := range words {
		if n := distance(plain, w); n < slips && n <= max(len(w)/3, 1) {
			best, slips = w, n
		}
	}
	return best, best != ""
}

// distance counts the inserted, deleted, replaced and swapped characters between two words.
func distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	var before []int
	last := make([]int, len(rb)+1)
	for j := range last {
		last[j] = j
	}
	for i := range ra {
		row := make([]int, len(rb)+1)
		row[0] = i + 1
		for j := range rb {
			cost := 1
			if ra[i] == rb[j] {
				cost = 0
			}
			row[j+1] = slices.Min([]int{row[j] + 1, last[j+1] + 1, last[j] + cost})
			if i > 0 && j > 0 && ra[i] == rb[j-1] && ra[i-1] == rb[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(rb)]
}

// subject is how a message names a block.
func subject(name string) string {
	if name == "" {
		return "the plan"
	}
	return name
}

// shape says what a node is, in words.
func shape(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a block of keys"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return "empty"
	}
	return "a single value"
}

// list joins words as people do: "a, b and c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
