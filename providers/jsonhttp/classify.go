package jsonhttp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/tlsroll/tlsroll/providers"
)

// failure is an error of this adapter. Its text must be fit to print.
func (c *caller) failure(kind providers.Kind, err error) *providers.Error {
	return &providers.Error{Provider: name, Op: "ask " + c.source.Name, Kind: kind, Err: err}
}

// classify turns an error into one of ours. A read that failed in any way that is not final may work in a moment.
func (c *caller) classify(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return c.failure(providers.Transient, ctx.Err())
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return c.failure(providers.Transient, errors.New("no answer in "+c.timeout.String()))
	}
	if known, ok := errors.AsType[*providers.Error](err); ok { // the credentials failed
		return known
	}
	if bad, ok := errors.AsType[*badError](err); ok {
		return c.failure(bad.kind, bad)
	}
	if s, ok := errors.AsType[*statusError](err); ok {
		e := c.failure(providers.KindOfStatus(s.status), s)
		if e.Kind == providers.Denied {
			e.Action = "read access to the API"
		}
		return e
	}
	text := "what failed cannot be shown: the connection, the credentials, or an answer that is not HTTP"
	if c.ours(err) {
		text = err.Error()
	}
	return c.failure(providers.Transient, errors.New(text))
}

// ours reports whether a text is made on this side of the connection, and so fit to print: what a broken server sent may stand in others.
func (c *caller) ours(err error) bool {
	const longest = 300
	_, network := errors.AsType[*net.OpError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	_, local := errors.AsType[*keysError](err)
	return (network || certificate || end || local) && len(err.Error()) <= longest && !c.holds(err.Error())
}

// shown returns a value for a message when it is a short word that has nothing in common with a secret, and "" otherwise.
func (c *caller) shown(s string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:"
	if s == "" || len(s) > 40 || strings.Trim(s, letters) != "" || c.holds(s) {
		return ""
	}
	return " (" + strconv.Quote(s) + ")"
}

// holds reports whether a text has a secret in it, or is a part of one.
func (c *caller) holds(text string) bool {
	return slices.ContainsFunc(c.secrets, func(s string) bool {
		return s != "" && (strings.Contains(text, s) || len(text) >= 4 && strings.Contains(s, text))
	})
}
