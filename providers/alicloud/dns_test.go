package alicloud_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/alicloud"
)

func newDNS(t *testing.T, c *cloud) *alicloud.DNS {
	t.Helper()
	return must(alicloud.NewDNS("example.com", "cdn", "default", c.options()))(t)
}

func TestWeightZeroIsNotAnAbsentWeight(t *testing.T) {
	c := newCloud(t)
	c.dns.Records[0].Weight = 0
	c.dns.Records[1].Weight, c.dns.Records[1].WeightKnown = 0, false
	got, err := newDNS(t, c).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known := []bool{got.Records[0].WeightKnown, got.Records[1].WeightKnown}
	if diff := cmp.Diff([]bool{true, false}, known); diff != "" {
		t.Errorf("weight known (-want +got):\n%s", diff)
	}
}

func TestRecordsAreReadToTheLastPageAndFilteredExactly(t *testing.T) {
	c := newCloud(t)
	want := append([]plans.Record(nil), c.dns.Records...)
	for i := range 250 {
		r := plans.Record{ID: "77" + strconv.Itoa(i), Name: "cdn", Type: "TXT", Value: "v", Line: "default", TTL: time.Hour, Enabled: true}
		if i%2 == 0 {
			r.Name = "cdn2" // contains the name, as a key word search would return it
		} else {
			want = append(want, r)
		}
		c.dns.Records = append(c.dns.Records, r)
	}
	got, err := newDNS(t, c).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Records); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if n := len(c.asked("DescribeSubDomainRecords")); n != 3 {
		t.Errorf("%d pages asked, want 3", n)
	}
}

func TestHalfAListIsAnError(t *testing.T) {
	record := `{"RecordId":"1","RR":"cdn","Type":"CNAME","Value":"p.example.com","TTL":60,"Line":"default","Status":"ENABLE","Locked":false}`
	for name, tt := range map[string]struct {
		reply string
		kind  providers.Kind
	}{
		"the same page again":          {`{"RequestId":"R","TotalCount":2,"DomainRecords":{"Record":[` + record + `]}}`, providers.Transient},
		"an empty page before the end": {`{"RequestId":"R","TotalCount":2,"DomainRecords":{"Record":[]}}`, providers.Transient},
		"more than the total":          {`{"RequestId":"R","TotalCount":0,"DomainRecords":{"Record":[` + record + `]}}`, providers.Transient},
		"no list":                      {`{"RequestId":"R","TotalCount":0}`, providers.Invalid},
		"no total":                     {`{"RequestId":"R","DomainRecords":{"Record":[]}}`, providers.Invalid},
		"a status of another kind":     {`{"RequestId":"R","TotalCount":1,"DomainRecords":{"Record":[{"RecordId":"1","RR":"cdn","Type":"A","Line":"default","TTL":60,"Status":"PAUSED"}]}}`, providers.Invalid},
		"a weight beyond 100":          {`{"RequestId":"R","TotalCount":1,"DomainRecords":{"Record":[{"RecordId":"1","RR":"cdn","Type":"A","Line":"default","TTL":60,"Status":"ENABLE","Weight":101}]}}`, providers.Invalid},
		"a record without an id":       {`{"RequestId":"R","TotalCount":1,"DomainRecords":{"Record":[{"RR":"cdn","Type":"A","Line":"default","TTL":60,"Status":"ENABLE"}]}}`, providers.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.replies["DescribeSubDomainRecords"] = tt.reply
			_, err := newDNS(t, c).Read(t.Context())
			checkKind(t, err, tt.kind)
		})
	}
}

