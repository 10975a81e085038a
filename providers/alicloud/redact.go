package alicloud

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

const (
	mask    = "[secret]"
	maxText = 300 // bytes of a vendor's message that are kept
)

// scrub makes a text fit for errors and journals: live secrets masked in every spelling that a URL, a string-to-sign or JSON gives
// them, queries cut off URLs, signing parameters masked, one line, short.
func scrub(text string, secrets []string) string {
	// The longest first: a key id inside a longer secret would leave the rest of it readable.
	for _, s := range slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) }) {
		for _, spelling := range spellings(s) {
			text = strings.ReplaceAll(text, spelling, mask)
		}
	}
	for _, name := range []string{"AccessKeyId", "SignatureNonce", "Signature", "SecurityToken"} {
		text = maskParam(text, name)
	}
	text = cutQueries(text)
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + " ..."
	}
	return text
}

// spellings returns the ways in which s is written, the longest last so that shorter ones never leave half of it behind.
func spellings(s string) []string {
	if s == "" {
		return nil
	}
	once := url.QueryEscape(s)
	percent := strings.ReplaceAll(once, "+", "%20")
	quoted, err := json.Marshal(s)
	if err != nil {
		return []string{s, once, percent, url.QueryEscape(percent)}
	}
	return []string{s, once, percent, url.PathEscape(s), url.QueryEscape(percent), strings.Trim(string(quoted), `"`)}
}

// maskParam masks the value of a parameter, written with =, %3D or %253D.
func maskParam(text, name string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, name)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i+len(name)])
		text = text[i+len(name):]
		for _, form := range []struct{ is, end string }{{"=", "&"}, {"%3D", "%26"}, {"%253D", "%2526"}} {
			if rest, ok := strings.CutPrefix(text, form.is); ok {
				b.WriteString(form.is + mask)
				text = rest[valueEnd(rest, form.end):]
				break
			}
		}
	}
}

func valueEnd(s, end string) int {
	n := len(s)
	if i := strings.IndexAny(s, " \t\r\n\"'<>"); i >= 0 {
		n = i
	}
	if i := strings.Index(s[:n], end); i >= 0 {
		n = i
	}
	return n
}

// cutQueries cuts each "?name=value…" up to the next blank, quote or angle bracket.
func cutQueries(text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "?")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteByte('?')
		end := strings.IndexAny(rest, " \t\r\n\"'<>")
		if end < 0 {
			end = len(rest)
		}
		if strings.Contains(rest[:end], "=") {
			b.WriteString("...")
			rest = rest[end:]
		}
		text = rest
	}
}
