package plans

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// place is where a key stands in the file.
type place struct{ key, value *yaml.Node }

// decoder walks the nodes of one file and collects its problems. It never stops at one.
type decoder struct {
	file     string
	problems Problems
	places   map[string]place    // by path, as "steps[2].shift.primary"
	failed   map[string]bool     // paths whose value could not be read
	spoiled  map[*yaml.Node]bool // nodes already reported as a whole: never read, never repeated
}

// report adds a problem at a node. A node without a position stands for the start of the file.
func (d *decoder) report(n *yaml.Node, s Severity, f flaw) {
	p := Problem{File: d.file, Line: 1, Col: 1, Severity: s, Message: f.message, Hint: f.hint, Secret: f.secret}
	if n != nil && n.Line > 0 {
		p.Line, p.Col = n.Line, n.Column
	}
	d.problems = append(d.problems, p)
}

// errorAt reports an error at the value of path, or of the nearest block above it that is written in the file.
func (d *decoder) errorAt(path, message, hint string) {
	d.failed[path] = true
	d.report(d.nearest(path), Error, flaw{message: message, hint: hint})
}

// warnAt reports a warning in the same place.
func (d *decoder) warnAt(path, message, hint string) {
	d.report(d.nearest(path), Warning, flaw{message: message, hint: hint})
}

func (d *decoder) nearest(path string) *yaml.Node {
	if p, ok := d.places[path]; ok {
		if p.key != nil && p.value.Kind != yaml.ScalarNode {
			return p.key // the key of a block is where people look, its first entry is not
		}
		return p.value
	}
	for path != "" {
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
		if p, ok := d.places[path]; ok {
			if p.key != nil {
				return p.key
			}
			return p.value
		}
	}
	return nil
}

// given reports whether path is written in the file and could be read.
func (d *decoder) given(path string) bool {
	_, ok := d.places[path]
	return ok && !d.failed[path]
}

