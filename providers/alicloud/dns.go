package alicloud

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/responses"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/alidns"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

var _ providers.DNS = (*DNS)(nil)

const (
	pageSize   = 100   // the largest that both list calls take
	maxRecords = 10000 // at one name; an answer that claims more is not believed
)

// DNS is the records at one name in Alibaba Cloud DNS. It holds no state, so several goroutines may use it.
type DNS struct {
	account
	zone, record, line string
}

// NewDNS returns the adapter for the records named record ("cdn", or "@" for the zone itself) in zone. line is the line on which
// weighting must be open, as "default". It makes no call; the error is an *Error of kind Invalid.
func NewDNS(zone, record, line string, o Options) (*DNS, error) {
	a, err := newAccount(productDNS, o)
	if err != nil {
		return nil, err
	}
	if zone == "" || record == "" || line == "" {
		return nil, setupError("a zone, a record and a line are needed")
	}
	return &DNS{account: a, zone: zone, record: record, line: line}, nil
}

// Read returns every record at the name, on every line and of every type, disabled ones included. MinTTL stays 0 when
// DescribeDomainInfo alone fails.
func (d *DNS) Read(ctx context.Context) (plans.DNSState, error) {
	records, err := d.records(ctx)
	if err != nil {
		return plans.DNSState{}, err
	}
	weighted, err := d.weighted(ctx)
	if err != nil {
		return plans.DNSState{}, err
	}
	minTTL, err := d.minTTL(ctx)
	if err != nil {
		return plans.DNSState{}, err
	}
	return plans.DNSState{Records: records, Weighted: weighted, MinTTL: minTTL}, nil
}

// records reads all pages of DescribeSubDomainRecords. A list that changes between two pages is an error: half of it would be a lie.
func (d *DNS) records(ctx context.Context) ([]plans.Record, error) {
	var all []plans.Record
	seen := map[string]bool{}
	for page := 1; ; page++ {
		req := alidns.CreateDescribeSubDomainRecordsRequest()
		req.DomainName, req.SubDomain = d.zone, d.record+"."+d.zone
		req.PageNumber, req.PageSize = requests.NewInteger(page), requests.NewInteger(pageSize)
		got, err := d.call(ctx, read, req, alidns.CreateDescribeSubDomainRecordsResponse())
		if err != nil {
			return nil, err
		}
		p, err := parseRecords(got.body)
		if err != nil {
			return nil, got.broken(err.Error())
		}
		for _, r := range p.Records {
			if seen[r.ID] {
				return nil, got.as(providers.Transient, "record "+r.ID+" is on two pages")
			}
			seen[r.ID] = true
			all = append(all, r)
		}
		if int64(len(all)) == p.Total {
			return slices.DeleteFunc(all, func(r plans.Record) bool { return !strings.EqualFold(r.Name, d.record) }), nil
		}
		if len(p.Records) == 0 || int64(len(all)) > p.Total {
			return nil, got.as(providers.Transient, fmt.Sprintf("the pages hold %d of %d records", len(all), p.Total))
		}
	}
}

// weighted reads all pages of DescribeDNSSLBSubDomains and reports whether weights decide for CNAME records on the line.
func (d *DNS) weighted(ctx context.Context) (bool, error) {
	var entries []weighting
	for page := 1; ; page++ {
		req := alidns.CreateDescribeDNSSLBSubDomainsRequest()
		req.DomainName, req.Rr = d.zone, d.record
		req.PageNumber, req.PageSize = requests.NewInteger(page), requests.NewInteger(pageSize)
		got, err := d.call(ctx, read, req, alidns.CreateDescribeDNSSLBSubDomainsResponse())
		if err != nil {
			return false, err
		}
		p, err := parseWeighting(got.body)
		if err != nil {
			return false, got.broken(err.Error())
		}
		entries = append(entries, p.Entries...)
		if int64(len(entries)) == p.Total {
			return slices.ContainsFunc(entries, d.open), nil
		}
		if len(p.Entries) == 0 || int64(len(entries)) > p.Total {
			return false, got.as(providers.Transient, fmt.Sprintf("the pages hold %d of %d sub-domains", len(entries), p.Total))
		}
	}
}

