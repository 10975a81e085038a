// Package qiniu adapts Qiniu's fusion CDN to the contract of package providers: the state of a domain, and analytics in slots of five
// minutes. It only reads. Five-minute slots are context for people and for billing, never minutes for a guardrail.
//
// Three layers: calls (call.go), convert (convert_*.go: JSON bytes to domain values, pure) and the contract (cdn.go, analytics.go).
// Laws, beside those of package providers:
//
//   - HTTPS, unless the endpoint says http. A redirect is never followed.
//   - Requests are signed by the vendor's SDK and sent by our own client: the SDK's client drops the business code of a refusal, and
//     takes a code inside a 200 for success.
//   - A slot is a whole slot or absent: the newest ones are dropped until they are Lag old, for the vendor still fills them.
//   - The vendor has no API for TLS versions: TLSReadable is false, and only a handshake tells.
package qiniu

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/providers"
)

const (
	provider       = "qiniu"
	vendorAPI      = "https://api.qiniu.com"
	vendorFusion   = "https://fusion.qiniuapi.com"
	defaultTimeout = 10 * time.Second
	defaultLag     = 30 * time.Minute // the vendor documents none; a careful reading of public exporters
	chinaOffset    = 8 * 60 * 60      // seconds; Asia/Shanghai has had no summer time since 1991
)

// Options are what CDN and Analytics have in common. Only Credentials is required.
type Options struct {
	Endpoint          string // whole URL of the domain API; "" is the vendor's own, by HTTPS
	AnalyticsEndpoint string // whole URL of the analytics API; "" is Endpoint when that is given, else the vendor's own
	Credentials       providers.CredentialsFunc
	Transport         http.RoundTripper // nil is [net/http.DefaultTransport], which all adapters share
	Timeout           time.Duration     // of one API call, wall time; 0 is 10 s
	Location          *time.Location    // zone of the labels of slots; nil is Asia/Shanghai, UTC+8
	Lag               time.Duration     // slots that ended less than this ago are dropped; 0 is 30 min
	Region            string            // region literal of the log analysis; "" is "global"
	ISP               string            // isp literal of the log analysis; "" is "all"
}

// account is what is needed to make a call. It never changes, so several goroutines may use it.
type account struct {
	base      string // scheme and host
	keys      providers.CredentialsFunc
	transport http.RoundTripper
	timeout   time.Duration
}

func newAccount(o Options, endpoint, vendor string) (account, error) {
	a := account{base: vendor, keys: o.Credentials, transport: o.Transport, timeout: o.Timeout}
	if o.Credentials == nil {
		return account{}, setupError("no credentials function")
	}
	if endpoint != "" {
		base, err := baseOf(endpoint)
		if err != nil {
			return account{}, err
		}
		a.base = base
	}
	if a.transport == nil {
		a.transport = http.DefaultTransport
	}
	if a.timeout <= 0 {
		a.timeout = defaultTimeout
	}
	return a, nil
}

// baseOf checks an endpoint. The texts do not repeat it: a URL may hold a secret.
func baseOf(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "", setupError("the endpoint is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", setupError("the endpoint must start with http:// or https://")
	case u.Host == "":
		return "", setupError("the endpoint has no host")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return "", setupError("the endpoint must be a scheme and a host only")
	}
	return u.Scheme + "://" + u.Host, nil
}

// checkDomain keeps a list of domains, and a path, out of a call that takes one name.
func checkDomain(domain string) error {
	if domain == "" || strings.ContainsAny(domain, ";,/?# ") {
		return setupError("exactly one domain is needed")
	}
	return nil
}

func setupError(text string) error {
	return &providers.Error{Provider: provider, Op: "options", Kind: providers.Invalid, Err: errors.New(text)}
}
