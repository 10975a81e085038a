package lab_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/alidns"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/cdn"
	"github.com/qiniu/go-sdk/v7/auth"
	"github.com/qiniu/go-sdk/v7/client"

	"github.com/tlsroll/tlsroll/providers/lab"
)

// TestVendorsClients shows that the vendors' own clients find nothing to complain about.
func TestVendorsClients(t *testing.T) {
	l := start(t, lab.Options{Token: "sts-token"})
	u, err := url.Parse(l.Endpoints().Alicloud)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	cfg := sdk.NewConfig().WithScheme("HTTP")
	cfg.Transport = transport
	key := credentials.NewStsTokenCredential("lab-access-key", "lab-secret", "sts-token")

	c, err := cdn.NewClientWithOptions("cn-hangzhou", cfg, key)
	if err != nil {
		t.Fatal(err)
	}
	c.Domain = u.Host
	configs := cdn.CreateDescribeCdnDomainConfigsRequest()
	configs.DomainName, configs.FunctionNames = "cdn.example.com", "https_tls_version"
	if r, err := c.DescribeCdnDomainConfigs(configs); err != nil || len(r.DomainConfigs.DomainConfig) != 1 || len(r.DomainConfigs.DomainConfig[0].FunctionArgs.FunctionArg) != 4 {
		t.Errorf("configurations: %v, %v", r, err)
	}
	set := cdn.CreateBatchSetCdnDomainConfigRequest()
	set.DomainNames = "cdn.example.com"
	set.Functions = `[{"functionName":"https_tls_version","functionArgs":[{"argName":"tls12","argValue":"on"},{"argName":"tls13","argValue":"on"}]}]`
	if r, err := c.BatchSetCdnDomainConfig(set); err != nil || r.DomainConfigList.DomainConfigModel[0].ConfigId != 222728944812032 {
		t.Errorf("set: %v, %v", r, err)
	}
	qps := cdn.CreateDescribeDomainRealTimeQpsDataRequest()
	qps.DomainName = "cdn.example.com"
	if r, err := c.DescribeDomainRealTimeQpsData(qps); err != nil || len(r.Data.QpsModel) < 50 {
		t.Errorf("requests a second: %v, %v", r, err)
	}
	codes := cdn.CreateDescribeDomainRealTimeHttpCodeDataRequest()
	codes.DomainName = "cdn.example.com"
	if r, err := c.DescribeDomainRealTimeHttpCodeData(codes); err != nil || r.DataInterval != "60" || len(r.RealTimeHttpCodeData.UsageData) < 50 {
		t.Errorf("status codes: %v, %v", r, err)
	}

	d, err := alidns.NewClientWithOptions("cn-hangzhou", cfg, key)
	if err != nil {
		t.Fatal(err)
	}
	d.Domain = u.Host
	weight := alidns.CreateUpdateDNSSLBWeightRequest()
	weight.RecordId, weight.Weight = "9009123456789", requests.NewInteger(10)
	if r, err := d.UpdateDNSSLBWeight(weight); err != nil || r.Weight != 10 {
		t.Errorf("weight: %v, %v", r, err)
	}
	records := alidns.CreateDescribeSubDomainRecordsRequest()
	records.SubDomain = "cdn.example.com"
	if r, err := d.DescribeSubDomainRecords(records); err != nil || r.TotalCount != 2 || r.DomainRecords.Record[0].Weight != 10 {
		t.Errorf("records: %v, %v", r, err)
	}
	for name, err := range map[string]error{
		"weighting": second(d.DescribeDNSSLBSubDomains(func() *alidns.DescribeDNSSLBSubDomainsRequest {
			r := alidns.CreateDescribeDNSSLBSubDomainsRequest()
			r.DomainName = "example.com"
			return r
		}())),
		"zone": second(d.DescribeDomainInfo(func() *alidns.DescribeDomainInfoRequest {
			r := alidns.CreateDescribeDomainInfoRequest()
			r.DomainName = "example.com"
			return r
		}())),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestQiniusClient(t *testing.T) {
	l := start(t, lab.Options{})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c := client.Client{Client: &http.Client{Transport: transport}}
	mac := auth.New("lab-qiniu-key", "lab-qiniu-secret")
	var domain struct {
		OperatingState string `json:"operatingState"`
	}
	if err := c.CredentialedCall(t.Context(), mac, auth.TokenQiniu, &domain, http.MethodGet, l.Endpoints().Qiniu+"/domain/cdn.example.com", nil); err != nil || domain.OperatingState != "success" {
		t.Errorf("domain: %+v, %v", domain, err)
	}
	var counts struct {
		Code int
		Data struct {
			Points   []string
			ReqCount []int
		}
	}
	query := map[string]any{"domains": []string{"cdn.example.com"}, "freq": "5min", "startDate": "2021-06-24", "endDate": "2021-06-25"}
	if err := c.CredentialedCallWithJson(t.Context(), mac, auth.TokenQBox, &counts, http.MethodPost, l.Endpoints().Qiniu+"/v2/tune/loganalyze/reqcount", nil, query); err != nil || counts.Code != 200 || len(counts.Data.ReqCount) < 288 {
		t.Errorf("request counts: %+v, %v", counts, err)
	}
}