func TestWeightingMustBeOpenForCNAMEOnTheLine(t *testing.T) {
	entry := func(name, kind string, open bool, line string, lineOpen bool) string {
		return fmt.Sprintf(`{"SubDomain":%q,"Type":%q,"Open":%v,"LineAlgorithms":{"LineAlgorithm":[{"Line":%q,"Open":%v}]}}`, name, kind, open, line, lineOpen)
	}
	for name, tt := range map[string]struct {
		entry string
		want  bool
	}{
		"open":                 {entry("cdn.example.com", "CNAME", true, "default", true), true},
		"open, other letters":  {entry("CDN.example.com.", "CNAME", true, "default", true), true},
		"only for A":           {entry("cdn.example.com", "A", true, "default", true), false},
		"closed":               {entry("cdn.example.com", "CNAME", false, "default", true), false},
		"closed on the line":   {entry("cdn.example.com", "CNAME", true, "default", false), false},
		"open on another line": {entry("cdn.example.com", "CNAME", true, "telecom", true), false},
		"another name":         {entry("xcdn.example.com", "CNAME", true, "default", true), false},
		"no line is told":      {`{"SubDomain":"cdn.example.com","Type":"CNAME","Open":true}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.replies["DescribeDNSSLBSubDomains"] = `{"RequestId":"R","TotalCount":1,"SlbSubDomains":{"SlbSubDomain":[` + tt.entry + `]}}`
			got, err := newDNS(t, c).Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got.Weighted != tt.want {
				t.Errorf("weighted %v, want %v", got.Weighted, tt.want)
			}
		})
	}
}

func TestApexIsAskedWithAnAtSign(t *testing.T) {
	c := newCloud(t)
	c.dns.Records[0].Name = "@"
	c.replies["DescribeDNSSLBSubDomains"] = `{"RequestId":"R","TotalCount":1,"SlbSubDomains":{"SlbSubDomain":[
		{"SubDomain":"example.com","Type":"CNAME","Open":true,"LineAlgorithms":{"LineAlgorithm":[{"Line":"default","Open":true}]}}]}}`
	got, err := must(alicloud.NewDNS("example.com", "@", "default", c.options()))(t).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Records) != 1 || !got.Weighted {
		t.Errorf("got %+v, want the one record and weighting", got)
	}
	if sub := c.asked("DescribeSubDomainRecords")[0].Get("SubDomain"); sub != "@.example.com" {
		t.Errorf("asked for %q", sub)
	}
}

func TestAMissingMinTTLAloneIsNoFailure(t *testing.T) {
	for name, reply := range map[string]string{
		"denied": `{"Code":"Forbidden.RAM","Message":"m","RequestId":"R"}`,
		"absent": `{"RequestId":"R"}`,
		"absurd": `{"RequestId":"R","MinTtl":-5}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.replies["DescribeDomainInfo"] = reply
			if name == "denied" {
				c.status["DescribeDomainInfo"] = 403
			}
			got, err := newDNS(t, c).Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got.MinTTL != 0 || len(got.Records) != 2 || !got.Weighted {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestTheEndOfCtxDuringTheLastCallIsNoMissingMinTTL(t *testing.T) {
	c := newCloud(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := c.options()
	o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("Action") == "DescribeDomainInfo" {
			cancel()
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	got, err := must(alicloud.NewDNS("example.com", "cdn", "default", o))(t).Read(ctx)
	if !errors.Is(err, context.Canceled) || got.Records != nil {
		t.Errorf("got %+v and error %v, want context.Canceled alone", got, err)
	}
}

func TestAWriteThatIsConfirmedForSomethingElseIsUnknown(t *testing.T) {
	weight := plans.DNSWrite{Leg: guardrails.Primary, RecordID: "9009123456789", Action: plans.SetWeight, Weight: 90}
	disable := plans.DNSWrite{Leg: guardrails.Primary, RecordID: "9009123456789", Action: plans.DisableRecord}
	for name, tt := range map[string]struct {
		write         plans.DNSWrite
		action, reply string
		kind          providers.Kind
	}{
		"another record":  {weight, "UpdateDNSSLBWeight", `{"RequestId":"R","RecordId":"1","Weight":90}`, providers.Unknown},
		"another weight":  {weight, "UpdateDNSSLBWeight", `{"RequestId":"R","RecordId":"9009123456789","Weight":9}`, providers.Unknown},
		"another status":  {disable, "SetDomainRecordStatus", `{"RequestId":"R","RecordId":"9009123456789","Status":"ENABLE"}`, providers.Unknown},
		"only an id":      {disable, "SetDomainRecordStatus", `{"RequestId":"R"}`, 0},
		"upper case":      {disable, "SetDomainRecordStatus", `{"RequestId":"R","RecordId":"9009123456789","Status":"DISABLE"}`, 0},
		"no RequestId":    {weight, "UpdateDNSSLBWeight", `{"RecordId":"9009123456789","Weight":90}`, providers.Unknown},
		"an array answer": {weight, "UpdateDNSSLBWeight", `[]`, providers.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.replies[tt.action] = tt.reply
			checkKind(t, newDNS(t, c).Write(t.Context(), tt.write), tt.kind)
		})
	}
}

func TestWriteRefusesWithoutACall(t *testing.T) {
	for name, w := range map[string]plans.DNSWrite{
		"no record":     {Action: plans.SetWeight, Weight: 5},
		"a weight < 0":  {RecordID: "1", Action: plans.SetWeight, Weight: -1},
		"weight > 100":  {RecordID: "1", Action: plans.SetWeight, Weight: 101},
		"no action":     {RecordID: "1"},
		"action beyond": {RecordID: "1", Action: plans.DisableRecord + 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			dns := newDNS(t, c)
			checkKind(t, dns.Write(t.Context(), w), providers.Invalid)
			if n := c.side().Requests(); n != 0 {
				t.Errorf("%d requests, want none", n)
			}
			if diff := cmp.Diff(providers.Call{}, dns.Describe(w)); diff != "" {
				t.Errorf("description (-want +got):\n%s", diff)
			}
		})
	}
}
