// Package jsonhttp reads minutes from any API that answers with JSON over HTTP: platforms for real-user measurements, in-house
// monitoring, log services. The plan says what to ask and where in the answer the numbers are.
//
// An answer holds a list of rows, and each row is one minute of one platform on one CDN: numerators and denominators, never ratios.
// Values are found by paths of gjson's syntax, of which package plans admits the part that finds at most one value. Laws, beside those
// of package providers:
//
//   - An absent or null number is absent. A JSON number, and a text that is a plain decimal number, is that number. Anything else
//     (a word, true, a list, a negative number) makes the row unknown; it never becomes zero.
//   - A row without a time, without a platform where the plan names one, or of a CDN that the plan does not know refuses the answer:
//     nobody can say what it would have been. So does a time that is not the start of a minute.
//   - Rows that lie further apart than a minute are points of another granularity. They refuse the answer and are never spread.
//   - Rows of minutes that nobody asked for are left out. Two rows for one minute are both returned: [guardrails.Table.Merge] makes the
//     minute unknown when they differ.
//   - An answer that its own flag calls partial is an error, not data. So is one that is empty, is no JSON, or is longer than 8 MiB.
//   - A redirect is never followed: it would hand the credentials to another host. A question is sent once.
//   - Texts of the server stay out of errors, but for short words of rows, as a CDN's name, that hold nothing of URL and credentials.
package jsonhttp

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

const (
	name           = "jsonhttp"
	defaultTimeout = 15 * time.Second
)

// Options are what is not in the plan. The zero value asks without credentials.
type Options struct {
	Credentials providers.CredentialsFunc // KeyID and Secret become basic authentication; a Token without a KeyID is a bearer token
	Transport   http.RoundTripper         // nil is [net/http.DefaultTransport], which all adapters share
	Timeout     time.Duration             // of one question, wall time; 0 is 15 s
}

// Source is one source of a plan. Its methods may be called by several goroutines.
type Source struct {
	source    plans.Source
	keys      providers.CredentialsFunc
	transport http.RoundTripper
	timeout   time.Duration
}

var _ providers.Metrics = (*Source)(nil)

// New returns the source, or an error of kind Invalid when its URL or one of its paths is none.
func New(s plans.Source, o Options) (*Source, error) {
	if text := flawOf(s); text != "" {
		return nil, &providers.Error{Provider: name, Op: "configure source " + s.Name, Kind: providers.Invalid, Err: errors.New(text)}
	}
	out := &Source{source: s, keys: o.Credentials, transport: o.Transport, timeout: o.Timeout}
	if out.transport == nil {
		out.transport = http.DefaultTransport
	}
	if out.timeout == 0 {
		out.timeout = defaultTimeout
	}
	return out, nil
}

// flawOf says what is wrong with a source that no plan made. It repeats nothing of it: a URL may hold a secret.
func flawOf(s plans.Source) string {
	u, err := url.Parse(placed(s.URL, "0", "0"))
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "the url is none, or holds a user"
	}
	j := s.JSON
	if j == nil || j.Fields["minute"] == "" || j.Method != http.MethodGet && j.Method != http.MethodPost {
		return "there is no field minute, or the method is neither GET nor POST"
	}
	for _, p := range append(slices.Collect(maps.Values(j.Fields)), j.Rows, j.Partial) {
		if p != "" && !plans.ValidPath(p) {
			return "one of the paths is none"
		}
	}
	return ""
}

// Fetch implements providers.Metrics.
func (s *Source) Fetch(ctx context.Context, from, to guardrails.Minute) ([]guardrails.Row, error) {
	c, err := s.caller(ctx)
	if err != nil {
		return nil, err
	}
	body, err := c.ask(ctx, from, to)
	if err != nil {
		return nil, c.classify(ctx, err)
	}
	rows, err := answer{source: s.source, from: from, to: to, shown: c.shown}.rows(body)
	if err != nil {
		return nil, c.classify(ctx, err)
	}
	return rows, nil
}

// placed puts the two instants into a template.
func placed(template, from, to string) string {
	return strings.NewReplacer("{from}", from, "{to}", to).Replace(template)
}

// written writes an instant as the plan asks for.
func written(t time.Time, f plans.TimeFormat) string {
	switch f {
	case plans.UnixMillis:
		return strconv.FormatInt(t.UnixMilli(), 10)
	case plans.RFC3339:
		return t.UTC().Format(time.RFC3339)
	case plans.UnixSeconds:
	}
	return strconv.FormatInt(t.Unix(), 10)
}
