package plans

import (
	"strconv"
	"strings"
	"unicode"
)

// domainOf reads a DNS name of at least two labels, lower case, without a trailing dot.
func domainOf(s string) (string, *flaw) {
	better := strings.TrimSuffix(strings.ToLower(s), ".")
	switch {
	case s != better && hostname(better):
		return "", &flaw{message: quoted(s) + " has upper case letters or a dot at its end", hint: "write " + better}
	case !hostname(s) || !strings.Contains(s, "."):
		return "", &flaw{message: quoted(s) + " is not a domain name", hint: "write it as cdn.example.com"}
	}
	return s, nil
}

// hostname reports whether s is made of DNS labels, or is an IPv4 address.
func hostname(s string) bool {
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if !nameLike(label, "_") {
			return false
		}
	}
	return true
}

// nameLike reports whether s is 1 to 63 lower case letters, digits inner dashes and extra characters.
func nameLike(s, extra string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && !strings.ContainsRune(extra, r) {
			return false
		}
	}
	return true
}

// nameOf reads the name of a plan, a source or a guardrail.
func nameOf(s string) (string, *flaw) {
	if !nameLike(s, "") {
		return "", &flaw{message: quoted(s) + " is not a name", hint: "use up to 63 lower case letters, digits and inner dashes"}
	}
	return s, nil
}

// addressOf reads "host:port" and "[v6]:port".
func addressOf(s string) (string, *flaw) {
	bad := &flaw{message: quoted(s) + " is not an address with a port", hint: "write it as 192.0.2.53:53"}
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", bad
	}
	if n, err := strconv.ParseUint(s[i+1:], 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != s[i+1:] {
		return "", bad
	}
	if !host(s[:i]) {
		return "", bad
	}
	return s, nil
}

// host reports whether s is a host name, an IPv4 address, or an IPv6 address in brackets. Dialing judges the IPv6 address in full.
func host(s string) bool {
	v6, ok := strings.CutPrefix(s, "[")
	if !ok {
		return hostname(strings.ToLower(s))
	}
	v6, ok = strings.CutSuffix(v6, "]")
	return ok && strings.Count(v6, ":") >= 2 && strings.Trim(v6, "0123456789abcdefABCDEF:.") == ""
}

// urlOf reads an http or https URL without user, fragment and secrets in its query.
func urlOf(s string) (string, *flaw) {
	hint := "write it as https://host:port/path"
	rest, ok := strings.CutPrefix(s, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(s, "http://")
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, tail := rest[:end], rest[end:]
	switch {
	case strings.Contains(authority, "@"):
		return "", &flaw{message: "a URL in a plan holds no user and password", hint: "remove them: keys are named by credentials", secret: true}
	case secretQuery(tail):
		return "", &flaw{message: "this URL holds what looks like a secret", hint: "plans hold no secrets: let the service know the caller another way", secret: true}
	case !ok:
		return "", &flaw{message: quoted(s) + " is not an http or https URL", hint: hint}
	case strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' || r == '#' || r == '\\' }):
		return "", &flaw{message: "the URL has a character that no URL here may have (blank, fragment, backslash, not ASCII)", hint: hint}
	}
	if _, f := addressOf(authority); f != nil && !host(authority) {
		return "", &flaw{message: quoted(authority) + " is not a host with an optional port", hint: hint}
	}
	return s, nil
}

// credentialsOf reads where keys are found. It never repeats the value, which may be a key pasted by mistake.
func credentialsOf(s string) (string, *flaw) {
	hint := "write env, file:PATH, exec:COMMAND, systemd:NAME or chain"
	if looksRandom(s) {
		return "", &flaw{message: "this looks like a key itself", hint: hint + ": a plan holds no secrets", secret: true}
	}
	if s == "env" || s == "chain" {
		return s, nil
	}
	for _, scheme := range []string{"file:", "exec:", "systemd:"} {
		if rest, ok := strings.CutPrefix(s, scheme); ok && strings.TrimSpace(rest) != "" {
			return s, nil
		}
	}
	return "", &flaw{message: "this is not a place to find credentials", hint: hint, secret: true}
}
