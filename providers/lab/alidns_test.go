package lab_test

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"github.com/tlsroll/tlsroll/providers/lab"
)

// allRecords reads every page and returns the names of the records in order.
func allRecords(t *testing.T, l *lab.Lab, p params, size int) (names []string, pages int) {
	t.Helper()
	for page := 1; ; page++ {
		p["PageNumber"], p["PageSize"] = strconv.Itoa(page), strconv.Itoa(size)
		a := call(t, l, p)
		n := length(at(a.body, "DomainRecords", "Record"))
		for i := range n {
			names = append(names, at(a.body, "DomainRecords", "Record", i, "RR").(string))
		}
		if a.body["PageNumber"] != float64(page) || a.body["PageSize"] != float64(size) {
			t.Fatalf("page %d of size %d: %s", page, size, a.raw)
		}
		if float64(len(names)) >= a.body["TotalCount"].(float64) || n == 0 {
			return names, page
		}
	}
}

func TestRecordsComeInPagesAndKeywordsMatchInside(t *testing.T) {
	l := start(t, lab.Options{})
	first := call(t, l, params{"Action": "DescribeDomainRecords", "DomainName": "example.com"})
	if length(at(first.body, "DomainRecords", "Record")) != 20 || first.body["TotalCount"] != float64(26) || strings.Contains(first.raw, `"cdn"`) {
		t.Errorf("the first page should hold 20 of 26 records and none of ours: %s", first.raw)
	}
	names, pages := allRecords(t, l, params{"Action": "DescribeDomainRecords", "DomainName": "example.com"}, 7)
	if len(names) != 26 || pages != 4 {
		t.Errorf("%d records on %d pages, want 26 on 4", len(names), pages)
	}
	names, _ = allRecords(t, l, params{"Action": "DescribeDomainRecords", "DomainName": "example.com", "RRKeyWord": "cdn"}, 20)
	if diff := cmp.Diff([]string{"cdn2", "mycdn", "cdn", "cdn"}, names); diff != "" {
		t.Errorf("RRKeyWord (-want +got)\n%s", diff)
	}
	names, _ = allRecords(t, l, params{"Action": "DescribeSubDomainRecords", "SubDomain": "cdn.example.com"}, 1)
	if diff := cmp.Diff([]string{"cdn", "cdn"}, names); diff != "" {
		t.Errorf("sub-domain (-want +got)\n%s", diff)
	}
	beyond := call(t, l, params{"Action": "DescribeDomainRecords", "DomainName": "example.com", "PageNumber": "9"})
	if got := at(beyond.body, "DomainRecords", "Record"); length(got) != 0 || got == nil {
		t.Errorf("a page beyond the last is %s", beyond.raw)
	}
}

