package alicloud

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// maxAnswer bounds what is read of one answer. The largest real one, 100 records with long remarks, stays below 100 KB.
const maxAnswer = 4 << 20

var (
	errRedirect  = errors.New("the server answered with a redirect")
	errOversized = fmt.Errorf("the answer is larger than %d MiB", maxAnswer>>20)
)

// exchange is what went over the wire for one call. It is judged instead of the SDK's errors, which lose the difference between an
// empty and a full answer, and which print the signed URL.
type exchange struct {
	asked     bool
	signature string
	status    int
	body      []byte
	err       error
}

type roundTripFunc func(*http.Request) (*http.Response, error)

// RoundTrip makes the function an [net/http.RoundTripper].
func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// over returns a transport that carries one request over base under ctx and notes what happened.
func (x *exchange) over(ctx context.Context, base http.RoundTripper) http.RoundTripper {
	return roundTripFunc(func(req *http.Request) (*http.Response, error) {
		x.asked = true
		x.signature = req.URL.Query().Get("Signature")
		res, err := base.RoundTrip(req.Clone(ctx))
		if err != nil {
			x.err = err
			return nil, err
		}
		if x.err = x.take(res); x.err != nil {
			return nil, x.err
		}
		return res, nil
	})
}

// take reads the whole answer, so that a cut or an oversized body is seen here and not inside the SDK.
func (x *exchange) take(res *http.Response) error {
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		return errRedirect
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return err
	}
	if len(body) > maxAnswer {
		return errOversized
	}
	x.status, x.body = res.StatusCode, body
	res.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// unsent reports whether the request certainly never left: no connection was made.
func (x *exchange) unsent() bool {
	op, ok := errors.AsType[*net.OpError](x.err)
	return ok && (op.Op == "dial" || op.Op == "proxyconnect")
}
