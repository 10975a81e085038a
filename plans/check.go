package plans

import (
	"strings"

	"github.com/tlsroll/tlsroll/guardrails"
)

// Finding is one reason why a run must not start from the observed state.
type Finding struct {
	What  string // what is wrong, one sentence
	Where string // which thing, as "backup CDN (qiniu)" or "record 9001 (cdn CNAME default)"
	Why   string // what would go wrong
	Mend  string // what a person can do about it, one sentence
}

// String returns "where: what: why; mend".
func (f Finding) String() string {
	return f.Where + ": " + f.What + " (" + f.Why + "). " + f.Mend + "."
}

// CheckState returns every reason why a run of the plan must not start from s, CDNs first and records in the order of s. Nothing
// found means that the two levers can be pulled and put back.
func (p *Plan) CheckState(s State) []Finding {
	var c checker
	c.cdn("primary CDN ("+p.Primary.Provider+")", p.Domain, s.Primary)
	c.cdn("backup CDN ("+p.Backup.Provider+")", p.Domain, s.Backup)
	c.target(p, s.Primary)
	c.names(s)
	for _, r := range s.DNS.Records {
		c.record(p, s, r)
	}
	c.pair(p, s)
	c.weighting(p, s.DNS)
	return c.found
}

type checker struct{ found []Finding }

func (c *checker) add(where, what, why, mend string) {
	c.found = append(c.found, Finding{What: what, Where: where, Why: why, Mend: mend})
}

func (c *checker) cdn(where, domain string, s CDNState) {
	if s.Domain != "" && !strings.EqualFold(s.Domain, domain) {
		c.add(where, "the CDN answered about "+s.Domain, "the change would be made on another domain", "Check the endpoint and the credentials")
	}
	if !s.Online {
		status := s.Status
		if s.StatusMessage != "" {
			status += " (" + s.StatusMessage + ")"
		}
		c.add(where, "the domain is not in service: "+status, "traffic sent there would fail", "Bring the domain online and wait until its configuration is at rest")
	}
	if !s.Certificate {
		c.add(where, "HTTPS is off or has no certificate", "every handshake there would fail", "Install a certificate for "+domain+" and turn HTTPS on")
	}
	if !s.TLSReadable {
		return
	}
	switch s.TLS.Status {
	case ConfigPending, ConfigFailed, ConfigOther:
		c.add(where, "its TLS configuration is not at rest: "+s.TLS.Status.String(), "what is live now cannot be recorded, so it could not be restored", "Wait until it is live, or save it again in the console when it failed")
	case ConfigLive:
	}
}

func (c *checker) target(p *Plan, s CDNState) {
	if !s.TLS.Explicit {
		return
	}
	if after := p.Change.Apply(s.TLS.Enabled); !after.Has(TLS12) && !after.Has(TLS13) {
		c.add("primary CDN ("+p.Primary.Provider+")", "the change would leave "+after.String(), "clients refuse every version that is left", "Turn TLS 1.2 or TLS 1.3 on in the change")
	}
}

func (c *checker) names(s State) {
	for _, leg := range []struct{ where, name string }{{"primary CDN", s.Primary.CNAME}, {"backup CDN", s.Backup.CNAME}} {
		if leg.name == "" {
			c.add(leg.where, "the CDN reports no host name for the domain", "its record cannot be told from others", "Add the domain to the CDN, or wait until it has a host name")
		}
	}
	if s.Primary.CNAME != "" && s.Primary.CNAME == s.Backup.CNAME {
		c.add("both CDNs", "they report the same host name "+s.Primary.CNAME, "there are no two legs to share traffic between", "Check the endpoints: both ask the same CDN")
	}
}

// record judges one record by itself.
func (c *checker) record(p *Plan, s State, r Record) {
	where := recordText(r)
	switch {
	case strings.Contains(r.Name, "*"):
		c.add(where, "it is a wildcard", "a wildcard record cannot carry weights", "Create records for "+p.DNS.Record+" itself")
	case r.Line != p.DNS.Line:
		c.add(where, "it stands on the line "+r.Line, "clients of that line would not follow the weights of the line "+p.DNS.Line, "Remove it or move it to the line "+p.DNS.Line)
	case r.Type != "CNAME" || r.Value != s.Primary.CNAME && r.Value != s.Backup.CNAME:
		c.add(where, "it points at "+r.Value+", which is neither CDN's host name", "it takes a part of the traffic that nobody watches, or none", "Remove it, or point it at the host name that the CDN reports")
	default:
		c.leg(p, s, r)
	}
}

