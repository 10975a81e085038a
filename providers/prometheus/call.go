package prometheus

import (
	"context"
	"encoding/base64"
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

// maxAnswer bounds one answer, in bytes: 180 minutes of fifty series stay below 1 MiB.
const maxAnswer = 8 << 20

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

// ask makes one range query.
func (c *caller) ask(ctx context.Context, field, query string, from, to guardrails.Minute) (model.Matrix, error) {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	op := "query " + field
	value, warnings, _, err := c.api.QueryRange(limited, query, v1.Range{Start: from.End(), End: to.End(), Step: time.Minute})
	switch m, ok := value.(model.Matrix); {
	case err != nil:
		return nil, c.classify(ctx, op, err)
	case len(warnings) > 0:
		e := c.failure(op, providers.Transient, fmt.Errorf("the answer is partial: %q", warnings[0]))
		e.Code = "warnings"
		return nil, e
	case !ok:
		return nil, c.failure(op, providers.Invalid, errors.New("the answer is not a matrix"))
	default:
		return m, nil
	}
}

// roundTripper authenticates, bounds the answer and keeps the server's status for classify.
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
	res.Body = &boundedBody{body: res.Body, left: maxAnswer}
	return res, nil
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

// boundedBody fails when an answer is longer than any answer should be.
type boundedBody struct {
	body io.ReadCloser
	left int
}

var errTooLong = errors.New("the answer is too long")

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if b.left -= n; b.left < 0 {
		return n, errTooLong
	}
	return n, err
}

// Close implements io.Closer.
func (b *boundedBody) Close() error { return b.body.Close() }

// statusError is an answer whose status says enough.
type statusError struct{ status int }

// Error says the status.
func (e *statusError) Error() string { return fmt.Sprintf("HTTP %d", e.status) }
