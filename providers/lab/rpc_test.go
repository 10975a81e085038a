package lab_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/providers/lab"
)

const stamp = "2006-01-02T15:04:05Z"

func TestSignaturesAreVerified(t *testing.T) {
	l := start(t, lab.Options{})
	detail := func(extra params) params {
		p := params{"Action": "DescribeCdnDomainDetail", "DomainName": "cdn.example.com"}
		maps.Copy(p, extra)
		return p
	}
	without := func(name string) url.Values {
		q := signed(http.MethodGet, detail(nil))
		q.Del(name)
		return q
	}
	changed := signed(http.MethodGet, detail(nil))
	changed.Set("DomainName", "www.example.com")
	replayed := signed(http.MethodGet, detail(nil))
	if a := send(t, l, http.MethodGet, replayed); a.status != http.StatusOK {
		t.Fatalf("a good signature got %d %s", a.status, a.raw)
	}
	ago := func(d time.Duration) params { return params{"Timestamp": time.Now().Add(-d).UTC().Format(stamp)} }
	for _, row := range []struct {
		name   string
		method string
		query  url.Values
		status int
		code   string
	}{
		{"good, GET", http.MethodGet, signed(http.MethodGet, detail(nil)), 200, ""},
		{"good, POST", http.MethodPost, signed(http.MethodPost, detail(nil)), 200, ""},
		{"signed for another method", http.MethodPost, signed(http.MethodGet, detail(nil)), 400, "SignatureDoesNotMatch"},
		{"awkward characters", http.MethodGet, signed(http.MethodGet, detail(params{"Note": "a b*c~d+e/f=ü&"})), 200, ""},
		{"one key the prefix of another", http.MethodGet, signed(http.MethodGet, detail(params{"Tag": "x", "Tag1": "y"})), 200, ""},
		{"parameter changed after signing", http.MethodGet, changed, 400, "SignatureDoesNotMatch"},
		{"nonce used twice", http.MethodGet, replayed, 400, "SignatureNonceUsed"},
		{"14 minutes old", http.MethodGet, signed(http.MethodGet, detail(ago(14*time.Minute))), 200, ""},
		{"16 minutes old", http.MethodGet, signed(http.MethodGet, detail(ago(16*time.Minute))), 400, "InvalidTimeStamp.Expired"},
		{"16 minutes early", http.MethodGet, signed(http.MethodGet, detail(ago(-16*time.Minute))), 400, "InvalidTimeStamp.Expired"},
		{"timestamp without a zone", http.MethodGet, signed(http.MethodGet, detail(params{"Timestamp": "2026-01-01 00:00:00"})), 400, "InvalidTimeStamp.Format"},
		{"unknown key", http.MethodGet, signed(http.MethodGet, detail(params{"AccessKeyId": "another"})), 404, "InvalidAccessKeyId.NotFound"},
		{"token where none is due", http.MethodGet, signed(http.MethodGet, detail(params{"SecurityToken": "x"})), 400, "InvalidSecurityToken.Malformed"},
		{"no signature", http.MethodGet, without("Signature"), 400, "MissingParameter"},
		{"no nonce", http.MethodGet, without("SignatureNonce"), 400, "MissingParameter"},
		{"other signature method", http.MethodGet, signed(http.MethodGet, detail(params{"SignatureMethod": "HMAC-MD5"})), 400, "IncompleteSignature"},
		{"other version", http.MethodGet, signed(http.MethodGet, detail(params{"Version": "2015-01-09"})), 400, "InvalidVersion"},
		{"unknown action", http.MethodGet, signed(http.MethodGet, params{"Action": "DescribeNothing"}), 404, "InvalidAction.NotFound"},
		{"POST where only GET is taken", http.MethodPost, signed(http.MethodPost, params{"Action": "DescribeDomainRealTimeQpsData"}), 405, "UnsupportedHTTPMethod"},
	} {
		a := send(t, l, row.method, row.query)
		if a.status != row.status || a.code() != row.code {
			t.Errorf("%s: %d %q, want %d %q", row.name, a.status, a.code(), row.status, row.code)
		}
		if a.body["RequestId"] == nil || row.code != "" && (a.body["Message"] == nil || a.body["HostId"] == nil || a.body["Recommend"] == nil) {
			t.Errorf("%s: the answer lacks a part: %s", row.name, a.raw)
		}
	}
}

