package lab

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/plans"
)

// others are the zone's records that are none of ours: enough to fill the first page, and two whose names contain the record's.
func (s site) others() []plans.Record {
	var rs []plans.Record
	add := func(name, kind, value string) {
		rs = append(rs, plans.Record{
			ID: strconv.Itoa(8000000000001 + len(rs)), Name: name, Type: kind, Value: value, Line: s.line, TTL: 10 * time.Minute,
			Enabled: true,
		})
	}
	for i := range 22 {
		add(fmt.Sprintf("host%02d", i+1), "A", fmt.Sprintf("192.0.2.%d", 100+i))
	}
	add(s.record+"2", "CNAME", "other.example.net")
	add("my"+s.record, "CNAME", "other.example.net")
	return rs
}

// records returns all of the zone's records, ours last.
func (l *Lab) records(now time.Time) []plans.Record {
	return append(l.site.others(), l.state(now).DNS.Records...)
}

func (l *Lab) recordObject(r plans.Record) object {
	status := "DISABLE"
	if r.Enabled {
		status = "ENABLE"
	}
	o := object{
		"RecordId": r.ID, "DomainName": l.site.zone, "RR": r.Name, "Type": r.Type, "Value": r.Value, "TTL": int(r.TTL / time.Second),
		"Line": r.Line, "Status": status, "Locked": r.Locked, "Priority": 0, "Remark": r.Remark,
	}
	if r.WeightKnown {
		o["Weight"] = r.Weight
	}
	return o
}

func (l *Lab) knownZone(name string) error {
	switch name {
	case "":
		return refusal("MissingParameter", "DomainName is mandatory for this action.")
	case l.site.zone:
		return nil
	}
	return refusal("IncorrectDomainUser", "The domain name belongs to another user.")
}

// paged cuts one page out of a list and adds the numbers that go with it.
func paged(c rpcCall, all []object, most int, inner func([]object) object) (object, error) {
	number, err := positive(c.get("PageNumber"), 1)
	if err != nil {
		return nil, err
	}
	size, err := positive(c.get("PageSize"), 20)
	if err != nil {
		return nil, err
	}
	if size > most {
		return nil, refusal("InvalidParameter", "PageSize is too large.")
	}
	from := min((number-1)*size, len(all))
	o := inner(append([]object{}, all[from:min(from+size, len(all))]...))
	o["TotalCount"], o["PageNumber"], o["PageSize"] = len(all), number, size
	return o, nil
}

