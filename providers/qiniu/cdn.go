package qiniu

import (
	"context"
	"net/http"
	"strings"

	"github.com/qiniu/go-sdk/v7/auth"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

var _ providers.CDN = (*CDN)(nil)

// CDN is one domain on Qiniu's fusion CDN, read only. It holds no state, so several goroutines may use it.
type CDN struct {
	account
	domain string
}

// NewCDN returns the adapter for domain. It makes no call; the error is an *Error of kind Invalid.
func NewCDN(domain string, o Options) (*CDN, error) {
	if err := checkDomain(domain); err != nil {
		return nil, err
	}
	a, err := newAccount(o, o.Endpoint, vendorAPI)
	if err != nil {
		return nil, err
	}
	return &CDN{account: a, domain: domain}, nil
}

// Read returns the domain, by GET /domain/NAME. TLS is left empty: the vendor does not tell.
func (c *CDN) Read(ctx context.Context) (plans.CDNState, error) {
	f, body, err := c.do(ctx, call{
		op: "api:GetDomain", action: "cdn/GetDomainList", scheme: auth.TokenQiniu, method: http.MethodGet, path: "/domain/" + c.domain,
	})
	if err != nil {
		return plans.CDNState{}, err
	}
	state, err := parseDomain(body)
	if err != nil {
		return plans.CDNState{}, f.as(providers.Invalid, err.Error())
	}
	if !strings.EqualFold(state.Domain, c.domain) {
		return plans.CDNState{}, f.as(providers.Invalid, "the answer describes another domain")
	}
	return state, nil
}
