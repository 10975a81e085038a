package alicloud

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/responses"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/cdn"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

var _ providers.TLSSetter = (*CDN)(nil)

// CDN is one domain on Alibaba Cloud CDN. It holds no state, so several goroutines may use it.
type CDN struct {
	account
	domain string
}

// NewCDN returns the adapter for domain. It makes no call; the error is an *Error of kind Invalid.
func NewCDN(domain string, o Options) (*CDN, error) {
	a, err := newAccount(productCDN, o)
	if err != nil {
		return nil, err
	}
	if domain == "" || strings.Contains(domain, ",") {
		return nil, setupError("exactly one domain is needed")
	}
	return &CDN{account: a, domain: domain}, nil
}

// Read returns the domain and its TLS settings, by two calls: DescribeCdnDomainDetail and DescribeCdnDomainConfigs. Settings that
// cannot be restored exactly (several configurations, or a version left to the default) are an error of kind Invalid.
func (c *CDN) Read(ctx context.Context) (plans.CDNState, error) {
	detail := cdn.CreateDescribeCdnDomainDetailRequest()
	detail.DomainName = c.domain
	got, err := c.call(ctx, read, detail, cdn.CreateDescribeCdnDomainDetailResponse())
	if err != nil {
		return plans.CDNState{}, err
	}
	state, err := parseDetail(got.body)
	if err == nil && !strings.EqualFold(state.Domain, c.domain) {
		err = errors.New("DescribeCdnDomainDetail describes another domain")
	}
	if err != nil {
		return plans.CDNState{}, got.broken(err.Error())
	}
	configs := cdn.CreateDescribeCdnDomainConfigsRequest()
	configs.DomainName = c.domain
	got, err = c.call(ctx, read, configs, cdn.CreateDescribeCdnDomainConfigsResponse())
	if err != nil {
		return plans.CDNState{}, err
	}
	if state.TLS, err = parseTLS(got.body); err != nil {
		return plans.CDNState{}, got.broken(err.Error())
	}
	return state, nil
}

// SetTLS writes all four versions and the extra arguments by BatchSetCdnDomainConfig, or removes a configuration by
// DeleteSpecificConfig. A write that would leave no version on is refused without a call.
func (c *CDN) SetTLS(ctx context.Context, w plans.TLSWrite) error {
	params, err := c.tlsParams(w)
	if err != nil {
		return failure{op: "cdn:SetTLS", effect: write}.as(providers.Invalid, err.Error())
	}
	if w.Set == nil {
		req := cdn.CreateDeleteSpecificConfigRequest()
		req.DomainName, req.ConfigId = params[0].Value, params[1].Value
		_, err = c.call(ctx, write, req, cdn.CreateDeleteSpecificConfigResponse())
		return err
	}
	req := cdn.CreateBatchSetCdnDomainConfigRequest()
	req.DomainNames, req.Functions = params[0].Value, params[1].Value
	got, err := c.call(ctx, write, req, cdn.CreateBatchSetCdnDomainConfigResponse())
	if err != nil {
		return err
	}
	if err := parseAccepted(got.body, c.domain); err != nil {
		return got.broken(err.Error())
	}
	return nil
}

// DescribeTLS returns the call that SetTLS makes for w, with the parameters as sent; the zero Call when SetTLS refuses w.
func (c *CDN) DescribeTLS(w plans.TLSWrite) providers.Call {
	params, err := c.tlsParams(w)
	switch {
	case err != nil:
		return providers.Call{}
	case w.Set == nil:
		return providers.Call{API: "cdn:DeleteSpecificConfig", Params: params}
	}
	return providers.Call{API: "cdn:BatchSetCdnDomainConfig", Params: params}
}

func (c *CDN) tlsParams(w plans.TLSWrite) ([]providers.Param, error) {
	if w.Set == nil {
		if _, err := configNumber(w.Delete); err != nil {
			return nil, err
		}
		return []providers.Param{{Name: "DomainName", Value: c.domain}, {Name: "ConfigId", Value: w.Delete}}, nil
	}
	if w.Delete != "" {
		return nil, fmt.Errorf("the write both sets and deletes configuration %s", w.Delete)
	}
	functions, err := functionsOf(*w.Set)
	if err != nil {
		return nil, err
	}
	return []providers.Param{{Name: "DomainNames", Value: c.domain}, {Name: "Functions", Value: functions}}, nil
}

func (c *CDN) call(ctx context.Context, e effect, req requests.AcsRequest, res responses.AcsResponse) (answer, error) {
	return c.do(ctx, call{product: productCDN, effect: e, request: req, response: res})
}
