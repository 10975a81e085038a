package alicloud_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/alicloud"
	"github.com/tlsroll/tlsroll/providers/providertest"
)

const (
	keyID     = "LTAIplantedKeyId"
	keySecret = "planted/secret+key=="
	token     = "planted token/with+odd&signs"
	domain    = "cdn.example.com"
)

func keys(context.Context) (providers.Credentials, error) {
	return providers.Credentials{
		KeyID: providers.NewSecret(keyID), Secret: providers.NewSecret(keySecret), Token: providers.NewSecret(token),
	}, nil
}

// cloud is a small stand-in for the vendor's API. Its state is what the tests set.
type cloud struct {
	url     string
	waiting chan struct{}

	mu       sync.Mutex
	fault    providertest.Fault
	requests []url.Values
	methods  []string
	writes   []providers.Call
	replies  map[string]string // action -> body, instead of what the state says
	status   map[string]int    // action -> HTTP status of the reply

	cdn    plans.CDNState
	dns    plans.DNSState
	codes  map[string][][2]string // time stamp -> code, count
	nextID int
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{
		waiting: make(chan struct{}, 64), fault: providertest.Healthy, replies: map[string]string{}, status: map[string]int{}, nextID: 7,
		cdn: plans.CDNState{
			Domain: domain, CNAME: "cdn.example.com.w.kunlunsl.example.com", Status: "online", Online: true, Certificate: true, TLSReadable: true,
			TLS: plans.TLSSettings{
				Explicit: true, Enabled: plans.TLSSetOf(plans.TLS10, plans.TLS11, plans.TLS12), ConfigID: "222728944812032", Status: plans.ConfigLive,
				Extra: []plans.Arg{{Name: "ciphersuitegroup", Value: "strict <&>"}},
			},
		},
		dns: plans.DNSState{
			Weighted: true, MinTTL: time.Minute,
			Records: []plans.Record{
				{ID: "9009123456789", Name: "cdn", Type: "CNAME", Value: "p.example.com", Line: "default", TTL: time.Minute, Weight: 60, WeightKnown: true, Enabled: true},
				{ID: "9009123456790", Name: "cdn", Type: "CNAME", Value: "b.example.com", Line: "default", TTL: time.Minute, Weight: 40, WeightKnown: true, Enabled: true, Remark: "by hand"},
			},
		},
		codes: map[string][][2]string{},
	}
	server := httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *cloud) options() alicloud.Options {
	return alicloud.Options{Endpoint: c.url, Credentials: keys, Timeout: time.Minute}
}

func (c *cloud) patient(timeout time.Duration) alicloud.Options {
	o := c.options()
	o.Timeout = timeout
	return o
}

func (c *cloud) side() providertest.Side {
	return providertest.Side{
		Secrets:   c.secrets,
		Misbehave: func(f providertest.Fault) { c.mu.Lock(); defer c.mu.Unlock(); c.fault = f },
		Requests:  func() int { c.mu.Lock(); defer c.mu.Unlock(); return len(c.requests) },
		Writes:    func() []providers.Call { c.mu.Lock(); defer c.mu.Unlock(); return slices.Clone(c.writes) },
		Waiting:   c.waiting,
	}
}

func (c *cloud) secrets() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []string{keyID, keySecret, token}
	for _, q := range c.requests {
		all = append(all, q.Get("Signature"))
	}
	return all
}

// asked returns the parameters of every request of an action.
func (c *cloud) asked(action string) []url.Values {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.requests), func(q url.Values) bool { return q.Get("Action") != action })
}

func (c *cloud) serve(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	c.mu.Lock()
	c.requests = append(c.requests, q)
	c.methods = append(c.methods, q.Get("Action")+" "+r.Method)
	fault := c.fault
	if signature(r.Method, q) != q.Get("Signature") || q.Get("SecurityToken") != token {
		c.mu.Unlock()
		fail(w, http.StatusBadRequest, "SignatureDoesNotMatch", "server string to sign is:"+url.QueryEscape(r.URL.RawQuery))
		return
	}
	c.mu.Unlock()
	if misbehave(w, r, fault, c.waiting) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	body, status := c.act(q), http.StatusOK
	if reply, ok := c.replies[q.Get("Action")]; ok {
		body = reply
		status = max(c.status[q.Get("Action")], http.StatusOK)
	}
	if fault == providertest.AppliedThenUnavailable {
		fail(w, http.StatusServiceUnavailable, "ServiceUnavailable", "try later "+r.URL.String())
		return
	}
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

// misbehave answers in place of the action; every body repeats the signed request.
func misbehave(w http.ResponseWriter, r *http.Request, f providertest.Fault, waiting chan<- struct{}) bool {
	echo := "asked http://" + r.Host + r.URL.String() + " with " + keySecret + " and " + token + " signed " + r.URL.Query().Get("Signature")
	switch f {
	case providertest.PermissionDenied:
		fail(w, http.StatusForbidden, "Forbidden.RAM", echo)
	case providertest.TooManyCalls:
		fail(w, http.StatusBadRequest, "Throttling.User", echo)
	case providertest.Unavailable:
		fail(w, http.StatusServiceUnavailable, "ServiceUnavailable", echo)
	case providertest.BrokenJSON:
		if r.URL.Query().Get("Action") == "DeleteSpecificConfig" { // whose answer has nothing but a RequestId
			fmt.Fprint(w, `{"RequestId":{}}`)
			return true
		}
		fmt.Fprintf(w, `{"RequestId":"R","RecordId":{},"DomainRecords":[],"DomainConfigList":%q,"GetDomainDetailModel":7,"RealTimeHttpCodeData":3}`, echo)
	case providertest.NumericCode:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, `{"Code":500,"Message":%q,"RequestId":"R"}`, echo)
	default:
		return providertest.Misbehave(w, r, f, waiting, echo, `{"RequestId":"R",`)
	}
	return true
}

