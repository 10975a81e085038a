package alicloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/plans"
)

// maxTTL is the largest TTL of RFC 2181, in seconds.
const maxTTL = 1<<31 - 1

// recordPage is one page of DescribeSubDomainRecords.
type recordPage struct {
	Total   int64
	Records []plans.Record
}

// rawRecord is a record as sent. Weight is a pointer: absent is not 0.
type rawRecord struct {
	RecordID text `json:"RecordId"`
	RR       text
	Type     text
	Value    text
	Line     text
	TTL      text
	Weight   *text
	Status   text
	Locked   text
	Remark   text
}

// parseRecords decodes one page of DescribeSubDomainRecords.
func parseRecords(body []byte) (recordPage, error) {
	var in struct {
		TotalCount    text
		DomainRecords *struct{ Record []rawRecord }
	}
	if err := json.Unmarshal(body, &in); err != nil || in.DomainRecords == nil {
		return recordPage{}, errors.New("DescribeSubDomainRecords has an unexpected shape")
	}
	total, err := in.TotalCount.integer("TotalCount", maxRecords)
	if err != nil {
		return recordPage{}, err
	}
	page := recordPage{Total: total}
	for _, raw := range in.DomainRecords.Record {
		r, err := raw.record()
		if err != nil {
			return recordPage{}, err
		}
		page.Records = append(page.Records, r)
	}
	return page, nil
}

func (r rawRecord) record() (plans.Record, error) {
	if r.RecordID == "" || r.RR == "" || r.Type == "" || r.Line == "" {
		return plans.Record{}, errors.New("a record lacks RecordId, RR, Type or Line")
	}
	ttl, err := r.TTL.integer("TTL", maxTTL)
	if err != nil {
		return plans.Record{}, err
	}
	locked, err := r.Locked.truth("Locked")
	if err != nil {
		return plans.Record{}, err
	}
	out := plans.Record{
		ID: string(r.RecordID), Name: string(r.RR), Type: string(r.Type), Value: hostName(string(r.Value)), Line: string(r.Line),
		TTL: time.Duration(ttl) * time.Second, Locked: locked, Remark: string(r.Remark), Enabled: strings.EqualFold(string(r.Status), "enable"),
	}
	if !out.Enabled && !strings.EqualFold(string(r.Status), "disable") {
		return plans.Record{}, fmt.Errorf("record %s has the status %q", r.RecordID, r.Status)
	}
	if r.Weight != nil && *r.Weight != "" {
		weight, err := r.Weight.integer("Weight", 100)
		if err != nil {
			return plans.Record{}, err
		}
		out.Weight, out.WeightKnown = int(weight), true
	}
	return out, nil
}

// weighting is one entry of DescribeDNSSLBSubDomains: the lines of a sub-domain on which weights decide.
type weighting struct {
	SubDomain string
	Type      string
	Lines     []string // open lines; none when the sub-domain itself is not open
}

// weightingPage is one page of DescribeDNSSLBSubDomains.
type weightingPage struct {
	Total   int64
	Entries []weighting
}

// parseWeighting decodes one page of DescribeDNSSLBSubDomains.
func parseWeighting(body []byte) (weightingPage, error) {
	var in struct {
		TotalCount    text
		SlbSubDomains *struct {
			SlbSubDomain []struct {
				SubDomain, Type, Open text
				LineAlgorithms        struct {
					LineAlgorithm []struct{ Line, Open text }
				}
			}
		}
	}
	if err := json.Unmarshal(body, &in); err != nil || in.SlbSubDomains == nil {
		return weightingPage{}, errors.New("DescribeDNSSLBSubDomains has an unexpected shape")
	}
	total, err := in.TotalCount.integer("TotalCount", maxRecords)
	if err != nil {
		return weightingPage{}, err
	}
	page := weightingPage{Total: total}
	for _, s := range in.SlbSubDomains.SlbSubDomain {
		w := weighting{SubDomain: string(s.SubDomain), Type: string(s.Type)}
		open, err := s.Open.truth("Open")
		if err != nil {
			return weightingPage{}, err
		}
		for _, l := range s.LineAlgorithms.LineAlgorithm {
			lineOpen, err := l.Open.truth("Open")
			if err != nil {
				return weightingPage{}, err
			}
			if open && lineOpen {
				w.Lines = append(w.Lines, string(l.Line))
			}
		}
		page.Entries = append(page.Entries, w)
	}
	return page, nil
}

// parseMinTTL decodes DescribeDomainInfo; 0 when it does not tell.
func parseMinTTL(body []byte) time.Duration {
	var in struct {
		MinTTL text `json:"MinTtl"`
	}
	if json.Unmarshal(body, &in) != nil {
		return 0
	}
	ttl, err := in.MinTTL.integer("MinTtl", maxTTL)
	if err != nil {
		return 0
	}
	return time.Duration(ttl) * time.Second
}

// echo is what the answer of a DNS write repeats of the request. Fields that the answer leaves out are "".
type echo struct {
	RecordID text `json:"RecordId"`
	Weight   text
	Status   text
}

// contradicts reports whether the answer is about another record or value than was asked.
func (e echo) contradicts(asked echo) bool {
	differs := func(a, b text) bool { return a != "" && b != "" && !strings.EqualFold(string(a), string(b)) }
	return differs(e.RecordID, asked.RecordID) || differs(e.Weight, asked.Weight) || differs(e.Status, asked.Status)
}
