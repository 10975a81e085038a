package plans

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tlsroll/tlsroll/guardrails"
)

// fields collects the parts of a block on one line.
type fields []string

func (f *fields) add(key, value string) { *f = append(*f, key+": "+value) }

func (f *fields) addPercent(key string, p Percent, rest string) {
	if p != 0 {
		f.add(key, percentText(p)+rest)
	}
}

func (f *fields) String() string { return "{" + strings.Join(*f, ", ") + "}" }

func changeText(c Change) string {
	var f fields
	for _, v := range TLSVersions() {
		if c.On.Has(v) || c.Off.Has(v) {
			f.add(versionKey(v), onOff(c.On.Has(v)).String())
		}
	}
	return f.String()
}

func labelsText(labels map[string]string) string {
	var f fields
	for _, name := range []string{"platform", "cdn"} {
		if labels[name] != "" {
			f.add(name, strconv.Quote(labels[name]))
		}
	}
	return f.String()
}

func legsText(legs map[string]guardrails.Leg) string {
	var f fields
	for _, leg := range []guardrails.Leg{guardrails.Primary, guardrails.Backup} {
		var values []string
		for v, l := range legs {
			if l == leg {
				values = append(values, v)
			}
		}
		slices.Sort(values)
		if len(values) > 0 {
			f.add(leg.String(), textsText(values))
		}
	}
	return f.String()
}

func ruleText(r guardrails.Rule) string {
	var f fields
	f.add("name", strconv.Quote(r.Name))
	f.add("source", strconv.Quote(r.Source))
	f.add("signal", r.Signal.String())
	if r.PerPlatform {
		f.add("per", "platform")
	}
	f.addPercent("above", r.Above, "")
	f.addPercent("rise", r.Rise, "")
	f.addPercent("drop", r.Drop, "")
	if r.Moves != 0 {
		f.add("moves", pointsText(r.Moves))
	}
	if len(r.Classes) > 0 {
		var classes []string
		for _, c := range r.Classes {
			classes = append(classes, c.String())
		}
		f.add("classes", "["+strings.Join(classes, ", ")+"]")
	}
	f.addPercent("falls_below", r.FallsBelow, " of expected")
	f.add("for", durationText(r.For))
	f.add("within", durationText(r.Within))
	if r.MinRequests != 0 {
		f.add("min_requests", strconv.Itoa(r.MinRequests))
	}
	f.add("mode", r.Mode.String())
	return f.String()
}

func stepText(s Step) string {
	var f fields
	switch v := s.(type) {
	case Shift:
		return "shift: " + shiftText(v)
	case TLS:
		return "tls: " + v.word()
	case Bake:
		return "bake: " + durationText(v.For)
	case Observe:
		return "observe: " + observeText(v)
	case Approve:
		f.add("by", strconv.Quote(v.By))
		f.add("ttl", durationText(v.TTL))
		f.add("on_timeout", v.OnTimeout.String())
		return "approve: " + f.String()
	case Call:
		f.add("url", strconv.Quote(v.URL))
		f.add("expect", strconv.Itoa(v.Expect))
		return "call: " + f.String()
	case Together:
		var inner []string
		for _, t := range v.Steps {
			inner = append(inner, "{"+stepText(t)+"}")
		}
		return "together: [" + strings.Join(inner, ", ") + "]"
	case Verify:
		return "verify: tls"
	}
	panic(fmt.Sprintf("plans: no text for step %#v", s))
}

func shiftText(s Shift) string {
	var f fields
	f.add("primary", percentText(s.Primary))
	if s.Bake != 0 {
		f.add("bake", durationText(s.Bake))
	}
	return f.String()
}

func observeText(o Observe) string {
	var f fields
	if o.Until != "" {
		f.add("until", strconv.Quote(o.Until))
	} else {
		f.add("for", durationText(o.For))
	}
	return f.String()
}

func (t TLS) word() string {
	if t.Restore {
		return "restore"
	}
	return "change"
}

func textsText(values []string) string {
	quotes := make([]string, 0, len(values))
	for _, v := range values {
		quotes = append(quotes, strconv.Quote(v))
	}
	return "[" + strings.Join(quotes, ", ") + "]"
}

// onOff prints a switch.
type onOff bool

func (o onOff) String() string {
	if o {
		return "on"
	}
	return "off"
}
