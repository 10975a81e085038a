package plans

import (
	"encoding/json"
	"strings"

	"github.com/invopop/jsonschema"
)

// Schema returns the JSON Schema of a plan file, draft-07, indented, with a line feed at the end. Editors complete and check by it;
// Parse is stricter. It is built from the tree of keys and not by reflection over structs, because Parse walks that same tree: a key
// cannot be in one and not in the other. It uses no references, so that draft-07 and later readers agree on it.
func Schema() []byte {
	root := blockSchema(planKeys())
	root.Version = "http://json-schema.org/draft-07/schema#"
	root.Title = "tlsroll plan"
	root.Description = "One TLS change on one domain, and the way back."
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic("plans: the schema cannot be printed: " + err.Error())
	}
	return append(out, '\n')
}

func blockSchema(keys []key) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	for _, k := range keys {
		s.Properties.Set(k.name, keySchema(k))
		if k.required {
			s.Required = append(s.Required, k.name)
		}
	}
	return s
}

// keySchema describes one key; its default is part of the description, because defaults such as "as long as for and 2m" are no values.
func keySchema(k key) *jsonschema.Schema {
	s := kindSchema(k)
	s.Description = describe(k)
	return s
}

func describe(k key) string {
	if k.fallback == "" {
		return k.text
	}
	return k.text + " Default: " + k.fallback + "."
}

func kindSchema(k key) *jsonschema.Schema {
	switch k.kind {
	case kindBlock:
		return blockSchema(k.keys)
	case kindBlocks:
		return listOf(blockSchema(k.keys))
	case kindNamed:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: blockSchema(k.keys), PropertyNames: &jsonschema.Schema{Pattern: namePattern}}
	case kindChoices:
		one := uint64(1)
		entry := blockSchema(k.keys)
		entry.MinProperties, entry.MaxProperties = &one, &one
		return listOf(entry)
	case kindWords:
		return listOf(enum(k.words))
	case kindWord:
		return enum(k.words)
	case kindSwitch:
		return &jsonschema.Schema{Enum: []any{"on", "off", "yes", "no", true, false}}
	case kindCount:
		return &jsonschema.Schema{Type: "integer", Minimum: "1"}
	case kindText, kindName, kindDomain, kindUnsigned, kindSigned, kindPoints, kindOfExpected, kindAbove, kindDuration, kindMinutes,
		kindClock, kindInstant, kindURL, kindCredentials, kindPath, kindAddresses, kindTexts, kindBake:
		return textSchema(k)
	}
	panic("plans: no schema for the key " + k.name)
}

// textSchema describes a text, or one of several forms of which one is a text.
func textSchema(k key) *jsonschema.Schema {
	one := pattern(grammarOf(k.kind).pattern)
	if k.kind == kindBake {
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{one, blockSchema(k.keys)}}
	}
	if k.kind == kindTexts || k.kind == kindAddresses {
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{one, listOf(one)}}
	}
	return one
}

func listOf(item *jsonschema.Schema) *jsonschema.Schema {
	one := uint64(1)
	return &jsonschema.Schema{Type: "array", Items: item, MinItems: &one}
}

func enum(words []string) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	for _, w := range words {
		s.Enum = append(s.Enum, w)
	}
	return s
}

func pattern(p string) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Pattern: p} }

// grammar is how a text of one kind is written: a regular expression for editors and a form for people.
type grammar struct{ pattern, form string }

const (
	namePattern     = `^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`
	percentPattern  = `[0-9]+(\.[0-9]+)? ?%`
	durationPattern = `^(?=.)([0-9]+h)?([0-9]+m)?([0-9]+s)?$`
)

// grammarOf returns the grammar of a kind; the zero grammar admits every text and shows no form.
func grammarOf(k kind) grammar {
	return map[kind]grammar{ //nolint:exhaustive // the other kinds have no grammar of their own
		kindName:        {namePattern, "my-name-1"},
		kindDomain:      {`^[a-z0-9_-]+(\.[a-z0-9_-]+)+$`, "cdn.example.com"},
		kindSwitch:      {"", "on or off"},
		kindCount:       {"", "200"},
		kindUnsigned:    {`^` + percentPattern + `$`, "10%"},
		kindSigned:      {`^[+-]?` + percentPattern + `$`, "20% or -50%"},
		kindPoints:      {`^[0-9]+(\.[0-9]+)? ?pp$`, "5pp"},
		kindOfExpected:  {`^` + percentPattern + ` of expected$`, "60% of expected"},
		kindAbove:       {`^above ` + percentPattern + `$`, "above 80%"},
		kindDuration:    {durationPattern, "60s, 10m or 1h30m"},
		kindBake:        {durationPattern, "60s, 10m or 1h30m"},
		kindMinutes:     {durationPattern, "10m, whole minutes"},
		kindClock:       {`^([01][0-9]|2[0-3]):[0-5][0-9]$`, `"04:00", in quotes`},
		kindInstant:     {`^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2})?$`, "2021-06-25T02:00:00"},
		kindURL:         {`^https?://[^/?#@ ]+`, "https://host:port/path"},
		kindAddresses:   {`^.+:[0-9]{1,5}$`, "[192.0.2.53:53]"},
		kindPath:        {`^(\\[!-~]|[A-Za-z0-9_.: -]|[^\x00-\x7f])+$`, "data.items"},
		kindCredentials: {`^(env|chain|(file|exec|systemd):.+)$`, ""},
	}[k]
}

// Explain returns what a key means, what it takes and its default, in a few lines. path is dotted, as "dns.zero" or
// "steps.shift.bake"; the name of a source and positions in lists may be in it or not. ok is false when there is no such key.
func Explain(path string) (text string, ok bool) {
	keys := planKeys()
	var k key
	inNamed := false
	for part := range strings.SplitSeq(path, ".") {
		part, _, _ = strings.Cut(part, "[")
		next, found := find(keys, part)
		if !found && inNamed {
			inNamed = false // the part is the author's own name
			continue
		}
		if !found {
			return "", false
		}
		k, keys, inNamed = next, next.keys, next.kind == kindNamed
	}
	return explanation(path, k), true
}

func explanation(path string, k key) string {
	lines := []string{path + ": " + k.text}
	if k.required {
		lines = append(lines, "  required")
	}
	if len(k.words) > 0 {
		lines = append(lines, "  one of: "+strings.Join(k.words, ", "))
	} else if form := grammarOf(k.kind).form; form != "" {
		lines = append(lines, "  written as: "+form)
	}
	if k.fallback != "" {
		lines = append(lines, "  default: "+k.fallback)
	}
	if len(k.keys) > 0 {
		lines = append(lines, "  keys: "+strings.Join(names(k.keys), ", "))
	}
	return strings.Join(lines, "\n") + "\n"
}