func (d *DNS) open(w weighting) bool {
	name := hostName(w.SubDomain)
	apex := d.record == "@" && name == hostName(d.zone)
	return (apex || name == hostName(d.record+"."+d.zone)) && w.Type == "CNAME" && slices.Contains(w.Lines, d.line)
}

func (d *DNS) minTTL(ctx context.Context) (time.Duration, error) {
	req := alidns.CreateDescribeDomainInfoRequest()
	req.DomainName = d.zone
	got, err := d.call(ctx, read, req, alidns.CreateDescribeDomainInfoResponse())
	if ctx.Err() != nil {
		return 0, err
	}
	return parseMinTTL(got.body), nil
}

// Write sets the weight of a record by UpdateDNSSLBWeight, or its status by SetDomainRecordStatus. A weight of 0 is sent as it is;
// an edition that refuses it answers with kind Invalid.
func (d *DNS) Write(ctx context.Context, w plans.DNSWrite) error {
	params, err := writeParams(w)
	if err != nil {
		return failure{op: "alidns:Write", effect: write}.as(providers.Invalid, err.Error())
	}
	if w.Action == plans.SetWeight {
		req := alidns.CreateUpdateDNSSLBWeightRequest()
		req.RecordId, req.Weight = params[0].Value, requests.Integer(params[1].Value)
		got, err := d.call(ctx, write, req, alidns.CreateUpdateDNSSLBWeightResponse())
		return confirm(got, err, echo{RecordID: text(w.RecordID), Weight: text(params[1].Value)})
	}
	req := alidns.CreateSetDomainRecordStatusRequest()
	req.RecordId, req.Status = params[0].Value, params[1].Value
	got, err := d.call(ctx, write, req, alidns.CreateSetDomainRecordStatusResponse())
	return confirm(got, err, echo{RecordID: text(w.RecordID), Status: text(params[1].Value)})
}

// Describe returns the call that Write makes for w, with the parameters as sent; the zero Call when Write refuses w.
func (*DNS) Describe(w plans.DNSWrite) providers.Call {
	params, err := writeParams(w)
	switch {
	case err != nil:
		return providers.Call{}
	case w.Action == plans.SetWeight:
		return providers.Call{API: "alidns:UpdateDNSSLBWeight", Params: params}
	}
	return providers.Call{API: "alidns:SetDomainRecordStatus", Params: params}
}

func writeParams(w plans.DNSWrite) ([]providers.Param, error) {
	if w.RecordID == "" {
		return nil, fmt.Errorf("the write on the %s record names no record", w.Leg)
	}
	id := providers.Param{Name: "RecordId", Value: w.RecordID}
	switch w.Action {
	case plans.SetWeight:
		if w.Weight < 0 || w.Weight > 100 {
			return nil, fmt.Errorf("the weight %d is not in 0..100", w.Weight)
		}
		return []providers.Param{id, {Name: "Weight", Value: strconv.Itoa(w.Weight)}}, nil
	case plans.EnableRecord:
		return []providers.Param{id, {Name: "Status", Value: "Enable"}}, nil
	case plans.DisableRecord:
		return []providers.Param{id, {Name: "Status", Value: "Disable"}}, nil
	}
	return nil, fmt.Errorf("%d is no action", w.Action)
}

// confirm checks that a write was accepted for what was asked.
func confirm(got answer, err error, asked echo) error {
	if err != nil {
		return err
	}
	var said echo
	if json.Unmarshal(got.body, &said) != nil || said.contradicts(asked) {
		return got.broken("the answer is about another record or value")
	}
	return nil
}

func (d *DNS) call(ctx context.Context, e effect, req requests.AcsRequest, res responses.AcsResponse) (answer, error) {
	return d.do(ctx, call{product: productDNS, effect: e, request: req, response: res})
}