func TestRecordShape(t *testing.T) {
	l := start(t, lab.Options{})
	a := call(t, l, params{"Action": "DescribeSubDomainRecords", "SubDomain": "cdn.example.com", "Type": "CNAME"})
	want := map[string]any{
		"RecordId": "9009123456789", "DomainName": "example.com", "RR": "cdn", "Type": "CNAME", "Value": "cdn.example.com.primary.example.net",
		"TTL": float64(60), "Line": "default", "Status": "ENABLE", "Locked": false, "Weight": float64(60), "Priority": float64(0), "Remark": "",
	}
	if diff := cmp.Diff(any(want), at(a.body, "DomainRecords", "Record", 0)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	other := call(t, l, params{"Action": "DescribeSubDomainRecords", "SubDomain": "host01.example.com"})
	if at(other.body, "DomainRecords", "Record", 0, "Weight") != nil {
		t.Errorf("a record without weighting has a weight: %s", other.raw)
	}
}

func TestWeightingIsFoundOnTheSecondPage(t *testing.T) {
	l := start(t, lab.Options{})
	a := call(t, l, params{"Action": "DescribeDNSSLBSubDomains", "DomainName": "example.com", "PageNumber": "2"})
	n := length(at(a.body, "SlbSubDomains", "SlbSubDomain"))
	want := map[string]any{
		"SubDomain": "cdn.example.com", "Type": "CNAME", "Open": true, "RecordCount": float64(2),
		"LineAlgorithms": map[string]any{"LineAlgorithm": []any{map[string]any{"Line": "default", "Open": true}}},
	}
	if diff := cmp.Diff(any(want), at(a.body, "SlbSubDomains", "SlbSubDomain", n-1)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	zone := call(t, l, params{"Action": "DescribeDomainInfo", "DomainName": "example.com"})
	if zone.body["MinTtl"] != float64(60) || zone.body["InBlackHole"] != false {
		t.Errorf("zone: %s", zone.raw)
	}
}

func TestWritesReadBack(t *testing.T) {
	l := start(t, instantly(0))
	status := func(s string) answer {
		return call(t, l, params{"Action": "SetDomainRecordStatus", "RecordId": "9009123456789", "Status": s})
	}
	if a := call(t, l, params{"Action": "UpdateDNSSLBWeight", "RecordId": "9009123456789", "Weight": "1"}); a.body["Weight"] != float64(1) || a.body["RecordId"] != "9009123456789" {
		t.Errorf("weight: %s", a.raw)
	}
	if a := status("DISABLE"); a.body["Status"] != "Disable" {
		t.Errorf("disable: %s", a.raw)
	}
	if a := call(t, l, params{"Action": "UpdateDNSSLBWeight", "RecordId": "9009123456789", "Weight": "5"}); a.code() != "DomainRecordDisable" {
		t.Errorf("weight of a disabled record: %s", a.raw)
	}
	read := call(t, l, params{"Action": "DescribeSubDomainRecords", "SubDomain": "cdn.example.com"})
	if r := at(read.body, "DomainRecords", "Record", 0); at(r, "Status") != "DISABLE" || at(r, "Weight") != float64(1) {
		t.Errorf("read back: %v", r)
	}
	if got := count(t, l, 50); got["cdn.example.com.backup.example.net."] != 50 {
		t.Errorf("with the primary disabled 50 queries give %v", got)
	}
	status("Enable")
	if a := call(t, l, params{"Action": "UpdateDNSSLBWeight", "RecordId": "9009123456789", "Weight": "5"}); a.status != 200 {
		t.Errorf("weight after enabling: %s", a.raw)
	}
}

// query asks the lab's name server over UDP or TCP.
func query(t *testing.T, l *lab.Lab, network, name string, kind uint16) *dns.Msg {
	t.Helper()
	m := new(dns.Msg)
	m.SetQuestion(name, kind)
	c := dns.Client{Net: network}
	r, _, err := c.ExchangeContext(t.Context(), m, l.Endpoints().DNS)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func count(t *testing.T, l *lab.Lab, n int) map[string]int {
	t.Helper()
	targets := map[string]int{}
	for range n {
		for _, rr := range query(t, l, "udp", "cdn.example.com.", dns.TypeCNAME).Answer {
			targets[rr.(*dns.CNAME).Target]++
		}
	}
	return targets
}

func TestAnswersFollowTheWeights(t *testing.T) {
	l := start(t, instantly(0))
	// Within 4.5 standard deviations of 600 draws at 60 %: 600·0.6 ± 54.
	if got := count(t, l, 600); got["cdn.example.com.primary.example.net."] < 306 || got["cdn.example.com.primary.example.net."] > 414 || len(got) != 2 {
		t.Errorf("600 queries at 60:40 give %v", got)
	}
	call(t, l, params{"Action": "UpdateDNSSLBWeight", "RecordId": "9009123456790", "Weight": "90"})
	call(t, l, params{"Action": "UpdateDNSSLBWeight", "RecordId": "9009123456789", "Weight": "10"})
	if got := count(t, l, 600); got["cdn.example.com.primary.example.net."] < 27 || got["cdn.example.com.primary.example.net."] > 93 {
		t.Errorf("600 queries at 10:90 give %v", got)
	}
}

func TestNameServerManners(t *testing.T) {
	l := start(t, lab.Options{})
	for _, row := range []struct {
		name    string
		kind    uint16
		rcode   int
		answers []string // types, in order
		soa     bool
	}{
		{"cdn.example.com.", dns.TypeA, dns.RcodeSuccess, []string{"CNAME", "A"}, false},
		{"CDN.Example.COM.", dns.TypeCNAME, dns.RcodeSuccess, []string{"CNAME"}, false},
		{"cdn.example.com.", dns.TypeAAAA, dns.RcodeSuccess, []string{"CNAME"}, false},
		{"cdn.example.com.primary.example.net.", dns.TypeA, dns.RcodeSuccess, []string{"A"}, false},
		{"cdn.example.com.backup.example.net.", dns.TypeAAAA, dns.RcodeSuccess, nil, true},
		{"example.com.", dns.TypeNS, dns.RcodeSuccess, []string{"NS", "NS"}, false},
		{"example.com.", dns.TypeSOA, dns.RcodeSuccess, []string{"SOA"}, false},
		{"example.com.", dns.TypeA, dns.RcodeSuccess, nil, true},
		{"host03.example.com.", dns.TypeA, dns.RcodeSuccess, []string{"A"}, false},
		{"nobody.example.com.", dns.TypeA, dns.RcodeNameError, nil, true},
		{"example.org.", dns.TypeA, dns.RcodeRefused, nil, false},
	} {
		for _, network := range []string{"udp", "tcp"} {
			r := query(t, l, network, row.name, row.kind)
			var got []string
			for _, rr := range r.Answer {
				got = append(got, dns.TypeToString[rr.Header().Rrtype])
			}
			if diff := cmp.Diff(row.answers, got); diff != "" || r.Rcode != row.rcode || (len(r.Ns) == 1) != row.soa || r.Authoritative != (row.rcode != dns.RcodeRefused) {
				t.Errorf("%s %s over %s: %v\n(-want +got)\n%s", row.name, dns.TypeToString[row.kind], network, r, diff)
			}
			if len(got) == 2 && got[1] == "A" && !r.Answer[1].(*dns.A).A.Equal(net.IPv4(127, 0, 0, 1)) {
				t.Errorf("%s: the address is %v", row.name, r.Answer[1])
			}
		}
	}
	if ttl := query(t, l, "udp", "cdn.example.com.", dns.TypeA).Answer[0].Header().Ttl; ttl != 60 {
		t.Errorf("TTL %d, want the plan's 60", ttl)
	}
}
