package plans

import (
	"slices"
	"strings"
)

// takes says what a type of source takes besides type and settle.
type takes struct {
	needs, may []string
	hint       string // about a key that it does not take
}

func takesOf(kind string) takes {
	switch kind {
	case typePrometheus:
		return takes{[]string{"url", "queries"}, []string{"credentials", "labels", "legs"}, "it asks one query a field"}
	case typeAlicloud:
		return takes{hint: "it asks the primary's own monitoring, with the primary's endpoint and credentials"}
	case typeJSONHTTP:
		return takes{
			[]string{"url", "fields"},
			[]string{"credentials", "method", "body", "time_format", "rows", "partial", "minute_format", "legs"},
			"it makes one request, and fields says where each number is",
		}
	case typeCSVFile:
		return takes{[]string{"path"}, []string{"legs"}, "the file's first line names its columns"}
	}
	panic("plans: no keys for a source of type " + kind)
}

func (d *decoder) judgeSources(p *Plan) {
	if d.given("sources") && len(p.Sources) == 0 && !d.broken("sources") {
		d.errorAt("sources", "there is no source", "a plan without data cannot be judged")
	}
	for _, s := range p.Sources {
		if s.Type != "" {
			d.judgeKeys("sources."+s.Name, s)
			d.judgeLegs("sources."+s.Name, s)
		}
		if s.Type == typeJSONHTTP {
			d.judgeJSON("sources."+s.Name, s)
		}
	}
}

// judgeKeys reports keys of other types of source, and those that this one lacks.
func (d *decoder) judgeKeys(path string, s Source) {
	t := takesOf(s.Type)
	for _, name := range t.needs {
		if _, ok := d.places[path+"."+name]; !ok {
			d.errorAt(path+"."+name, "the source "+s.Name+" has no "+name, s.Type+" needs "+strings.Join(t.needs, " and "))
		}
	}
	for _, k := range sourceKeys() {
		if k.name == "type" || k.name == "settle" || slices.Contains(t.needs, k.name) || slices.Contains(t.may, k.name) {
			continue
		}
		if d.given(path + "." + k.name) {
			d.errorAt(path+"."+k.name, "a source of type "+s.Type+" takes no "+k.name, t.hint)
		}
	}
}

// judgeLegs reports legs where no value could mean one.
func (d *decoder) judgeLegs(path string, s Source) {
	if s.tells("cdn") || !d.given(path+".legs") {
		return
	}
	switch {
	case s.Type == typePrometheus && !d.broken(path+".labels"):
		d.errorAt(path+".legs", "legs are values of the cdn label, and labels has no cdn", "add cdn to labels or remove legs")
	case s.Type == typeJSONHTTP && !d.broken(path+".fields"):
		d.errorAt(path+".legs", "legs are values of the field cdn, and fields has no cdn", "add cdn to fields or remove legs")
	}
}

func (d *decoder) judgeJSON(path string, s Source) {
	if d.given(path+".fields") && !d.broken(path+".fields") && !slices.ContainsFunc(queryKeys(), func(k key) bool { return s.JSON.Fields[k.name] != "" }) {
		d.errorAt(path+".fields", "the fields have no number", "add requests, or whatever the guardrails need")
	}
	if s.JSON.Method == methodGet && d.given(path+".body") {
		d.errorAt(path+".body", "a GET has no body", "write method: POST, or remove one of the two")
	}
	if rest := strings.NewReplacer("{from}", "", "{to}", "").Replace(s.URL); d.given(path+".url") && strings.ContainsAny(rest, "{}") {
		d.errorAt(path+".url", "the url has braces that are neither {from} nor {to}", "write other braces as %7B and %7D")
	}
}