func TestSecurityTokenIsAskedForWhenConfigured(t *testing.T) {
	l := start(t, lab.Options{Token: "sts"})
	p := params{"Action": "DescribeCdnDomainDetail", "DomainName": "cdn.example.com"}
	if a := call(t, l, p); a.code() != "InvalidSecurityToken.Malformed" {
		t.Errorf("without the token: %d %q", a.status, a.code())
	}
	p["SecurityToken"] = "sts"
	if a := call(t, l, p); a.status != http.StatusOK {
		t.Errorf("with the token: %d %s", a.status, a.raw)
	}
	if got := l.Env()["ALIBABA_CLOUD_SECURITY_TOKEN"]; got != "sts" {
		t.Errorf("the environment has the token %q", got)
	}
}

func TestCallsAreKeptWithoutSecrets(t *testing.T) {
	l := start(t, lab.Options{})
	call(t, l, params{"Action": "UpdateDNSSLBWeight", "RecordId": "9009123456789", "Weight": "0"})
	call(t, l, params{"Action": "UpdateDNSSLBWeight", "RecordId": "9009123456789", "Weight": "10"})
	calls := l.Calls()
	var got []lab.Call
	for _, c := range calls {
		if c.Virtual.Before(night) || time.Since(c.Wall) > time.Hour {
			t.Errorf("wall %v, virtual %v", c.Wall, c.Virtual)
		}
		c.Wall, c.Virtual = time.Time{}, time.Time{}
		got = append(got, c)
	}
	record := func(weight string) params { return params{"RecordId": "9009123456789", "Weight": weight} }
	want := []lab.Call{
		{API: "alidns:UpdateDNSSLBWeight", Params: record("0"), Write: true, Status: 400, Code: "InvalidWeigth"},
		{API: "alidns:UpdateDNSSLBWeight", Params: record("10"), Write: true, Status: 200},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	calls[0].Params["Weight"] = "changed"
	if l.Calls()[0].Params["Weight"] != "0" {
		t.Error("a caller changed the lab's own record of a call")
	}
}

func TestDomainAndConfiguration(t *testing.T) {
	l := start(t, instantly(0))
	detail := call(t, l, params{"Action": "DescribeCdnDomainDetail", "DomainName": "cdn.example.com"})
	for k, want := range map[string]any{
		"DomainStatus": "online", "ServerCertificateStatus": "on", "Cname": "cdn.example.com.primary.example.net", "DomainName": "cdn.example.com",
	} {
		if got := at(detail.body, "GetDomainDetailModel", k); got != want {
			t.Errorf("%s is %v, want %v", k, got, want)
		}
	}
	set := call(t, l, params{
		"Action": "BatchSetCdnDomainConfig", "DomainNames": "cdn.example.com",
		"Functions": `[{"functionName":"https_tls_version","configId":222728944812032,"functionArgs":[{"argName":"tls10","argValue":"off"},` +
			`{"argName":"tls12","argValue":"on"},{"argName":"tls13","argValue":"on"},{"argName":"ciphersuitegroup","argValue":"strict"}]}]`,
	})
	if got := at(set.body, "DomainConfigList", "DomainConfigModel", 0, "ConfigId"); got != float64(222728944812032) {
		t.Errorf("ConfigId is %v, want the number: %s", got, set.raw)
	}
	read := call(t, l, params{"Action": "DescribeCdnDomainConfigs", "DomainName": "cdn.example.com", "FunctionNames": "https_tls_version"})
	args := map[string]any{}
	for i := range length(at(read.body, "DomainConfigs", "DomainConfig", 0, "FunctionArgs", "FunctionArg")) {
		a := at(read.body, "DomainConfigs", "DomainConfig", 0, "FunctionArgs", "FunctionArg", i)
		args[at(a, "ArgName").(string)] = at(a, "ArgValue")
	}
	want := map[string]any{"tls10": "off", "tls11": "off", "tls12": "on", "tls13": "on", "ciphersuitegroup": "strict"}
	if diff := cmp.Diff(want, args); diff != "" {
		t.Errorf("arguments (-want +got)\n%s", diff)
	}
	one := at(read.body, "DomainConfigs", "DomainConfig", 0)
	if at(one, "ConfigId") != "222728944812032" || at(one, "Status") != "success" || at(one, "ParentId") != "" {
		t.Errorf("configuration %v", one)
	}
	if a := call(t, l, params{"Action": "DeleteSpecificConfig", "DomainName": "cdn.example.com", "ConfigId": "222728944812032"}); a.status != 200 {
		t.Errorf("delete: %s", a.raw)
	}
	all := call(t, l, params{"Action": "DescribeCdnDomainConfigs", "DomainName": "cdn.example.com"})
	if strings.Contains(all.raw, "https_tls_version") || length(at(all.body, "DomainConfigs", "DomainConfig")) != 2 {
		t.Errorf("after the delete: %s", all.raw)
	}
}

func TestRefusals(t *testing.T) {
	l := start(t, lab.Options{})
	functions := func(f string) params {
		return params{"Action": "BatchSetCdnDomainConfig", "DomainNames": "cdn.example.com", "Functions": f}
	}
	weight := func(id, n string) params { return params{"Action": "UpdateDNSSLBWeight", "RecordId": id, "Weight": n} }
	codes := func(from, to string) params {
		return params{"Action": "DescribeDomainRealTimeHttpCodeData", "DomainName": "cdn.example.com", "StartTime": from, "EndTime": to}
	}
	for _, row := range []struct {
		name string
		call params
		code string
	}{
		{"foreign domain", params{"Action": "DescribeCdnDomainConfigs", "DomainName": "www.example.com"}, "InvalidDomain.NotFound"},
		{"no domain", params{"Action": "DescribeCdnDomainDetail"}, "MissingParameter"},
		{"set for a foreign domain", params{"Action": "BatchSetCdnDomainConfig", "DomainNames": "a.example.com", "Functions": "[]"}, "InvalidDomain.NotFound"},
		{"functions that are not JSON", functions("{"), "InvalidFunctions.Malformed"},
		{"no function", functions("[]"), "InvalidFunctions.Malformed"},
		{"argument that is not a string", functions(`[{"functionName":"https_tls_version","functionArgs":[{"argName":"tls13","argValue":true}]}]`), "InvalidFunctions.Malformed"},
		{"argument that is neither on nor off", functions(`[{"functionName":"https_tls_version","functionArgs":[{"argName":"tls13","argValue":"yes"}]}]`), "InvalidArgValue.ValueNotSupported"},
		{"another function", functions(`[{"functionName":"HSTS","functionArgs":[]}]`), "InvalidFunctionName.ValueNotSupported"},
		{"configuration that is not there", functions(`[{"functionName":"https_tls_version","configId":"7","functionArgs":[]}]`), "InvalidConfigId.ValueNotSupported"},
		{"weight 0", weight("9009123456789", "0"), "InvalidWeigth"},
		{"weight 101", weight("9009123456789", "101"), "InvalidWeigth"},
		{"weight that is no number", weight("9009123456789", "ten"), "InvalidWeigth"},
		{"foreign record", weight("1", "10"), "DomainRecordNotBelongToUser"},
		{"no record", weight("", "10"), "MissingParameter"},
		{"status of neither kind", params{"Action": "SetDomainRecordStatus", "RecordId": "9009123456789", "Status": "Off"}, "InvalidParameter"},
		{"foreign zone", params{"Action": "DescribeDNSSLBSubDomains", "DomainName": "example.org"}, "IncorrectDomainUser"},
		{"unknown zone", params{"Action": "DescribeDomainInfo", "DomainName": "example.org"}, "InvalidDomainName.NoExist"},
		{"page too large", params{"Action": "DescribeSubDomainRecords", "SubDomain": "cdn.example.com", "PageSize": "101"}, "InvalidParameter"},
		{"page zero", params{"Action": "DescribeDomainRecords", "DomainName": "example.com", "PageNumber": "0"}, "InvalidParameter"},
		{"one end of a span", codes("2021-06-24T17:00:00Z", ""), "MissingParameter"},
		{"malformed start", codes("yesterday", "2021-06-24T17:00:00Z"), "InvalidStartTime.Malformed"},
		{"malformed end", codes("2021-06-24T17:00:00Z", "2021-06-24 18:00"), "InvalidEndTime.Malformed"},
		{"empty span", codes("2021-06-24T17:00:00Z", "2021-06-24T17:00:00Z"), "InvalidEndTime.Mismatch"},
		{"minutes of last month", codes("2021-05-24T17:00:00Z", "2021-05-24T17:30:00Z"), "InvalidStartTime.ValueNotSupported"},
	} {
		if a := call(t, l, row.call); a.code() != row.code || a.status < 400 {
			t.Errorf("%s: %d %q, want %q", row.name, a.status, a.code(), row.code)
		}
	}
}
