package jsonhttp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers"
)

// maxAnswer bounds one answer, in bytes: 180 minutes of fifty series stay below 4 MiB.
const maxAnswer = 8 << 20

// caller asks the question of one Fetch, with one set of credentials.
type caller struct {
	*Source

	auth    string   // the header Authorization, or ""
	secrets []string // that no text may show
}

// caller fetches the credentials. It sends nothing.
func (s *Source) caller(ctx context.Context) (*caller, error) {
	c := &caller{Source: s}
	c.hideQuery()
	if s.keys == nil {
		return c, nil
	}
	keys, err := s.keys(ctx)
	if err != nil {
		return nil, c.classify(ctx, &keysError{err})
	}
	user, password, token := keys.KeyID.Reveal(), keys.Secret.Reveal(), keys.Token.Reveal()
	basic := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	c.secrets = append(c.secrets, user, password, token, basic)
	switch {
	case user != "":
		c.auth = "Basic " + basic
	case token != "":
		c.auth = "Bearer " + token
	default:
		e := c.failure(providers.Denied, errors.New("the credentials hold neither a user nor a token"))
		e.Action = "a user and password, or a token"
		return nil, e
	}
	return c, nil
}

// hideQuery keeps the values in the URL's query out of all texts, but for those that are too short to be secrets and too common to be told.
func (c *caller) hideQuery() {
	const shortest = 6
	_, query, _ := strings.Cut(c.source.URL, "?")
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		_, raw, _ := strings.Cut(pair, "=")
		value, err := url.QueryUnescape(raw)
		if err == nil && len(value) >= shortest && !strings.Contains(value, "{") {
			c.secrets = append(c.secrets, raw, value)
		}
	}
}

// ask sends the question once and returns the answer's body.
func (c *caller) ask(ctx context.Context, from, to guardrails.Minute) (string, error) {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := c.request(limited, from, to)
	if err != nil {
		return "", err
	}
	res, err := c.transport.RoundTrip(req) // no client: it would follow redirects
	if err != nil {
		return "", late(limited, err)
	}
	defer res.Body.Close() //nolint:errcheck // the answer was read, or is of no use
	if res.StatusCode != http.StatusOK {
		return "", &statusError{res.StatusCode}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return "", late(limited, err)
	case len(body) > maxAnswer:
		return "", &badError{providers.Invalid, "the answer is longer than " + strconv.Itoa(maxAnswer>>20) + " MiB"}
	}
	return string(body), nil
}

func (c *caller) request(ctx context.Context, from, to guardrails.Minute) (*http.Request, error) {
	j := c.source.JSON
	begin, end := written(from.Start(), j.TimeFormat), written(to.End(), j.TimeFormat)
	var body io.Reader = http.NoBody
	if j.Body != "" {
		body = strings.NewReader(placed(j.Body, begin, end))
	}
	target := placed(c.source.URL, url.QueryEscape(begin), url.QueryEscape(end))
	req, err := http.NewRequestWithContext(ctx, j.Method, target, body)
	if err != nil {
		return nil, &badError{providers.Invalid, "the url is none"} // the cause repeats it
	}
	req.Close = true // on a connection that was used before, net/http would send a GET again by itself
	req.Header.Set("Accept", "application/json")
	if j.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.auth != "" {
		req.Header.Set("Authorization", c.auth)
	}
	return req, nil
}

// late names the end of our own patience.
func late(limited context.Context, err error) error {
	if limited.Err() != nil {
		return limited.Err()
	}
	return err
}

// keysError is a failure to read the credentials, in the words of whoever read them.
type keysError struct{ err error }

// Error says the cause.
func (e *keysError) Error() string { return "read the credentials: " + e.err.Error() }

// Unwrap returns the cause.
func (e *keysError) Unwrap() error { return e.err }

// badError is an answer that cannot be used, in a text that holds nothing of it but what shown let pass.
type badError struct {
	kind providers.Kind
	text string
}

// Error says what is wrong.
func (e *badError) Error() string { return e.text }

func invalid(text string) error { return &badError{providers.Invalid, text} }

// statusError is an answer whose status says enough.
type statusError struct{ status int }

// Error says the status.
func (e *statusError) Error() string { return fmt.Sprintf("HTTP %d", e.status) }