// leg judges one of the two records that the run would write.
func (c *checker) leg(p *Plan, s State, r Record) {
	where := recordText(r)
	if r.Locked {
		c.add(where, "it is locked", "its weight cannot be written, neither forward nor back", "Unlock it")
	}
	switch {
	case !r.WeightKnown:
		c.add(where, "its weight is not known", "an absent weight is not a weight of 0, and could not be restored", "Set a weight for it in the console")
	case r.Weight == 0 && p.DNS.Zero != ZeroWeight:
		c.add(where, "its weight is 0", "dns.zero is "+p.DNS.Zero.String()+", so a run would not write this weight back", "Set a weight of 1 to 100, or set dns.zero to weight")
	case r.Weight < 0 || r.Weight > 100:
		c.add(where, "its weight is out of range", "weights lie from 0 to 100", "Set a weight of 1 to 100")
	}
	if r.Value == s.Primary.CNAME && !r.Enabled && r.WeightKnown && r.Weight > 1 {
		c.add(where, "it is disabled with a weight of more than 1", "enabling it would send that share to the primary at once", "Set its weight to 1, or enable it with the weight that is wanted")
	}
	c.ttl(p, s.DNS, r)
}

func (c *checker) ttl(p *Plan, s DNSState, r Record) {
	where := recordText(r)
	switch {
	case s.MinTTL > 0 && r.TTL < s.MinTTL:
		c.add(where, "its TTL of "+durationText(r.TTL)+" is below the zone's smallest, "+durationText(s.MinTTL), "the provider may stretch it or refuse writes", "Raise the TTL to "+durationText(s.MinTTL))
	case r.TTL > p.DNS.TTL:
		c.add(where, "its TTL of "+durationText(r.TTL)+" is above the plan's "+durationText(p.DNS.TTL), "traffic would follow each weight later than the plan allows for", "Lower the TTL to "+durationText(p.DNS.TTL)+", or raise dns.ttl in the plan")
	}
}

// pair judges the two records against each other.
func (c *checker) pair(p *Plan, s State) {
	name := "records of " + joined(p.DNS.Record, p.DNS.Zone)
	primary, backup := p.recordsAt(s, s.Primary.CNAME), p.recordsAt(s, s.Backup.CNAME)
	c.one(name, p.DNS.Line, guardrails.Primary, s.Primary.CNAME, len(primary))
	c.one(name, p.DNS.Line, guardrails.Backup, s.Backup.CNAME, len(backup))
	if len(primary) == 0 || len(backup) == 0 {
		return
	}
	on, weight := 0, 0
	for _, r := range append(primary, backup...) {
		if r.Enabled {
			on++
			weight += r.Weight
		}
	}
	switch {
	case on == 0:
		c.add(name, "both records are disabled", "the domain does not answer, so there is nothing to measure against", "Enable the backup's record")
	case weight == 0:
		c.add(name, "the enabled records have no weight", "what answers then is up to the provider", "Set a weight of 1 to 100")
	}
}

// recordsAt returns the CNAME records on the plan's line that point at a host name.
func (p *Plan) recordsAt(s State, host string) []Record {
	var all []Record
	for _, r := range s.DNS.Records {
		if r.Line == p.DNS.Line && r.Type == "CNAME" && r.Value == host && host != "" {
			all = append(all, r)
		}
	}
	return all
}

// one reports a leg that does not have exactly one record. A leg without a host name is reported elsewhere.
func (c *checker) one(name, line string, leg guardrails.Leg, host string, n int) {
	switch {
	case host == "" || n == 1:
	case n == 0:
		c.add(name, "no CNAME record points at the "+leg.String()+", "+host, "a run never creates records",
			"Add it on the line "+line+" at an hour when its share does no harm: a new record starts with a weight of its own")
	default:
		c.add(name, "more than one CNAME record points at the "+leg.String()+", "+host, "their weights add up", "Keep one")
	}
}

func (c *checker) weighting(p *Plan, s DNSState) {
	name := "records of " + joined(p.DNS.Record, p.DNS.Zone)
	if !s.Weighted {
		c.add(name, "weighting is not open for CNAME records on the line "+p.DNS.Line, "weights could not be written, and only one record would answer", "Open weighting in the DNS console")
	}
	if s.MinTTL > p.DNS.TTL {
		c.add(name, "the zone's smallest TTL is "+durationText(s.MinTTL)+", above the plan's "+durationText(p.DNS.TTL), "traffic would follow each weight later than the plan allows for", "Raise dns.ttl in the plan, or use an edition that allows a smaller TTL")
	}
}

func recordText(r Record) string {
	return "record " + r.ID + " (" + r.Name + " " + r.Type + " " + r.Line + ")"
}
