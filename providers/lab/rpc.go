package lab

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the API signs with it
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// rpcCall is a call of an Alibaba Cloud API as an action sees it. The lock is held.
type rpcCall struct {
	params url.Values
	now    time.Time
}

func (c rpcCall) get(name string) string { return c.params.Get(name) }

// action is one operation of an Alibaba Cloud API.
type action struct {
	product string // "cdn" or "alidns"
	write   bool
	getOnly bool
	run     func(*Lab, rpcCall) (object, error)
}

func actionNamed(name string) (action, bool) {
	a, ok := map[string]action{
		"DescribeCdnDomainDetail":            {product: "cdn", run: (*Lab).describeDomain},
		"DescribeCdnDomainConfigs":           {product: "cdn", run: (*Lab).describeConfigs},
		"BatchSetCdnDomainConfig":            {product: "cdn", write: true, run: (*Lab).setConfig},
		"DeleteSpecificConfig":               {product: "cdn", write: true, run: (*Lab).deleteConfig},
		"DescribeDomainRealTimeHttpCodeData": {product: "cdn", run: (*Lab).realTimeCodes},
		"DescribeDomainRealTimeQpsData":      {product: "cdn", getOnly: true, run: (*Lab).realTimeQPS},
		"DescribeDomainRealTimeBpsData":      {product: "cdn", getOnly: true, run: (*Lab).realTimeBPS},
		"DescribeDNSSLBSubDomains":           {product: "alidns", run: (*Lab).describeWeighting},
		"DescribeSubDomainRecords":           {product: "alidns", run: (*Lab).describeSubDomain},
		"DescribeDomainRecords":              {product: "alidns", run: (*Lab).describeRecords},
		"DescribeDomainInfo":                 {product: "alidns", run: (*Lab).describeZone},
		"UpdateDNSSLBWeight":                 {product: "alidns", write: true, run: (*Lab).setWeight},
		"SetDomainRecordStatus":              {product: "alidns", write: true, run: (*Lab).setStatus},
	}[name]
	return a, ok
}

func productVersion(product string) string {
	if product == "alidns" {
		return "2015-01-09"
	}
	return "2018-05-10"
}

// commonParams are sent with every call and belong to none.
func commonParams() []string {
	return []string{
		"AccessKeyId", "Action", "Format", "RegionId", "SecurityToken", "Signature", "SignatureMethod", "SignatureNonce",
		"SignatureType", "SignatureVersion", "Timestamp", "Version",
	}
}

const maxBody = 1 << 20

func (l *Lab) serveRPC(rw http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(rw, r.Body, maxBody)
	// What cannot be read is not signed either.
	formErr := r.ParseForm()
	params := r.Form
	name := params.Get("Action")
	a, known := actionNamed(name)
	x := exchange{api: a.product + ":" + name, write: a.write, vendor: alicloud, params: map[string]string{}}
	if !known {
		x.api = "unknown:" + name
	}
	for k := range params {
		if !slices.Contains(commonParams(), k) {
			x.params[k] = params.Get(k)
		}
	}
	x.auth = func() error {
		switch {
		case formErr != nil:
			return refusal("InvalidParameter", "the parameters cannot be read")
		case !known:
			return &apiError{http.StatusNotFound, "InvalidAction.NotFound", "no such action"}
		case params.Get("Version") != productVersion(a.product):
			return refusal("InvalidVersion", "the action is not in this version")
		case a.getOnly && r.Method != http.MethodGet, r.Method != http.MethodGet && r.Method != http.MethodPost:
			return &apiError{http.StatusMethodNotAllowed, "UnsupportedHTTPMethod", "the action does not take this method"}
		}
		return l.authenticate(r.Method, params)
	}
	x.run = func(now time.Time) (object, error) { return a.run(l, rpcCall{params: params, now: now}) }
	l.serve(rw, r, x)
}

func refusal(code, text string) error { return &apiError{http.StatusBadRequest, code, text} }

// timestampSkew is how far the API lets clocks be apart.
const timestampSkew = 15 * time.Minute

// authenticate verifies the signature of an RPC call. The lock is held.
func (l *Lab) authenticate(method string, params url.Values) error {
	for _, k := range []string{"AccessKeyId", "Signature", "SignatureMethod", "SignatureNonce", "SignatureVersion", "Timestamp"} {
		if params.Get(k) == "" {
			return refusal("MissingParameter", k+" is mandatory for this action.")
		}
	}
	wall := time.Now()
	at, err := time.Parse("2006-01-02T15:04:05Z", params.Get("Timestamp"))
	switch {
	case params.Get("SignatureMethod") != "HMAC-SHA1" || params.Get("SignatureVersion") != "1.0":
		return refusal("IncompleteSignature", "The signature method or version is not supported.")
	case params.Get("AccessKeyId") != l.opts.AccessKey:
		return &apiError{http.StatusNotFound, "InvalidAccessKeyId.NotFound", "Specified access key is not found."}
	case params.Get("SecurityToken") != l.opts.Token:
		return refusal("InvalidSecurityToken.Malformed", "The security token does not fit the access key.")
	case err != nil:
		return refusal("InvalidTimeStamp.Format", "Specified time stamp is not well formatted.")
	case wall.Sub(at).Abs() > timestampSkew:
		return refusal("InvalidTimeStamp.Expired", "Specified time stamp or date value is expired.")
	case !hmac.Equal([]byte(params.Get("Signature")), []byte(rpcSignature(method, params, l.opts.Secret))):
		return refusal("SignatureDoesNotMatch", "Specified signature is not matched with our calculation.")
	}
	return l.useNonce(params.Get("SignatureNonce"), wall)
}

func (l *Lab) useNonce(nonce string, wall time.Time) error {
	if _, used := l.nonces[nonce]; used {
		return refusal("SignatureNonceUsed", "Specified signature nonce was used already.")
	}
	if len(l.nonces)%1024 == 1023 {
		// Calls that old are refused for their timestamps.
		maps.DeleteFunc(l.nonces, func(_ string, at time.Time) bool { return wall.Sub(at) > 2*timestampSkew })
	}
	l.nonces[nonce] = wall
	return nil
}

// rpcSignature signs all parameters but the signature itself, sorted and encoded twice, as the RPC style demands.
func rpcSignature(method string, params url.Values, secret string) string {
	var pairs []string
	for _, k := range slices.Sorted(maps.Keys(params)) {
		if k != "Signature" {
			pairs = append(pairs, percent(k)+"="+percent(params.Get(k)))
		}
	}
	mac := hmac.New(sha1.New, []byte(secret+"&"))
	mac.Write([]byte(method + "&" + percent("/") + "&" + percent(strings.Join(pairs, "&"))))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// percent encodes all but the unreserved characters of RFC 3986.
func percent(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', strings.IndexByte("-_.~", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}
