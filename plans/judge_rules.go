package plans

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tlsroll/tlsroll/guardrails"
)

func (d *decoder) judgeExpect(p *Plan) {
	if d.broken("sources") {
		return
	}
	for _, e := range p.Expect {
		var lacks []string
		found := false
		for _, s := range p.Sources {
			lacks = s.lacks(e.Signal)
			if found = len(lacks) == 0; found {
				break
			}
		}
		if !found && len(p.Sources) > 0 {
			d.errorAt("expect."+e.Signal.String(), "no source measures "+e.Signal.String(), "add "+list(fieldsOf(e.Signal))+" to the queries or fields of a source")
		}
	}
}

// lacks returns the queries or fields that the source would need for a signal and does not have.
func (s Source) lacks(signal guardrails.Signal) []string {
	has := s.Queries
	switch s.Type {
	case typeAlicloud:
		if signal == guardrails.Requests || signal == guardrails.StatusShare {
			return nil
		}
	case typeCSVFile: // its columns show when it is read, and preflight reads it
		return nil
	case typeJSONHTTP:
		has = s.JSON.Fields
	}
	var lacks []string
	for _, f := range fieldsOf(signal) {
		if has[f] == "" {
			lacks = append(lacks, f)
		}
	}
	return lacks
}

// fieldsOf returns the queries that a signal is made of.
func fieldsOf(signal guardrails.Signal) []string {
	switch signal {
	case guardrails.ErrorRate:
		return []string{"requests", "errors"}
	case guardrails.TotalTime:
		return []string{"requests", "total_ms"}
	case guardrails.TLSTime:
		return []string{"tls", "tls_ms"}
	case guardrails.ResponseSize:
		return []string{"requests", "bytes"}
	case guardrails.StatusShare:
		return []string{"status_2xx", "status_4xx", "status_5xx"}
	case guardrails.Requests:
		return []string{"requests"}
	case guardrails.TLS13Share:
		return []string{"tls", "tls13"}
	}
	panic("plans: no fields for " + signal.String())
}

func (d *decoder) judgeRules(p *Plan) {
	if d.given("guardrails") && len(p.Guardrails) == 0 && !d.broken("guardrails") {
		d.errorAt("guardrails", "there is no guardrail", "without one nothing would ever roll back")
	}
	firsts := map[string]string{}
	for i, r := range p.Guardrails {
		path := "guardrails[" + strconv.Itoa(i) + "]"
		if first, twice := firsts[r.Name]; twice && d.given(path+".name") {
			d.errorAt(path+".name", "the name "+quoted(r.Name)+" stands twice", "the first is on line "+strconv.Itoa(d.nearest(first).Line))
		} else {
			firsts[r.Name] = path + ".name"
		}
		d.judgeWindow(path, r)
		if r.Signal != 0 && d.given(path+".signal") {
			d.judgeLimits(path, r.Signal)
			d.judgeRuleSource(path, p, r)
		}
	}
}

func (d *decoder) judgeWindow(path string, r guardrails.Rule) {
	if !d.given(path + ".for") {
		return
	}
	switch {
	case d.failed[path+".within"]:
	case r.For > maxWindow:
		d.errorAt(path+".for", "a window is at most 180 minutes", "")
	case r.Within < r.For:
		d.errorAt(path+".within", durationText(r.For)+" of breaching minutes do not fit into a window of "+durationText(r.Within), "within is at least as long as for")
	case r.Within > maxWindow:
		d.errorAt(path+".within", "a window is at most 180 minutes", "")
	}
}

// judgeLimits reports limits that the signal does not have, and those that it lacks.
func (d *decoder) judgeLimits(path string, signal guardrails.Signal) {
	takes, either := limitsOf(signal)
	written := 0
	for _, name := range []string{"above", "rise", "drop", "moves", "classes", "falls_below"} {
		_, has := d.places[path+"."+name]
		if has && !d.failed[path+"."+name] && !slices.Contains(takes, name) {
			d.errorAt(path+"."+name, signal.String()+" has no "+name, "it takes "+list(takes))
		}
	}
	for _, name := range takes {
		if _, has := d.places[path+"."+name]; has {
			written++
		} else if !either {
			d.errorAt(path+"."+name, "a rule on "+signal.String()+" needs "+name, "")
		}
	}
	if either && written == 0 {
		d.errorAt(path+"."+takes[0], "a rule on "+signal.String()+" needs "+strings.Join(takes, " or "), "")
	}
}

// limitsOf returns the limits of a signal; either says that one of them is enough.
func limitsOf(signal guardrails.Signal) (takes []string, either bool) {
	switch signal {
	case guardrails.ErrorRate:
		return []string{"above"}, false
	case guardrails.TotalTime, guardrails.TLSTime, guardrails.ResponseSize:
		return []string{"rise", "drop"}, true
	case guardrails.StatusShare:
		return []string{"moves", "classes"}, false
	case guardrails.Requests:
		return []string{"falls_below"}, false
	case guardrails.TLS13Share:
		return []string{"moves"}, false
	}
	panic("plans: no limits for " + signal.String())
}

func (d *decoder) judgeRuleSource(path string, p *Plan, r guardrails.Rule) {
	if !d.given(path+".source") || !d.given("sources") {
		return
	}
	s, ok := p.source(r.Source)
	if !ok {
		d.noSource(path, p, r.Source)
		return
	}
	if d.broken("sources." + s.Name) {
		return
	}
	if lacks := s.lacks(r.Signal); len(lacks) > 0 {
		hint := "add it to sources." + s.Name + ".queries"
		switch s.Type {
		case typeJSONHTTP:
			hint = "add it to sources." + s.Name + ".fields"
		case typeAlicloud:
			hint = "a source of type alicloud has requests and status_share"
		}
		d.errorAt(path+".source", "the source "+s.Name+" cannot tell "+r.Signal.String()+": it has no "+list(lacks), hint)
	}
	if r.PerPlatform && !s.tells("platform") {
		d.errorAt(path+".per", "the source "+s.Name+" does not tell platforms apart", "remove per")
	}
}

func (d *decoder) noSource(path string, p *Plan, name string) {
	known := make([]string, 0, len(p.Sources))
	for _, s := range p.Sources {
		known = append(known, s.Name)
	}
	hint := "the sources are " + list(known)
	if near, ok := meant(name, known); ok {
		hint = "did you mean " + near + "?"
	}
	if len(known) == 0 {
		hint = "add it to sources"
	}
	d.errorAt(path+".source", "there is no source "+quoted(name), hint)
}

// source returns the source of that name.
func (p *Plan) source(name string) (Source, bool) {
	for _, s := range p.Sources {
		if s.Name == name {
			return s, true
		}
	}
	return Source{}, false
}
