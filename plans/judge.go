package plans

import "strings"

// judge reports what is wrong with values that are fine one by one. It looks only at what could be read, so that one slip is one problem.
func (d *decoder) judge(p *Plan) {
	d.judgeSchedule(p)
	d.judgeCDNs(p)
	d.judgeDNS(p)
	d.judgeChange(p)
	d.judgeSources(p)
	d.judgeExpect(p)
	d.judgeRules(p)
	d.judgeSteps(p)
	d.judgeRollback(p)
	d.judgeShares(p)
}

func (d *decoder) judgeSchedule(p *Plan) {
	const at, cron, zone = "schedule.at", "schedule.cron", "schedule.timezone"
	if d.given(at) && d.given(cron) {
		d.errorAt(cron, "the schedule has at and cron", "keep one of them")
	}
	if _, written := d.places[zone]; !written {
		for _, path := range append([]string{at, cron, "schedule.advance_until"}, untils(p)...) {
			if d.given(path) {
				d.errorAt(path, "this is a time of day, and schedule.timezone does not say where", "add timezone: Asia/Shanghai, or whichever is meant, to schedule")
				return
			}
		}
	}
	if d.given(at) && !d.failed[zone] {
		if _, f := startAt(p.Schedule.At, p.Location()); f != nil {
			d.errorAt(at, f.message, f.hint)
		}
	}
}

// untils returns the paths of the observations that end at a clock time.
func untils(p *Plan) []string {
	var paths []string
	for _, s := range flat("steps", p.Steps) {
		if o, ok := s.step.(Observe); ok && o.Until != "" {
			paths = append(paths, s.path+".observe.until")
		}
	}
	return paths
}

func (d *decoder) judgeCDNs(p *Plan) {
	for _, leg := range []struct {
		path string
		cdn  CDN
	}{{"primary", p.Primary}, {"backup", p.Backup}} {
		if leg.cdn.Provider != "qiniu" && d.given(leg.path+".analytics_endpoint") {
			d.errorAt(leg.path+".analytics_endpoint", "only qiniu has an analytics endpoint", "remove it")
		}
		if leg.cdn.Provider != "alicloud" && d.given(leg.path+".region") {
			d.errorAt(leg.path+".region", "only alicloud has a region", "remove it")
		}
	}
}

func (d *decoder) judgeDNS(p *Plan) {
	if !d.given("domain") || !d.given("dns.zone") {
		return
	}
	domain, zone := p.Domain, p.DNS.Zone
	if domain != zone && !strings.HasSuffix(domain, "."+zone) {
		d.errorAt("dns.zone", domain+" does not lie in the zone "+zone, "the zone is a suffix of the domain")
		return
	}
	want := strings.TrimSuffix(strings.TrimSuffix(domain, zone), ".")
	if want == "" {
		want = "@"
	}
	if d.given("dns.record") && p.DNS.Record != want {
		d.errorAt("dns.record", "record and zone make "+joined(p.DNS.Record, zone)+", not "+domain, "write "+want)
	}
}

func joined(record, zone string) string {
	if record == "@" {
		return zone
	}
	return record + "." + zone
}

func (d *decoder) judgeChange(p *Plan) {
	if !d.given("change") || d.broken("change") {
		return
	}
	all := TLSSetOf(TLSVersions()...)
	switch {
	case p.Change == Change{}:
		d.errorAt("change", "the change is empty", "name a version, as tls13: on")
	case p.Change.Off == all:
		d.errorAt("change", "this turns every TLS version off", "leave at least TLS 1.2 or TLS 1.3")
	case p.Change.Off.Has(TLS12) && p.Change.Off.Has(TLS13):
		d.errorAt("change.tls12", "this turns off both TLS 1.2 and TLS 1.3 and leaves only versions that clients refuse", "leave one of the two")
	}
}