func positive(s string, standard int) (int, error) {
	if s == "" {
		return standard, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 1_000_000 {
		return 0, refusal("InvalidParameter", "A page number or size is not a positive number.")
	}
	return n, nil
}

// recordPage answers with the records that match.
func (l *Lab) recordPage(c rpcCall, most int, match func(plans.Record) bool) (object, error) {
	var list []object
	for _, r := range l.records(c.now) {
		if match(r) {
			list = append(list, l.recordObject(r))
		}
	}
	return paged(c, list, most, func(page []object) object { return object{"DomainRecords": object{"Record": page}} })
}

// is matches a value that is exact when it is asked for; contains matches keywords, which are found anywhere.
func is(asked, value string) bool       { return asked == "" || strings.EqualFold(asked, value) }
func contains(asked, value string) bool { return strings.Contains(value, strings.ToLower(asked)) }

func (l *Lab) describeRecords(c rpcCall) (object, error) {
	if err := l.knownZone(c.get("DomainName")); err != nil {
		return nil, err
	}
	return l.recordPage(c, 500, func(r plans.Record) bool {
		status := "Disable"
		if r.Enabled {
			status = "Enable"
		}
		return contains(c.get("RRKeyWord"), r.Name) && contains(c.get("ValueKeyWord"), r.Value) &&
			contains(c.get("TypeKeyWord"), strings.ToLower(r.Type)) && contains(c.get("KeyWord"), r.Name+" "+r.Value) &&
			is(c.get("Type"), r.Type) && is(c.get("Line"), r.Line) && is(c.get("Status"), status)
	})
}

func (l *Lab) describeSubDomain(c rpcCall) (object, error) {
	sub := strings.ToLower(c.get("SubDomain"))
	if sub == "" {
		return nil, refusal("MissingParameter", "SubDomain is mandatory for this action.")
	}
	if err := l.knownZone(c.get("DomainName")); err != nil && c.get("DomainName") != "" {
		return nil, err
	}
	return l.recordPage(c, 100, func(r plans.Record) bool {
		return r.Name+"."+l.site.zone == sub && is(c.get("Type"), r.Type) && is(c.get("Line"), r.Line)
	})
}

// describeWeighting lists the names with more than one record. Rr is found anywhere in a name.
func (l *Lab) describeWeighting(c rpcCall) (object, error) {
	if err := l.knownZone(c.get("DomainName")); err != nil {
		return nil, err
	}
	entry := func(rr, kind string, records int, lines []object) object {
		return object{
			"SubDomain": rr + "." + l.site.zone, "Type": kind, "Open": len(lines) > 0, "RecordCount": records,
			"LineAlgorithms": object{"LineAlgorithm": lines},
		}
	}
	var list []object
	for _, r := range l.site.others() {
		if contains(c.get("Rr"), r.Name) {
			list = append(list, entry(r.Name, r.Type, 2, []object{}))
		}
	}
	if s := l.state(c.now).DNS; contains(c.get("Rr"), l.site.record) && len(s.Records) > 0 {
		lines := []object{}
		if s.Weighted {
			lines = append(lines, object{"Line": l.site.line, "Open": true})
		}
		list = append(list, entry(l.site.record, "CNAME", len(s.Records), lines))
	}
	return paged(c, list, 100, func(page []object) object { return object{"SlbSubDomains": object{"SlbSubDomain": page}} })
}

func (l *Lab) describeZone(c rpcCall) (object, error) {
	switch c.get("DomainName") {
	case "":
		return nil, refusal("MissingParameter", "DomainName is mandatory for this action.")
	case l.site.zone:
	default:
		return nil, refusal("InvalidDomainName.NoExist", "The specified domain name does not exist.")
	}
	return object{
		"DomainId": "00000000-0000-4000-8000-000000000001", "DomainName": l.site.zone, "PunyCode": l.site.zone, "Remark": "",
		"MinTtl": int(l.state(c.now).DNS.MinTTL / time.Second), "VersionCode": "version_enterprise_basic", "VersionName": "Enterprise",
		"DnsServers":    object{"DnsServer": []string{"ns1." + l.site.zone, "ns2." + l.site.zone}},
		"AvailableTtls": object{"AvailableTtl": []string{"60", "120", "600", "1800", "3600", "43200", "86400"}},
		"InBlackHole":   false, "InClean": false, "AliDomain": false, "SlaveDns": false,
	}, nil
}

func (l *Lab) setWeight(c rpcCall) (object, error) {
	id := c.get("RecordId")
	weight, err := strconv.Atoi(c.get("Weight"))
	switch {
	case id == "" || c.get("Weight") == "":
		return nil, refusal("MissingParameter", "RecordId and Weight are mandatory for this action.")
	case err != nil:
		return nil, refusal("InvalidWeigth", "The weight is not a number.")
	}
	if err := l.world.WriteDNS(c.now, plans.DNSWrite{RecordID: id, Action: plans.SetWeight, Weight: weight}); err != nil {
		return nil, err
	}
	return object{"RecordId": id, "Weight": weight}, nil
}

func (l *Lab) setStatus(c rpcCall) (object, error) {
	w := plans.DNSWrite{RecordID: c.get("RecordId")}
	status := ""
	switch strings.ToLower(c.get("Status")) {
	case "enable":
		w.Action, status = plans.EnableRecord, "Enable"
	case "disable":
		w.Action, status = plans.DisableRecord, "Disable"
	}
	if w.RecordID == "" || status == "" {
		return nil, refusal("InvalidParameter", "RecordId is mandatory and Status is Enable or Disable.")
	}
	if err := l.world.WriteDNS(c.now, w); err != nil {
		return nil, err
	}
	return object{"RecordId": w.RecordID, "Status": status}, nil
}
