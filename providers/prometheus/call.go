package prometheus

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers"
)

const (
	// maxMinutes is the longest span of one query. Servers answer at most 11,000 steps, and some have been told to answer fewer.
	maxMinutes = 36 * 60
	// maxAnswer bounds one answer, in bytes: maxMinutes of fifty series stay below 4 MiB.
	maxAnswer = 8 << 20
)

// caller makes the queries of one Fetch, with one set of credentials.
type caller struct {
	api     v1.API
	timeout time.Duration
	secrets []string // that no text may show
}

// caller fetches the credentials. It sends nothing.
func (s *Source) caller(ctx context.Context) (*caller, error) {
	c := &caller{timeout: s.timeout}
	for _, values := range s.url.Query() {
		c.secrets = append(c.secrets, values...)
	}
	rt := roundTripper{next: s.transport}
	if s.url.User != nil {
		password, _ := s.url.User.Password()
		c.hide(s.url.User.Username(), password)
	}
	if s.keys != nil {
		keys, err := s.keys(ctx)
		if err != nil {
			return nil, c.classify(ctx, "read the credentials", err)
		}
		rt.keys = &keys
		c.hide(keys.KeyID.Reveal(), keys.Secret.Reveal())
	}
	client, err := api.NewClient(api.Config{Address: s.url.String(), RoundTripper: rt})
	if err != nil {
		return nil, c.failure("configure", providers.Invalid, err)
	}
	c.api = v1.NewAPI(client)
	return c, nil
}

// hide keeps a user and a password out of all texts, also in the form in which they are sent.
func (c *caller) hide(user, password string) {
	c.secrets = append(c.secrets, user, password, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
}

// piece is the answer to one range query, and the minutes that were asked for.
type piece struct {
	from, to guardrails.Minute
	matrix   model.Matrix
}

// ask makes the range queries for a span.
func (c *caller) ask(ctx context.Context, field, query string, from, to guardrails.Minute) ([]piece, error) {
	var all []piece
	for ; from <= to; from += maxMinutes {
		p := piece{from: from, to: min(from+maxMinutes-1, to)}
		var err error
		if p.matrix, err = c.query(ctx, field, query, p.from, p.to); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// query makes one range query.
func (c *caller) query(ctx context.Context, field, query string, from, to guardrails.Minute) (model.Matrix, error) {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	op := "query " + field
	value, warnings, _, err := c.api.QueryRange(limited, query, v1.Range{Start: from.End(), End: to.End(), Step: time.Minute})
	switch m, ok := value.(model.Matrix); {
	case err != nil:
		return nil, c.classify(ctx, op, err)
	case len(warnings) > 0:
		return nil, c.partial(op, fmt.Sprintf("%q", warnings[0]))
	case !ok:
		return nil, c.failure(op, providers.Invalid, errors.New("the answer is not a matrix"))
	default:
		return m, nil
	}
}

// roundTripper authenticates, bounds the answer, refuses one that is partial and keeps the server's status for classify.
type roundTripper struct {
	next http.RoundTripper
	keys *providers.Credentials // nil asks without
}

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Del("Idempotency-Key") // net/http takes it as leave to repeat the request
	if r.keys != nil {
		req.SetBasicAuth(r.keys.KeyID.Reveal(), r.keys.Secret.Reveal())
	}
	res, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if !readable(res.StatusCode) {
		return nil, errors.Join(&statusError{res.StatusCode}, res.Body.Close())
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch err = errors.Join(err, res.Body.Close()); {
	case err != nil:
		return nil, err
	case len(body) > maxAnswer:
		return nil, errTooLong
	case isPartial(body):
		return nil, errPartial
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// isPartial reports what VictoriaMetrics says in place of warnings when a part of its storage did not answer; the client does not read it.
func isPartial(body []byte) bool {
	var answer struct {
		IsPartial bool `json:"isPartial"`
	}
	return json.Unmarshal(body, &answer) == nil && answer.IsPartial
}

// readable reports whether an answer with this status may have a body of the API, or makes the client ask by GET.
func readable(status int) bool {
	switch status {
	case http.StatusOK, http.StatusBadRequest, http.StatusUnprocessableEntity:
		return true
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return false
}

var (
	errTooLong = errors.New("the answer is too long")
	errPartial = errors.New("isPartial")
)

// statusError is an answer whose status says enough.
type statusError struct{ status int }

// Error says the status.
func (e *statusError) Error() string { return fmt.Sprintf("HTTP %d", e.status) }
