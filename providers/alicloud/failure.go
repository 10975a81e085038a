package alicloud

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/tlsroll/tlsroll/providers"
)

// effect tells calls that change something from those that do not.
type effect int

const (
	read effect = iota + 1
	write
)

// lost is the kind of a call of which nobody knows how it ended.
func (e effect) lost() providers.Kind {
	if e == write {
		return providers.Unknown
	}
	return providers.Transient
}

// failure makes the errors of one call. It knows what must not be printed.
type failure struct {
	op        string
	effect    effect
	requestID string
	secrets   []string
}

// as returns an error of the given kind.
func (f failure) as(kind providers.Kind, text string) error {
	return f.build(kind, "", "", errors.New(scrub(text, f.secrets)))
}

// broken returns the error for an answer that breaks the contract: no repeat helps a read, and a write may have been applied.
func (f failure) broken(text string) error {
	if f.effect == write {
		return f.as(providers.Unknown, text)
	}
	return f.as(providers.Invalid, text)
}

// stopped returns the error for a call that ctx ended.
func (f failure) stopped(ctx context.Context, kind providers.Kind) error {
	return f.build(kind, "", "", fmt.Errorf("stopped: %w", ctx.Err()))
}

// noKeys returns the error for credentials that could not be had. Their own error is not wrapped: it may hold anything.
func (f failure) noKeys(ctx, limited context.Context, err error) error {
	if ctx.Err() != nil {
		return f.stopped(ctx, providers.Transient)
	}
	if limited.Err() != nil {
		return f.as(providers.Transient, "the credentials did not come in time")
	}
	return f.as(providers.Denied, "credentials: "+textOf(err))
}

// refused returns the error for an answer that is not 2xx.
func (f failure) refused(status int, h head) error {
	code := scrub(string(h.Code), f.secrets)
	kind := kindOf(code, string(h.Message), status, f.effect)
	action := ""
	if kind == providers.Denied && !aboutKeys(code) {
		action = f.op
	}
	message := string(h.Message)
	if message == "" {
		message = fmt.Sprintf("HTTP %d", status)
	}
	return f.build(kind, code, action, errors.New(scrub(message, f.secrets)))
}

func (f failure) build(kind providers.Kind, code, action string, err error) error {
	return &providers.Error{
		Provider: provider, Op: f.op, Kind: kind, Code: code, Action: action,
		RequestID: scrub(f.requestID, f.secrets), Err: err,
	}
}

// textOf returns the text of the cause below every *url.Error, which prints the signed URL.
func textOf(err error) string {
	if err == nil {
		return "no reason given"
	}
	for {
		u, ok := errors.AsType[*url.Error](err)
		if !ok {
			return err.Error()
		}
		err = u.Err
	}
}
