package plans

import (
	"strings"
	"unicode"
)

// holdsKeyID reports whether s contains what looks like an access key id: the vendors' fixed prefix and at least 12 letters or digits.
func holdsKeyID(s string) bool {
	for _, prefix := range []string{"LTAI", "AKIA", "AKID", "STS."} {
		for rest := s; ; {
			i := strings.Index(rest, prefix)
			if i < 0 {
				break
			}
			rest = rest[i+len(prefix):]
			if run(rest, "") >= 12 {
				return true
			}
		}
	}
	return false
}

// run returns how many letters, digits and extra characters s begins with.
func run(s, extra string) int {
	n := strings.IndexFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(extra, r)
	})
	if n < 0 {
		return len(s)
	}
	return n
}

// looksRandom reports whether s has a word that people do not write: 20 or more characters of the base64 alphabets, with upper case,
// lower case and digits, mixed so that the class changes at least eight times. Names made of words change it far less often.
func looksRandom(s string) bool {
	const alphabet = "+=_-"
	for s != "" {
		n := run(s, alphabet)
		if n >= 20 && mixed(s[:n]) {
			return true
		}
		s = s[min(n+1, len(s)):]
	}
	return false
}

func mixed(word string) bool {
	const upper, lower, digit = 1, 2, 4
	seen, last, changes := 0, 0, 0
	for _, r := range word {
		class := 0
		switch {
		case unicode.IsUpper(r):
			class = upper
		case unicode.IsLower(r):
			class = lower
		case unicode.IsDigit(r):
			class = digit
		default:
			continue
		}
		if last != 0 && class != last {
			changes++
		}
		seen, last = seen|class, class
	}
	return seen == upper|lower|digit && changes >= 8
}

// secretName reports whether a key or parameter is named like one that holds a secret.
func secretName(s string) bool {
	s = strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
	for _, word := range []string{"secret", "password", "passwd", "token", "accesskey", "apikey", "privatekey", "signature"} {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}

// secretQuery reports whether the tail of a URL has a parameter that is named like a secret or has a random value.
func secretQuery(tail string) bool {
	_, query, _ := strings.Cut(tail, "?")
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		if value != "" && (secretName(name) || looksRandom(value)) {
			return true
		}
	}
	return looksRandom(tail)
}