// broken reports whether anything at path or below it could not be read.
func (d *decoder) broken(path string) bool {
	for p := range d.failed {
		rest, ok := strings.CutPrefix(p, path)
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// block is one mapping being read: the keys that it may have, and the values that it has.
type block struct {
	d      *decoder
	path   string
	name   string // the last part of path
	keys   []key
	values map[string]*yaml.Node
}

// open reads the keys of a mapping and reports those that are unknown, double or missing. at is the key that names it, if any.
func (d *decoder) open(path, name string, keys []key, at, n *yaml.Node) block {
	b := block{d: d, path: path, name: name, keys: keys, values: map[string]*yaml.Node{}}
	d.places[path] = place{at, n}
	if d.spoiled[n] {
		d.failed[path] = true
		return b
	}
	if n.Kind != yaml.MappingNode {
		d.failed[path] = true
		d.report(n, Error, flaw{message: subject(name) + " is " + shape(n) + "; it must be a block of keys", hint: "its keys are " + list(names(keys))})
		return b
	}
	firsts := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		b.entry(firsts, n.Content[i], n.Content[i+1])
	}
	for _, k := range keys {
		if k.required && firsts[k.name] == 0 {
			d.failed[b.at(k.name)] = true
			d.report(nodeOr(at, n), Error, flaw{message: subject(name) + " has no " + k.name, hint: k.name + ": " + strings.ToLower(k.text[:1]) + strings.TrimSuffix(k.text[1:], ".")})
		}
	}
	return b
}

func nodeOr(at, n *yaml.Node) *yaml.Node {
	if at != nil {
		return at
	}
	return n
}

// entry takes one key and its value. firsts holds the line of the first use of each key.
func (b block) entry(firsts map[string]int, k, v *yaml.Node) {
	d := b.d
	switch {
	case d.spoiled[k]:
	case k.Kind != yaml.ScalarNode:
		d.report(k, Error, flaw{message: "a key must be a word"})
	case firsts[k.Value] != 0:
		d.report(k, Error, flaw{message: "the key " + quoted(k.Value) + " stands twice", hint: "the first is on line " + strconv.Itoa(firsts[k.Value])})
	default:
		firsts[k.Value] = max(k.Line, 1)
		spec, ok := find(b.keys, k.Value)
		if !ok {
			d.failed[b.at(k.Value)] = true
			d.report(k, Error, unknownKey(k.Value, b.keys))
			return
		}
		b.take(spec, k, v)
	}
}

// take keeps the value of a known key; an empty value is told from an absent key.
func (b block) take(spec key, k, v *yaml.Node) {
	path := b.at(spec.name)
	b.d.places[path] = place{k, v}
	if v.Kind == yaml.ScalarNode && v.ShortTag() == "!!null" && !b.d.spoiled[v] {
		b.d.failed[path] = true
		b.d.report(k, Error, flaw{message: subject(spec.name) + " has no value", hint: "give it one or leave the key out"})
		return
	}
	b.values[spec.name] = v
}

// at returns the path of a key in the block.
func (b block) at(name string) string {
	if b.path == "" {
		return name
	}
	return b.path + "." + name
}

// has reports whether the key is there, readable or not.
func (b block) has(name string) bool {
	_, ok := b.d.places[b.at(name)]
	return ok
}

// written reports whether the block itself stands in the file.
func (b block) written() bool { return b.values != nil }

// spec returns the description of a key. A name that the tree of keys does not know is our mistake.
func (b block) spec(name string) key {
	k, ok := find(b.keys, name)
	if !ok {
		panic("plans: no key " + b.at(name) + " in the tree of keys")
	}
	return k
}

// sub opens the block under a key; an absent one is an empty block.
func (b block) sub(name string) block {
	spec := b.spec(name)
	n := b.values[name]
	if n == nil {
		return block{d: b.d, path: b.at(name), name: name, keys: spec.keys}
	}
	return b.d.open(b.at(name), name, spec.keys, b.d.places[b.at(name)].key, n)
}

// items returns the nodes of a list; a key that is not a list is reported.
func (b block) items(name string) []*yaml.Node {
	n := b.values[name]
	if n == nil || b.d.spoiled[n] {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		b.d.failed[b.at(name)] = true
		b.d.report(n, Error, flaw{message: subject(name) + " is " + shape(n) + "; it must be a list", hint: `each entry starts with "- "`})
		return nil
	}
	return n.Content
}

// blocks opens each block of a list.
func (b block) blocks(name string) []block {
	spec := b.spec(name)
	var all []block
	for i, n := range b.items(name) {
		all = append(all, b.d.open(b.at(name)+"["+strconv.Itoa(i)+"]", "an entry of "+name, spec.keys, nil, n))
	}
	return all
}

// named opens each block of a block of blocks, in the order of the file.
func (b block) named(name string) []block {
	spec := b.spec(name)
	n := b.values[name]
	if n == nil || b.d.spoiled[n] {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		b.d.failed[b.at(name)] = true
		b.d.report(n, Error, flaw{message: subject(name) + " is " + shape(n) + "; it must be a block of named blocks"})
		return nil
	}
	outer := block{d: b.d, path: b.at(name), name: name, values: map[string]*yaml.Node{}}
	var all []block
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		_, f := nameOf(k.Value)
		switch {
		case b.d.spoiled[k]:
		case k.Kind != yaml.ScalarNode || f != nil:
			b.d.failed[b.at(name)] = true
			b.d.report(k, Error, flaw{message: "this is not a name", hint: "use up to 63 lower case letters, digits and inner dashes"})
		case outer.has(k.Value):
			b.d.report(k, Error, flaw{message: "the name " + quoted(k.Value) + " stands twice", hint: "the first is on line " + strconv.Itoa(b.d.places[outer.at(k.Value)].key.Line)})
		default:
			all = append(all, b.d.open(outer.at(k.Value), k.Value, spec.keys, k, v))
		}
	}
	return all
}
