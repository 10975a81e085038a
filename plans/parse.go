package plans

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of a plan file. A plan of a hundred guardrails takes 30 KiB and five levels.
const (
	maxSource = 1 << 20
	maxDepth  = 16
)

// Parse decodes one plan file and returns it with every default filled in, and every problem in the order of the file. The plan is
// nil when a problem is an Error. file is only used to name the problems.
func Parse(file string, source []byte) (*Plan, Problems) {
	d := &decoder{file: file, places: map[string]place{}, failed: map[string]bool{}, spoiled: map[*yaml.Node]bool{}}
	p := d.decode(source)
	if p != nil && !d.problems.HasErrors() && len(Encode(p)) > maxSource {
		d.report(nil, Error, flaw{message: "the plan is larger than 1 MiB in its canonical form"})
	}
	sortProblems(d.problems)
	ps := capProblems(d.problems)
	if ps.HasErrors() {
		return nil, ps
	}
	return p, ps
}

func (d *decoder) decode(source []byte) *Plan {
	if len(source) > maxSource {
		d.report(nil, Error, flaw{message: "the file is larger than 1 MiB", hint: "a plan is one change on one domain"})
		return nil
	}
	root, ok := d.document(string(source))
	if !ok {
		return nil
	}
	d.walk(root, 0)
	p := d.plan(root)
	d.judge(p)
	if !d.problems.HasErrors() {
		d.lint(p)
	}
	return p
}

// document returns the root of the only document in the source.
func (d *decoder) document(source string) (*yaml.Node, bool) {
	var doc, next yaml.Node
	reader := yaml.NewDecoder(strings.NewReader(source))
	if err := reader.Decode(&doc); err != nil && err.Error() != "EOF" {
		d.syntax(err, source)
		return nil, false
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind == yaml.ScalarNode && doc.Content[0].ShortTag() == "!!null" {
		d.report(nil, Error, flaw{message: "the file holds no plan", hint: "start from one of the examples: plans/examples"})
		return nil, false
	}
	switch err := reader.Decode(&next); {
	case err == nil:
		d.report(&next, Error, flaw{message: "the file holds more than one document", hint: "one file is one plan: remove what follows the line ---"})
	case err.Error() != "EOF":
		d.syntax(err, source)
	}
	return doc.Content[0], true
}

// walk refuses what no plan needs and what would make one text mean two things: aliases, tags, deep nesting. It also finds secrets
// first, so that nothing later repeats them.
func (d *decoder) walk(n *yaml.Node, depth int) {
	if n.Anchor != "" {
		d.report(n, Error, flaw{message: "anchors are not allowed", hint: "a reviewer must be able to read each value where it stands"})
	}
	if n.Style&yaml.TaggedStyle != 0 {
		d.spoil(n, flaw{message: "tags are not allowed", hint: "remove the word that starts with !"})
	}
	switch n.Kind {
	case yaml.AliasNode:
		d.spoil(n, flaw{message: "aliases are not allowed", hint: "write the value out"})
	case yaml.ScalarNode:
		if holdsKeyID(n.Value) {
			d.spoil(n, flaw{message: "this looks like an access key", hint: "a plan holds no secrets: say where the keys are with credentials, as env", secret: true})
		}
	case yaml.MappingNode, yaml.SequenceNode:
		if depth == maxDepth && len(n.Content) > 0 {
			d.spoil(n, flaw{message: "this is nested deeper than " + strconv.Itoa(maxDepth) + " levels"})
			return
		}
		for _, c := range n.Content {
			d.walk(c, depth+1)
		}
	case yaml.DocumentNode:
	}
}

func (d *decoder) spoil(n *yaml.Node, f flaw) {
	d.spoiled[n] = true
	d.report(n, Error, f)
}

// syntax turns an error of the YAML library into a problem. The library knows a line at best, and for some errors only the line on
// which the enclosing block began; where the usual mistake is visible in the text, the problem points at that instead.
func (d *decoder) syntax(err error, source string) {
	lines := strings.Split(source, "\n")
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	at := yaml.Node{Line: 1}
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		number, text, found := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); found && err == nil {
			message, at.Line = text, min(max(n, 1), len(lines))
		}
	}
	f := flaw{message: "this is not YAML: " + message}
	switch line, column := tabbed(lines); {
	case line > 0:
		f = flaw{message: "a tab indents this line", hint: "YAML takes blanks only: replace each tab by two blanks"}
		at.Line, at.Column = line, column
	case strings.Contains(message, "mapping values are not allowed"):
		f.hint = `a value with ": " in it must be quoted, and a key stands alone before its ":"`
	case strings.Contains(message, "did not find expected alphabetic or numeric character"):
		f.hint = `a value that starts with * or & must be quoted`
	case strings.Contains(message, "found character that cannot start any token"):
		f.hint = "a value that starts with @, ` or % must be quoted"
	case strings.Contains(message, "unknown anchor"):
		f = flaw{message: "aliases are not allowed", hint: `write the value out, or quote it if it only starts with "*"`}
	default:
		f.hint = "look at the indentation, the brackets and the quotes from this line on"
	}
	f.secret = secretName(lines[at.Line-1])
	d.report(&at, Error, f)
}

// tabbed returns the first line whose indentation holds a tab, and the tab's column; 0 when there is none.
func tabbed(lines []string) (line, column int) {
	for i, l := range lines {
		body := strings.TrimLeft(l, " ")
		if strings.HasPrefix(body, "\t") && strings.TrimSpace(body) != "" && !strings.HasPrefix(strings.TrimSpace(body), "#") {
			return i + 1, len(l) - len(body) + 1
		}
	}
	return 0, 0
}
