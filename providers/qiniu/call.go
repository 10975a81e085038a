package qiniu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/qiniu/go-sdk/v7/auth"

	"github.com/tlsroll/tlsroll/providers"
)

// maxAnswer bounds what is read of one answer: a month of five-minute slots for thirty status codes is about 3 MB.
const maxAnswer = 8 << 20

var (
	errRedirect  = errors.New("the server answered with a redirect")
	errOversized = fmt.Errorf("the answer is larger than %d MiB", maxAnswer>>20)
)

// call is one API call. All calls read, also those by POST.
type call struct {
	op     string // "api:GetDomain"
	action string // permission that the call needs
	scheme auth.TokenType
	method string
	path   string
	body   any // sent as JSON; nil for none
}

// do makes one attempt and returns the body of a good answer. Every error is an *Error without secrets.
func (a account) do(ctx context.Context, c call) (failure, []byte, error) {
	f := failure{op: c.op, action: c.action}
	if ctx.Err() != nil {
		return f, nil, f.stopped(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	keys, err := a.keys(limited)
	if err != nil {
		return f, nil, f.noKeys(ctx, limited, err)
	}
	f.secrets = []string{keys.KeyID.Reveal(), keys.Secret.Reveal()}
	if f.secrets[0] == "" || f.secrets[1] == "" {
		return f, nil, f.as(providers.Denied, "the credentials are empty")
	}
	req, err := a.request(limited, c, keys)
	if err != nil {
		return f, nil, f.as(providers.Invalid, "the request could not be built")
	}
	f.secrets = append(f.secrets, req.Header.Get("Authorization"))
	status, reqID, body, err := a.send(req)
	f.requestID = reqID
	switch {
	case err != nil && ctx.Err() != nil:
		return f, nil, f.stopped(ctx)
	case err != nil && limited.Err() != nil:
		return f, nil, f.as(providers.Transient, fmt.Sprintf("no answer within %s", a.timeout))
	case errors.Is(err, errOversized):
		return f, nil, f.as(providers.Invalid, err.Error())
	case err != nil:
		return f, nil, f.as(providers.Transient, err.Error())
	}
	return f, body, f.judge(status, body)
}

func (a account) request(ctx context.Context, c call, keys providers.Credentials) (*http.Request, error) {
	var body io.Reader
	if c.body != nil {
		raw, err := json.Marshal(c.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, c.method, a.base+c.path, body)
	if err != nil {
		return nil, err
	}
	if c.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, auth.New(keys.KeyID.Reveal(), keys.Secret.Reveal()).AddToken(c.scheme, req)
}

// send goes below [net/http.Client], which would follow redirects and wrap errors in texts that hold the URL.
func (a account) send(req *http.Request) (status int, reqID string, body []byte, err error) {
	res, err := a.transport.RoundTrip(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer func() { _ = res.Body.Close() }()
	reqID = res.Header.Get("X-Reqid")
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		return 0, reqID, nil, errRedirect
	}
	body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errOversized
	}
	return res.StatusCode, reqID, body, err
}

// head is what a refusal has. A 200 may hold one, too.
type head struct {
	Code  json.Number `json:"code"`
	Error string      `json:"error"`
}

// judge decides what an answer means; nil is a good one.
func (f failure) judge(status int, body []byte) error {
	var h head
	err := json.Unmarshal(body, &h)
	good := status >= 200 && status < 300
	switch {
	case err != nil && !json.Valid(body):
		if status == http.StatusTooManyRequests {
			return f.refused(status, head{})
		}
		return f.as(providers.Transient, fmt.Sprintf("HTTP %d with %d bytes that are not JSON", status, len(body)))
	case !good:
		return f.refused(status, h)
	case err != nil:
		return f.as(providers.Invalid, "the answer has an unexpected shape")
	case h.Code != "" && h.Code != "200" && h.Code != "0":
		return f.refused(status, h)
	}
	return nil
}
