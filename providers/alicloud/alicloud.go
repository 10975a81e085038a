// Package alicloud adapts Alibaba Cloud CDN, Alibaba Cloud DNS and the CDN's real-time monitoring to the contract of package providers.
//
// Three layers: calls (call.go, exchange.go: everything that touches the network), convert (the convert_*.go files: JSON bytes to
// domain values, pure) and the contract (cdn.go, dns.go, monitor.go). Laws, beside those of package providers:
//
//   - HTTPS, unless the endpoint says http. A redirect is never followed: it would hand a signed query to another host.
//   - Each call builds its own SDK client over a shared transport: an SDK client is not safe for several goroutines, and has no ctx.
//     Retries, tracing and proxy handling of the SDK are off; [net/http.DefaultTransport] heeds proxies, never for a loopback host.
//   - A write that got no clear refusal is Unknown: a cut, a timeout, a 5xx, a page that is not JSON, an answer without RequestId. The
//     same on a read is Transient. A panic inside the SDK (a numeric Code) is an error like any other.
//   - No record is created, edited or deleted. Weights come from list calls alone; a weight of 0 is told from an absent one.
//   - A TLS configuration that does not name all four versions is refused: the API does not tell the default of the others, so no
//     write could restore it exactly.
//
// The SDK prints signed URLs when the environment holds DEBUG=sdk at start; whoever runs the program must not set it.
package alicloud

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/providers"
)

const (
	provider       = "alicloud"
	defaultTimeout = 10 * time.Second
	defaultRegion  = "cn-hangzhou"
)

// product is an API family of the vendor; its value is the prefix of RAM actions.
type product string

const (
	productCDN product = "cdn"
	productDNS product = "alidns"
)

// Options are what CDN, DNS and Monitor have in common. Only Credentials is required.
type Options struct {
	Endpoint    string // whole URL, as "http://127.0.0.1:8080"; "" is the vendor's own, by HTTPS
	Region      string // RegionId sent with each call; "" is cn-hangzhou
	Credentials providers.CredentialsFunc
	Transport   http.RoundTripper // nil is [net/http.DefaultTransport], which all adapters share
	Timeout     time.Duration     // of one API call, wall time; 0 is 10 s
}

// account is what is needed to make a call. It never changes, so several goroutines may use it.
type account struct {
	scheme    string
	host      string
	region    string
	keys      providers.CredentialsFunc
	transport http.RoundTripper
	timeout   time.Duration
}

func newAccount(p product, o Options) (account, error) {
	a := account{
		scheme: "https", host: vendorHost(p, o.Region), region: o.Region,
		keys: o.Credentials, transport: o.Transport, timeout: o.Timeout,
	}
	if o.Credentials == nil {
		return account{}, setupError("no credentials function")
	}
	if o.Endpoint != "" {
		scheme, host, err := splitEndpoint(o.Endpoint)
		if err != nil {
			return account{}, err
		}
		a.scheme, a.host = scheme, host
	}
	if a.region == "" {
		a.region = defaultRegion
	}
	if a.transport == nil {
		a.transport = http.DefaultTransport
	}
	if a.timeout <= 0 {
		a.timeout = defaultTimeout
	}
	return a, nil
}

// splitEndpoint takes a URL apart. The texts do not repeat it: a URL may hold a secret.
func splitEndpoint(endpoint string) (scheme, host string, err error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "", "", setupError("the endpoint is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", "", setupError("the endpoint must start with http:// or https://")
	case u.Host == "":
		return "", "", setupError("the endpoint has no host")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return "", "", setupError("the endpoint must be a scheme and a host only")
	}
	return u.Scheme, u.Host, nil
}

// vendorHost returns the vendor's endpoint for a region, from the endpoint table of the vendor's SDK.
func vendorHost(p product, region string) string {
	if p == productDNS {
		return "alidns.aliyuncs.com"
	}
	switch region {
	case "ap-south-1", "ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ap-southeast-5", "ap-northeast-1",
		"eu-west-1", "eu-central-1", "us-east-1", "us-west-1", "me-east-1":
		return "cdn.ap-southeast-1.aliyuncs.com"
	}
	return "cdn.aliyuncs.com"
}

func setupError(text string) error {
	return &providers.Error{Provider: provider, Op: "options", Kind: providers.Invalid, Err: errors.New(text)}
}
