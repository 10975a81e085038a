package alicloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/responses"

	"github.com/tlsroll/tlsroll/providers"
)

// call is one API call, ready to be signed.
type call struct {
	product  product
	effect   effect
	request  requests.AcsRequest
	response responses.AcsResponse
}

func (c call) op() string { return string(c.product) + ":" + c.request.GetActionName() }

// answer is a 2xx answer with a RequestId.
type answer struct {
	failure
	body []byte
}

// do makes one attempt. Every error is an *Error without secrets.
func (a account) do(ctx context.Context, c call) (answer, error) {
	f := failure{op: c.op(), effect: c.effect}
	if ctx.Err() != nil {
		return answer{}, f.stopped(ctx, providers.Transient)
	}
	limited, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	keys, err := a.keys(limited)
	if err != nil {
		return answer{}, f.noKeys(ctx, limited, err)
	}
	f.secrets = []string{keys.KeyID.Reveal(), keys.Secret.Reveal(), keys.Token.Reveal()}
	if f.secrets[0] == "" || f.secrets[1] == "" {
		return answer{}, f.as(providers.Denied, "the credentials are empty")
	}
	x := &exchange{}
	err = a.perform(limited, c, x, keys)
	f.secrets = append(f.secrets, x.signature)
	if err == nil {
		err = x.err
	}
	switch {
	case !x.asked:
		return answer{}, f.as(providers.Invalid, "the request could not be built: "+textOf(err))
	case x.err != nil:
		return answer{}, a.transportError(ctx, limited, f, x)
	}
	return f.judge(x.status, x.body, err)
}

// perform lets the SDK sign, send and decode. The SDK panics on an error answer whose Code is not a string.
func (a account) perform(ctx context.Context, c call, x *exchange, keys providers.Credentials) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the SDK cannot read the answer")
		}
	}()
	client, err := a.client(ctx, x, keys)
	if err != nil {
		return err
	}
	return client.DoAction(c.request, c.response)
}

func (a account) client(ctx context.Context, x *exchange, keys providers.Credentials) (*sdk.Client, error) {
	// One second more than ours, so that the deadline in ctx always speaks first.
	cfg := sdk.NewConfig().WithScheme(strings.ToUpper(a.scheme)).WithTimeout(a.timeout + time.Second).WithAutoRetry(false)
	cfg.Transport = x.over(ctx, a.transport)
	var signer auth.Credential = credentials.NewAccessKeyCredential(keys.KeyID.Reveal(), keys.Secret.Reveal())
	if token := keys.Token.Reveal(); token != "" {
		signer = credentials.NewStsTokenCredential(keys.KeyID.Reveal(), keys.Secret.Reveal(), token)
	}
	client := &sdk.Client{}
	if err := client.InitWithOptions(a.region, cfg, signer); err != nil {
		return nil, err
	}
	client.Domain = a.host
	client.SetCloseTrace(true)
	// The SDK parses proxy variables of the environment even for a transport of our own, and fails on those that it cannot parse.
	client.SetHttpProxy("http://127.0.0.1")
	client.SetHttpsProxy("http://127.0.0.1")
	client.SetNoProxy("unused")
	return client, nil
}

// transportError says what a call without an answer means. Of the cause only the innermost text is kept: the outer ones print URLs.
func (a account) transportError(ctx, limited context.Context, f failure, x *exchange) error {
	kind := f.effect.lost()
	if x.unsent() {
		kind = providers.Transient
	}
	switch {
	case ctx.Err() != nil:
		return f.stopped(ctx, kind)
	case limited.Err() != nil:
		return f.as(kind, fmt.Sprintf("no answer within %s", a.timeout))
	case errors.Is(x.err, errOversized) && f.effect == read:
		return f.as(providers.Invalid, x.err.Error())
	}
	return f.as(kind, textOf(x.err))
}

// head is what every answer has, good or bad.
type head struct {
	Code      text `json:"Code"`
	Message   text `json:"Message"`
	RequestID text `json:"RequestId"`
}

// judge decides what an answer means. sdkErr is what the SDK made of it.
func (f failure) judge(status int, body []byte, sdkErr error) (answer, error) {
	var h head
	err := json.Unmarshal(body, &h)
	f.requestID = string(h.RequestID)
	good := status >= 200 && status < 300
	switch {
	case err != nil && !json.Valid(body):
		return answer{}, f.as(f.effect.lost(), fmt.Sprintf("HTTP %d with %d bytes that are not JSON", status, len(body)))
	case !good:
		return answer{}, f.refused(status, h)
	case err != nil || sdkErr != nil:
		return answer{}, f.broken("the answer has an unexpected shape")
	case h.RequestID == "":
		return answer{}, f.as(f.effect.lost(), "the answer has no RequestId")
	}
	return answer{failure: f, body: body}, nil
}
