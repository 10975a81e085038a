package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"github.com/tlsroll/tlsroll/providers"
)

const (
	mask    = "[secret]"
	maxText = 300 // bytes of a text that are kept
)

// failure is an error of this adapter with a text that is fit to print.
func (c *caller) failure(op string, kind providers.Kind, err error) *providers.Error {
	return &providers.Error{Provider: name, Op: op, Kind: kind, Err: errors.New(c.scrub(err.Error()))}
}

// partial is an answer of which the server says that something is missing.
func (c *caller) partial(op, why string) *providers.Error {
	e := c.failure(op, providers.Transient, errors.New("the answer is partial: "+why))
	e.Code = "warnings"
	return e
}

// classify turns an error of the client into one of ours. A read that failed in any way that is not final may work in a moment.
func (c *caller) classify(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return &providers.Error{Provider: name, Op: op, Kind: providers.Transient, Err: ctx.Err()}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return c.failure(op, providers.Transient, errors.New("no answer in "+c.timeout.String()))
	}
	if known, ok := errors.AsType[*providers.Error](err); ok { // the credentials failed
		return known
	}
	if s, ok := errors.AsType[*statusError](err); ok {
		e := c.failure(op, providers.KindOfStatus(s.status), s)
		if e.Kind == providers.Denied {
			e.Action = "read access to the query API"
		}
		return e
	}
	if errors.Is(err, errTooLong) {
		return c.failure(op, providers.Invalid, errTooLong)
	}
	if errors.Is(err, errPartial) {
		return c.partial(op, errPartial.Error())
	}
	if answer, ok := errors.AsType[*v1.Error](err); ok {
		e := c.failure(op, providers.Transient, errors.New(answer.Msg))
		e.Code = c.scrub(string(answer.Type))
		switch answer.Type {
		case v1.ErrBadData, v1.ErrExec, v1.ErrClient:
			e.Kind = providers.Invalid
		case v1.ErrTimeout, v1.ErrCanceled, v1.ErrServer, v1.ErrBadResponse:
		}
		return e
	}
	return c.failure(op, providers.Transient, plain(err))
}

// plain drops the URL from an error: it may carry a token.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// scrub makes a text fit for errors and journals: secrets masked in the spellings of URLs and JSON, one line, short.
func (c *caller) scrub(text string) string {
	// The longest first: a user name inside a password would leave the rest of it readable.
	for _, s := range slices.SortedFunc(slices.Values(c.secrets), func(a, b string) int { return len(b) - len(a) }) {
		for _, spelling := range spellings(s) {
			text = strings.ReplaceAll(text, spelling, mask)
		}
	}
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

func spellings(s string) []string {
	if s == "" {
		return nil
	}
	out := []string{s, url.QueryEscape(s), url.PathEscape(s)}
	if quoted, err := json.Marshal(s); err == nil {
		out = append(out, strings.Trim(string(quoted), `"`))
	}
	return out
}
