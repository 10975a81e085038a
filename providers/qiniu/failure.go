package qiniu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tlsroll/tlsroll/providers"
)

const (
	mask    = "[secret]"
	maxText = 300 // bytes of a vendor's message that are kept
)

// failure makes the errors of one call. It knows what must not be printed.
type failure struct {
	op        string
	action    string
	requestID string
	secrets   []string
}

// as returns an error of the given kind.
func (f failure) as(kind providers.Kind, text string) error {
	return f.build(kind, "", errors.New(scrub(text, f.secrets)))
}

// stopped returns the error for a call that ctx ended. A read that was stopped did nothing.
func (f failure) stopped(ctx context.Context) error {
	return f.build(providers.Transient, "", fmt.Errorf("stopped: %w", ctx.Err()))
}

// noKeys returns the error for credentials that could not be had. Their own error is not wrapped: it may hold anything.
func (f failure) noKeys(ctx, limited context.Context, err error) error {
	if ctx.Err() != nil {
		return f.stopped(ctx)
	}
	if limited.Err() != nil {
		return f.as(providers.Transient, "the credentials did not come in time")
	}
	return f.as(providers.Denied, "credentials: "+err.Error())
}

// refused returns the error for an answer that says no.
func (f failure) refused(status int, h head) error {
	code, message := h.Code.String(), h.Error
	if message == "" {
		message = fmt.Sprintf("HTTP %d", status)
	}
	return f.build(kindOf(code, status), code, errors.New(scrub(message, f.secrets)))
}

func (f failure) build(kind providers.Kind, code string, err error) error {
	e := &providers.Error{
		Provider: provider, Op: f.op, Kind: kind, Code: scrub(code, f.secrets), RequestID: scrub(f.requestID, f.secrets), Err: err,
	}
	if kind == providers.Denied && !strings.HasPrefix(code, "401") {
		e.Action = f.action
	}
	return e
}

// kindOf translates the vendor's business codes, of which the first three digits are an HTTP status, and failing these the status.
func kindOf(code string, status int) providers.Kind {
	switch code {
	case "400030": // the domain is still busy with the operation before
		return providers.Transient
	case "400013": // the same operation again
		return providers.Conflict
	case "400401": // no such certificate
		return providers.Missing
	case "403024":
		return providers.Throttled
	}
	return kindOfStatus(statusOf(code, status))
}

// statusOf returns the HTTP status that a code stands for, which a 200 around it hides.
func statusOf(code string, status int) int {
	n, err := strconv.Atoi(code)
	switch {
	case err != nil:
		return status
	case n >= 100000 && n <= 999999:
		return n / 1000
	case n >= 400 && n <= 599:
		return n
	}
	return status
}

func kindOfStatus(status int) providers.Kind {
	switch {
	case status == http.StatusTooManyRequests:
		return providers.Throttled
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return providers.Denied
	case status == http.StatusNotFound:
		return providers.Missing
	case status >= 500 || status == http.StatusRequestTimeout:
		return providers.Transient
	}
	return providers.Invalid
}

// scrub makes a text fit for errors and journals: secrets masked, plain and as written in URLs; one line; short.
func scrub(text string, secrets []string) string {
	// The longest first: a key inside a longer secret would leave the rest of it readable.
	for _, s := range slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) }) {
		if s == "" {
			continue
		}
		for _, spelling := range []string{s, url.QueryEscape(s), url.PathEscape(s)} {
			text = strings.ReplaceAll(text, spelling, mask)
		}
		// An Authorization header is "QBox key:signature", and the signature alone is a secret as well.
		if _, sign, ok := strings.Cut(s, ":"); ok && sign != "" {
			text = strings.ReplaceAll(text, sign, mask)
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
