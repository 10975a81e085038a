package plans

import (
	"strconv"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// Source is where minutes come from.
type Source struct {
	Name        string
	Type        string                    // "prometheus", "alicloud", "jsonhttp" or "csvfile"
	URL         string                    // prometheus and jsonhttp; of jsonhttp with {from} and {to} in it
	Path        string                    // csvfile only
	Credentials string                    // prometheus and jsonhttp, as in CDN; "" asks without
	Settle      time.Duration             // a minute is judged this long after it ended; default 1m, 8m for alicloud
	Labels      map[string]string         // prometheus only: "platform" and "cdn" -> label name; a key that is not there is not told apart
	Legs        map[string]guardrails.Leg // value of the label, field or column cdn -> leg; nil without a cdn label or field
	Queries     map[string]string         // prometheus only: field name -> query
	JSON        *JSON                     // jsonhttp only
}

// JSON is how a source of type jsonhttp asks and reads. Its paths are [ValidPath]s.
type JSON struct {
	Method       string            // "GET" or "POST"
	Body         string            // with {from} and {to} in it; "" sends none
	TimeFormat   TimeFormat        // of {from}, the start of the first minute, and {to}, the end of the last; default UnixSeconds
	Rows         string            // path from the answer to the list of rows; "" is the answer itself
	Partial      string            // path from the answer to a flag that says it is incomplete, or ""
	Fields       map[string]string // "minute", "platform", "cdn" and field names -> path in a row
	MinuteFormat TimeFormat        // of the field minute; default UnixSeconds
}

// TimeFormat is how an instant is written.
type TimeFormat int

// The formats.
const (
	UnixSeconds TimeFormat = iota + 1 // 1624557600
	UnixMillis                        // 1624557600000
	RFC3339                           // 2021-06-24T18:00:00Z
)

// String returns "unix", "unix_ms" or "rfc3339".
func (f TimeFormat) String() string {
	switch f {
	case UnixSeconds:
		return "unix"
	case UnixMillis:
		return "unix_ms"
	case RFC3339:
		return "rfc3339"
	}
	return "format " + strconv.Itoa(int(f))
}

// timeFormatOf returns the format of that name, and UnixSeconds for any other.
func timeFormatOf(name string) TimeFormat {
	for _, f := range []TimeFormat{UnixMillis, RFC3339} {
		if f.String() == name {
			return f
		}
	}
	return UnixSeconds
}

func source(b block) Source {
	s := Source{
		Name:        b.name,
		Type:        b.word("type"),
		URL:         readOr(b, "url", "", text(urlOf)),
		Path:        readOr(b, "path", "", text(lineOf)),
		Credentials: readOr(b, "credentials", "", text(credentialsOf)),
	}
	settle := time.Minute
	if s.Type == typeAlicloud {
		settle = 8 * time.Minute
	}
	s.Settle = readOr(b, "settle", settle, scalar(durationOf))
	labels, legs := b.sub("labels"), b.sub("legs")
	queries := readTexts(b.sub("queries"), queryOf)
	j := readJSON(b)
	switch s.Type {
	case typePrometheus:
		s.Labels, s.Queries = readLabels(labels), queries
	case typeJSONHTTP:
		s.JSON = j
	}
	if s.tells("cdn") {
		s.Legs = readLegs(legs)
	}
	return s
}

// tells reports whether the source tells its rows apart by "platform" or "cdn". What a CSV file tells shows when it is read.
func (s Source) tells(what string) bool {
	switch s.Type {
	case typePrometheus:
		return s.Labels[what] != ""
	case typeJSONHTTP:
		return s.JSON.Fields[what] != ""
	case typeCSVFile:
		return true
	}
	return false
}

func readJSON(b block) *JSON {
	return &JSON{
		Method:       b.verb(),
		Body:         readOr(b, "body", "", text(bodyOf)),
		TimeFormat:   timeFormatOf(readOr(b, "time_format", "", scalar(wordOf(b.spec("time_format").words)))),
		Rows:         readOr(b, "rows", "", text(pathOf)),
		Partial:      readOr(b, "partial", "", text(pathOf)),
		Fields:       readTexts(b.sub("fields"), pathOf),
		MinuteFormat: timeFormatOf(readOr(b, "minute_format", "", scalar(wordOf(b.spec("minute_format").words)))),
	}
}

// The methods of a request.
const (
	methodGet  = "GET"
	methodPost = "POST"
)

// verb reads the method of a request; a body makes it a POST.
func (b block) verb() string {
	fallback := methodGet
	if b.has("body") {
		fallback = methodPost
	}
	return readOr(b, "method", fallback, scalar(wordOf(b.spec("method").words)))
}

// readTexts reads a block whose keys all have one kind of text; nil when none is there.
func readTexts(b block, parse func(string) (string, *flaw)) map[string]string {
	var all map[string]string
	for _, k := range b.keys {
		if v, ok := read(b, k.name, text(parse)); ok {
			if all == nil {
				all = map[string]string{}
			}
			all[k.name] = v
		}
	}
	return all
}

// bodyOf reads the body of a request, which may have several lines.
func bodyOf(s string) (string, *flaw) {
	if looksRandom(s) {
		return "", &flaw{message: "this body holds what looks like a secret", hint: "remove it: keys are named by credentials", secret: true}
	}
	v, f := queryOf(s)
	if f != nil {
		f.message = strings.Replace(f.message, "query", "body", 1)
	}
	return v, f
}

// ValidPath reports whether s leads to a value inside JSON: names of keys and positions in lists, from 0, with dots in between, as
// "data.items" or "0". A backslash stands before every character of a name that is no letter, digit, blank, dash, underscore or colon.
// It is the part of gjson's path syntax that finds at most one value: no queries, wildcards and modifiers.
func ValidPath(s string) bool {
	_, f := pathOf(s)
	return f == nil
}

// pathOf reads a path into JSON; see [ValidPath].
func pathOf(s string) (string, *flaw) {
	if _, f := lineOf(s); f != nil {
		return "", f
	}
	empty := true // the part that has begun
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '.' && empty:
			return "", &flaw{message: quoted(s) + " has an empty part", hint: `write names of keys with dots in between, as data.items; a dot in a name is \.`}
		case c == '.':
			empty = true
			continue
		case c == '\\':
			i++
			if i == len(s) || !special(s[i]) {
				return "", &flaw{message: quoted(s) + " has a backslash where none is needed", hint: `write a backslash itself as \\`}
			}
		case special(c):
			return "", &flaw{message: quoted(s) + " has a " + string(rune(c)) + ", which stands for nothing in a path", hint: `in the name of a key write a backslash before it`}
		}
		empty = false
	}
	if empty {
		return "", &flaw{message: quoted(s) + " ends with a dot", hint: `remove it; a dot in a name is \.`}
	}
	return s, nil
}

// special reports whether a byte stands in a path only behind a backslash.
func special(c byte) bool { return c > ' ' && c <= '~' && run(string(rune(c)), "_-:") == 0 }

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
				b.d.errorAt(b.at(leg.String()), quoted(v)+" stands twice", "one value means one leg")
			}
			legs[v] = leg
		}
	}
	return legs
}