func fail(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	body, _ := json.Marshal(map[string]string{"Code": code, "Message": message, "RequestId": "R-" + code, "HostId": "127.0.0.1"})
	_, _ = w.Write(body)
}

// signature is the vendor's RPC signature, written from its description.
func signature(method string, q url.Values) string {
	encode := func(s string) string {
		return strings.NewReplacer("+", "%20", "*", "%2A", "%7E", "~").Replace(url.QueryEscape(s))
	}
	var pairs []string
	for name := range q {
		if name != "Signature" {
			pairs = append(pairs, encode(name)+"="+encode(q.Get(name)))
		}
	}
	slices.Sort(pairs)
	mac := hmac.New(sha1.New, []byte(keySecret+"&"))
	mac.Write([]byte(method + "&%2F&" + encode(strings.Join(pairs, "&"))))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// act carries out an action and returns the answer. The caller holds the lock.
func (c *cloud) act(q url.Values) string {
	switch q.Get("Action") {
	case "DescribeCdnDomainDetail":
		return c.detail()
	case "DescribeCdnDomainConfigs":
		return c.configs()
	case "BatchSetCdnDomainConfig":
		return c.setConfig(q)
	case "DeleteSpecificConfig":
		c.wrote("cdn", q, "DomainName", "ConfigId")
		c.cdn.TLS = plans.TLSSettings{}
		return `{"RequestId":"R"}`
	case "DescribeSubDomainRecords":
		return c.records(q)
	case "DescribeDNSSLBSubDomains":
		return fmt.Sprintf(`{"RequestId":"R","TotalCount":1,"PageNumber":1,"PageSize":100,"SlbSubDomains":{"SlbSubDomain":[{"SubDomain":"cdn.example.com","Type":"CNAME",
			"Open":%v,"RecordCount":2,"LineAlgorithms":{"LineAlgorithm":[{"Line":"default","Open":true}]}}]}}`, c.dns.Weighted)
	case "DescribeDomainInfo":
		return fmt.Sprintf(`{"RequestId":"R","DomainName":"example.com","MinTtl":%d}`, int(c.dns.MinTTL.Seconds()))
	case "UpdateDNSSLBWeight":
		c.wrote("alidns", q, "RecordId", "Weight")
		r := c.record(q.Get("RecordId"))
		r.Weight, _ = strconv.Atoi(q.Get("Weight"))
		return fmt.Sprintf(`{"RequestId":"R","RecordId":%q,"Weight":%d}`, r.ID, r.Weight)
	case "SetDomainRecordStatus":
		c.wrote("alidns", q, "RecordId", "Status")
		r := c.record(q.Get("RecordId"))
		r.Enabled = q.Get("Status") == "Enable"
		return fmt.Sprintf(`{"RequestId":"R","RecordId":%q,"Status":%q}`, r.ID, strings.ToUpper(q.Get("Status")))
	case "DescribeDomainRealTimeHttpCodeData":
		return c.codeData(q)
	}
	return "unexpected action " + q.Get("Action")
}

func (c *cloud) wrote(product string, q url.Values, names ...string) {
	call := providers.Call{API: product + ":" + q.Get("Action")}
	for _, n := range names {
		call.Params = append(call.Params, providers.Param{Name: n, Value: q.Get(n)})
	}
	c.writes = append(c.writes, call)
}

func (c *cloud) record(id string) *plans.Record {
	i := slices.IndexFunc(c.dns.Records, func(r plans.Record) bool { return r.ID == id })
	return &c.dns.Records[i]
}

func (c *cloud) detail() string {
	return fmt.Sprintf(`{"RequestId":"R","GetDomainDetailModel":{"DomainName":%q,"Cname":%q,"DomainStatus":%q,"ServerCertificateStatus":"on","Description":""}}`,
		c.cdn.Domain, strings.ToUpper(c.cdn.CNAME)+".", c.cdn.Status)
}

func (c *cloud) configs() string {
	if !c.cdn.TLS.Explicit {
		return `{"RequestId":"R","DomainConfigs":{"DomainConfig":[{"ConfigId":"1","FunctionName":"https_option","Status":"success","FunctionArgs":{"FunctionArg":[]}}]}}`
	}
	args := []map[string]string{}
	for _, a := range slices.Backward(c.cdn.TLS.Extra) {
		args = append(args, map[string]string{"ArgName": a.Name, "ArgValue": a.Value})
	}
	for i, name := range []string{"tls13", "tls11", "tls12", "tls10"} {
		v := []plans.TLSVersion{plans.TLS13, plans.TLS11, plans.TLS12, plans.TLS10}[i]
		args = append(args, map[string]string{"ArgName": name, "ArgValue": map[bool]string{true: "on", false: "off"}[c.cdn.TLS.Enabled.Has(v)]})
	}
	raw, _ := json.Marshal(args)
	return fmt.Sprintf(`{"RequestId":"R","DomainConfigs":{"DomainConfig":[
		{"ConfigId":"1","FunctionName":"https_option","Status":"success","ParentId":"","FunctionArgs":{"FunctionArg":[{"ArgName":"http2","ArgValue":"on"}]}},
		{"ConfigId":%q,"FunctionName":"https_tls_version","Status":"success","ParentId":"","FunctionArgs":{"FunctionArg":%s}}]}}`, c.cdn.TLS.ConfigID, raw)
}

func (c *cloud) setConfig(q url.Values) string {
	c.wrote("cdn", q, "DomainNames", "Functions")
	var functions []struct {
		FunctionName string
		FunctionArgs []struct{ ArgName, ArgValue string }
		ConfigID     json.Number `json:"configId"`
	}
	if err := json.Unmarshal([]byte(q.Get("Functions")), &functions); err != nil || len(functions) != 1 {
		return `{"RequestId":"R"}`
	}
	set := plans.TLSSettings{Explicit: true, ConfigID: functions[0].ConfigID.String(), Status: plans.ConfigLive}
	for _, a := range functions[0].FunctionArgs {
		i := slices.Index([]string{"tls10", "tls11", "tls12", "tls13"}, a.ArgName)
		switch {
		case i < 0:
			set.Extra = append(set.Extra, plans.Arg{Name: a.ArgName, Value: a.ArgValue})
		case a.ArgValue == "on":
			set.Enabled = set.Enabled.With(plans.TLSVersions()[i])
		}
	}
	if set.ConfigID == "" {
		set.ConfigID = strconv.Itoa(c.nextID)
		c.nextID++
	}
	c.cdn.TLS = set
	return fmt.Sprintf(`{"RequestId":"R","DomainConfigList":{"DomainConfigModel":[{"ConfigId":%s,"DomainName":%q,"FunctionName":%q}]}}`,
		set.ConfigID, q.Get("DomainNames"), functions[0].FunctionName)
}

func (c *cloud) records(q url.Values) string {
	size, _ := strconv.Atoi(q.Get("PageSize"))
	page, _ := strconv.Atoi(q.Get("PageNumber"))
	all := c.dns.Records
	from, to := min((page-1)*size, len(all)), min(page*size, len(all))
	list := []map[string]any{}
	for _, r := range all[from:to] {
		m := map[string]any{
			"RecordId": r.ID, "RR": r.Name, "Type": r.Type, "Value": r.Value, "Line": r.Line, "TTL": int(r.TTL.Seconds()), "Locked": r.Locked,
			"Status": map[bool]string{true: "ENABLE", false: "DISABLE"}[r.Enabled], "Remark": r.Remark, "Priority": 0, "DomainName": "example.com",
		}
		if r.WeightKnown {
			m["Weight"] = r.Weight
		}
		list = append(list, m)
	}
	raw, _ := json.Marshal(map[string]any{
		"RequestId": "R", "TotalCount": len(all), "PageNumber": page, "PageSize": size, "DomainRecords": map[string]any{"Record": list},
	})
	return string(raw)
}

func (c *cloud) codeData(q url.Values) string {
	start, _ := time.Parse(time.RFC3339, q.Get("StartTime"))
	end, _ := time.Parse(time.RFC3339, q.Get("EndTime"))
	interval := "60"
	if end.Sub(start) > time.Hour {
		interval = "300"
	}
	usage := []any{}
	for stamp, codes := range c.codes {
		at, _ := time.Parse(time.RFC3339, stamp)
		if at.Before(start) || at.After(end) { // an end that is included, to show that the adapter does not rely on it
			continue
		}
		list := []any{}
		for _, cc := range codes {
			list = append(list, map[string]string{"Code": cc[0], "Count": cc[1], "Proportion": "1"})
		}
		usage = append(usage, map[string]any{"TimeStamp": stamp, "Value": map[string]any{"RealTimeCodeProportionData": list}})
	}
	raw, _ := json.Marshal(map[string]any{
		"RequestId": "R", "DomainName": q.Get("DomainName"), "DataInterval": interval, "StartTime": q.Get("StartTime"), "EndTime": q.Get("EndTime"),
		"RealTimeHttpCodeData": map[string]any{"UsageData": usage},
	})
	return string(raw)
}
