package alicloud_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/alicloud"
)

var aWeight = plans.DNSWrite{Leg: guardrails.Primary, RecordID: "9009123456789", Action: plans.SetWeight, Weight: 90}

func TestVendorCodesHaveKinds(t *testing.T) {
	for _, tt := range []struct {
		status      int
		code        string
		read, write providers.Kind
	}{
		{400, "Throttling", providers.Throttled, providers.Throttled},
		{400, "Throttling.Api", providers.Throttled, providers.Throttled},
		{503, "Throttling.User", providers.Throttled, providers.Throttled},
		{400, "Rejected.Throttling", providers.Throttled, providers.Throttled},
		{400, "FlowControlError", providers.Throttled, providers.Throttled},
		{429, "", providers.Throttled, providers.Throttled},
		{400, "ServiceBusy", providers.Transient, providers.Transient},
		{503, "ServiceBusy", providers.Transient, providers.Unknown},
		{400, "SignatureNonceUsed", providers.Transient, providers.Transient},
		{400, "LastOperationNotFinished", providers.Transient, providers.Transient},
		{403, "InvalidDomain.Configuring", providers.Transient, providers.Transient},
		{503, "ServiceUnavailable", providers.Transient, providers.Unknown},
		{500, "InternalError", providers.Transient, providers.Unknown},
		{400, "InternalError", providers.Transient, providers.Unknown},
		{400, "UnKnownError", providers.Transient, providers.Unknown},
		{502, "", providers.Transient, providers.Unknown},
		{408, "", providers.Transient, providers.Unknown},
		{404, "InvalidAccessKeyId.NotFound", providers.Denied, providers.Denied},
		{400, "SignatureDoesNotMatch", providers.Denied, providers.Denied},
		{400, "IncompleteSignature", providers.Denied, providers.Denied},
		{403, "InvalidSecurityToken.Expired", providers.Denied, providers.Denied},
		{403, "Forbidden", providers.Denied, providers.Denied},
		{403, "Forbidden.RAM", providers.Denied, providers.Denied},
		{403, "Forbidden.RiskControl", providers.Denied, providers.Denied},
		{400, "NoPermission.SLR", providers.Denied, providers.Denied},
		{403, "IllegalOperation", providers.Denied, providers.Denied},
		{400, "DomainRecordNotBelongToUser", providers.Denied, providers.Denied},
		{400, "IncorrectDomainUser", providers.Denied, providers.Denied},
		{401, "", providers.Denied, providers.Denied},
		{404, "InvalidDomain.NotFound", providers.Missing, providers.Missing},
		{404, "SomethingNew", providers.Missing, providers.Missing},
		{400, "ConfigurationConflicts", providers.Conflict, providers.Conflict},
		{400, "StagingConfig.Failed", providers.Conflict, providers.Conflict},
		{400, "DomainRecordLocked", providers.Conflict, providers.Conflict},
		{400, "DomainRecordDisable", providers.Conflict, providers.Conflict},
		{400, "DisableDNSSLB", providers.Conflict, providers.Conflict},
		{400, "RecordForbidden.BlackHole", providers.Conflict, providers.Conflict},
		{400, "InvalidWeigth", providers.Invalid, providers.Invalid},
		{400, "InvalidFunctions.Malformed", providers.Invalid, providers.Invalid},
		{400, "InvalidTimeStamp.Expired", providers.Invalid, providers.Invalid},
		{400, "MissingParameter", providers.Invalid, providers.Invalid},
		{400, "PanDomainRecord", providers.Invalid, providers.Invalid},
		{400, "SomethingNew", providers.Invalid, providers.Invalid},
	} {
		t.Run(fmt.Sprintf("%d %s", tt.status, tt.code), func(t *testing.T) {
			c := newCloud(t)
			reply := fmt.Sprintf(`{"Code":%q,"Message":"m","RequestId":"R1"}`, tt.code)
			for _, action := range []string{"DescribeSubDomainRecords", "UpdateDNSSLBWeight"} {
				c.replies[action], c.status[action] = reply, tt.status
			}
			dns := newDNS(t, c)
			_, err := dns.Read(t.Context())
			checkKind(t, err, tt.read)
			err = dns.Write(t.Context(), aWeight)
			checkKind(t, err, tt.write)
			e, _ := errors.AsType[*providers.Error](err)
			got := *e
			got.Err, got.Action = nil, ""
			want := providers.Error{Provider: "alicloud", Op: "alidns:UpdateDNSSLBWeight", Kind: tt.write, Code: tt.code, RequestID: "R1"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADomainThatIsConfiguringIsWorthWaitingFor(t *testing.T) {
	c := newCloud(t)
	c.replies["BatchSetCdnDomainConfig"] = `{"Code":"SomeCode","Message":"The domain is configuring.","RequestId":"R"}`
	c.status["BatchSetCdnDomainConfig"] = http.StatusForbidden
	err := must(alicloud.NewCDN(domain, c.options()))(t).SetTLS(t.Context(), plans.TLSWrite{Set: &c.cdn.TLS})
	checkKind(t, err, providers.Transient)
}

func TestDeniedNamesThePermissionButNotForBadKeys(t *testing.T) {
	for code, want := range map[string]string{"Forbidden.RAM": "alidns:UpdateDNSSLBWeight", "SignatureDoesNotMatch": "", "InvalidAccessKeyId.NotFound": ""} {
		c := newCloud(t)
		c.replies["UpdateDNSSLBWeight"] = fmt.Sprintf(`{"Code":%q,"Message":"m","RequestId":"R"}`, code)
		c.status["UpdateDNSSLBWeight"] = http.StatusForbidden
		e, ok := errors.AsType[*providers.Error](newDNS(t, c).Write(t.Context(), aWeight))
		if !ok || e.Kind != providers.Denied || e.Action != want {
			t.Errorf("%s: got %+v, want action %q", code, e, want)
		}
	}
}

func TestAnErrorWithANumericCodeDoesNotPanic(t *testing.T) {
	c := newCloud(t)
	c.replies["UpdateDNSSLBWeight"] = `{"Code":40012,"Message":"m","RequestId":7}`
	c.status["UpdateDNSSLBWeight"] = http.StatusBadRequest
	e, ok := errors.AsType[*providers.Error](newDNS(t, c).Write(t.Context(), aWeight))
	if !ok || e.Kind != providers.Invalid || e.Code != "40012" || e.RequestID != "7" {
		t.Errorf("got %+v, want an invalid error with code 40012 of request 7", e)
	}
}

func TestAWriteThatNeverLeftIsTransient(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a port that nobody listens on
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	dns := must(alicloud.NewDNS("example.com", "cdn", "default", alicloud.Options{Endpoint: "http://" + addr, Credentials: keys}))(t)
	checkKind(t, dns.Write(t.Context(), aWeight), providers.Transient)
}

func TestTheEnvironmentCannotPutAProxyBeforeLoopback(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1/%zz")
	}
	t.Setenv("NO_PROXY", "(") // the SDK takes each entry for a regular expression
	c := newCloud(t)
	o := c.options()
	o.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment}
	if err := must(alicloud.NewDNS("example.com", "cdn", "default", o))(t).Write(t.Context(), aWeight); err != nil {
		t.Error(err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTheVendorIsAskedByHTTPS(t *testing.T) {
	var asked []string
	o := alicloud.Options{Credentials: keys, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.Scheme+"://"+r.URL.Host+" "+r.URL.Query().Get("RegionId"))
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"RequestId":"R"}`)), Header: http.Header{}, Request: r}, nil
	})}
	abroad := o
	abroad.Region = "eu-central-1"
	for _, call := range []func() error{
		func() error { _, err := must(alicloud.NewCDN(domain, o))(t).Read(t.Context()); return err },
		func() error { _, err := must(alicloud.NewCDN(domain, abroad))(t).Read(t.Context()); return err },
		func() error {
			return must(alicloud.NewDNS("example.com", "cdn", "default", o))(t).Write(t.Context(), aWeight)
		},
		func() error { _, err := must(alicloud.NewMonitor(domain, o))(t).QPS(t.Context(), 1, 2); return err },
	} {
		_ = call()
	}
	want := []string{
		"https://cdn.aliyuncs.com cn-hangzhou", "https://cdn.ap-southeast-1.aliyuncs.com eu-central-1",
		"https://alidns.aliyuncs.com cn-hangzhou", "https://cdn.aliyuncs.com cn-hangzhou",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for name, o := range map[string]alicloud.Options{
		"no credentials":        {},
		"no scheme":             {Credentials: keys, Endpoint: "127.0.0.1:8080"},
		"another scheme":        {Credentials: keys, Endpoint: "ftp://127.0.0.1"},
		"no host":               {Credentials: keys, Endpoint: "http://"},
		"a path":                {Credentials: keys, Endpoint: "http://127.0.0.1/api"},
		"a query with a secret": {Credentials: keys, Endpoint: "http://127.0.0.1/?k=" + keySecret},
		"a password":            {Credentials: keys, Endpoint: "http://u:" + keySecret + "@127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{second(alicloud.NewCDN(domain, o)), second(alicloud.NewDNS("example.com", "cdn", "default", o)), second(alicloud.NewMonitor(domain, o))} {
				checkKind(t, err, providers.Invalid)
				if strings.Contains(err.Error(), keySecret) {
					t.Errorf("the text shows a secret: %v", err)
				}
			}
		})
	}
	good := alicloud.Options{Credentials: keys}
	for _, err := range []error{
		second(alicloud.NewCDN("a.example.com,b.example.com", good)), second(alicloud.NewMonitor("", good)), second(alicloud.NewMonitor("a.example.com,b.example.com", good)), second(alicloud.NewDNS("example.com", "", "default", good)),
	} {
		checkKind(t, err, providers.Invalid)
	}
}

func second[T any](_ T, err error) error { return err }

func TestCredentialsThatCannotBeHad(t *testing.T) {
	c := newCloud(t)
	o := c.options()
	for name, f := range map[string]providers.CredentialsFunc{
		"an error": func(context.Context) (providers.Credentials, error) {
			return providers.Credentials{}, errors.New("no such file")
		},
		"empty": func(context.Context) (providers.Credentials, error) { return providers.Credentials{}, nil },
	} {
		o.Credentials = f
		err := must(alicloud.NewDNS("example.com", "cdn", "default", o))(t).Write(t.Context(), aWeight)
		if providers.KindOf(err) != providers.Denied {
			t.Errorf("%s: error %v, want denied", name, err)
		}
	}
	o.Timeout = time.Millisecond
	o.Credentials = func(ctx context.Context) (providers.Credentials, error) {
		<-ctx.Done()
		return providers.Credentials{}, ctx.Err()
	}
	if err := must(alicloud.NewDNS("example.com", "cdn", "default", o))(t).Write(t.Context(), aWeight); providers.KindOf(err) != providers.Transient {
		t.Errorf("late credentials: error %v, want transient", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Credentials = func(ctx context.Context) (providers.Credentials, error) {
		cancel()
		return providers.Credentials{}, ctx.Err()
	}
	err := must(alicloud.NewDNS("example.com", "cdn", "default", o))(t).Write(ctx, aWeight)
	if providers.KindOf(err) != providers.Transient || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want transient that wraps context.Canceled", err)
	}
	if n := c.side().Requests(); n != 0 {
		t.Errorf("%d requests without credentials", n)
	}
}

func TestARefusedSignatureShowsNothingOfWhatWasSigned(t *testing.T) {
	c := newCloud(t)
	o := c.options()
	wrong := "another/secret+of=mine"
	o.Credentials = func(ctx context.Context) (providers.Credentials, error) {
		k, err := keys(ctx)
		k.Secret = providers.NewSecret(wrong)
		return k, err
	}
	err := must(alicloud.NewDNS("example.com", "cdn", "default", o))(t).Write(t.Context(), aWeight)
	checkKind(t, err, providers.Denied)
	signed := c.requests[0]
	plain := err.Error()
	for range 3 {
		for _, secret := range []string{keyID, wrong, token, signed.Get("Signature"), signed.Get("SignatureNonce")} {
			if strings.Contains(plain, secret) {
				t.Errorf("the text shows %q: %v", secret, err)
			}
		}
		if plain, err = url.QueryUnescape(plain); err != nil {
			break
		}
	}
}
