package lab

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tlsroll/tlsroll/plans"
)

// site is what the lab takes from a plan. It reads no more than that: whether the plan is valid is for package plans to say.
type site struct {
	domain   string
	zone     string
	record   string
	line     string
	ttl      time.Duration
	location *time.Location
	before   plans.TLSSet // what both CDNs speak before the change
}

func parseSite(source string) (site, error) {
	root, err := mapping(source)
	if err != nil {
		return site{}, err
	}
	s := site{
		domain: text(root, "domain"), zone: text(root, "dns", "zone"), record: text(root, "dns", "record"),
		line: text(root, "dns", "line"), ttl: time.Minute, location: time.FixedZone("Asia/Shanghai", 8*3600),
	}
	s.before = before(root)
	if s.line == "" {
		s.line = "default"
	}
	if s.domain == "" || s.zone == "" || s.record == "" {
		return site{}, errors.New("the plan lacks domain, dns.zone or dns.record")
	}
	if ttl := text(root, "dns", "ttl"); ttl != "" {
		if s.ttl, err = time.ParseDuration(ttl); err != nil || s.ttl < time.Second {
			return site{}, fmt.Errorf("dns.ttl %q is not a duration of a second or more", ttl)
		}
	}
	if zone := text(root, "schedule", "timezone"); zone != "" {
		if s.location, err = time.LoadLocation(zone); err != nil {
			return site{}, fmt.Errorf("schedule.timezone: %w", err)
		}
	}
	return s, nil
}

// before returns TLS 1.0 to 1.2, so altered that the plan's change has something to do.
func before(root *yaml.Node) plans.TLSSet {
	set := plans.TLSSetOf(plans.TLS10, plans.TLS11, plans.TLS12)
	for _, v := range plans.TLSVersions() {
		switch text(root, "change", argName(v)) {
		case "on":
			set = set.Without(v)
		case "off":
			set = set.With(v)
		}
	}
	return set
}

func mapping(source string) (*yaml.Node, error) {
	doc, err := document(source)
	if err != nil {
		return nil, err
	}
	return doc.Content[0], nil
}

func document(source string) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(source), &doc); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("read the plan: it is not a mapping")
	}
	return &doc, nil
}

// text returns the scalar at a path of keys, or "".
func text(n *yaml.Node, keys ...string) string {
	for _, k := range keys {
		if n = child(n, k); n == nil {
			return ""
		}
	}
	if n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

func child(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// primaryName and backupName are the host names that the two CDNs give the domain.
func (s site) primaryName() string { return s.domain + ".primary.example.net" }
func (s site) backupName() string  { return s.domain + ".backup.example.net" }

// state is how the lab begins: 60 to 40, both CDNs in service, the versions before the change written out on the primary.
func (s site) state() plans.State {
	record := func(id, value string, weight int) plans.Record {
		return plans.Record{
			ID: id, Name: s.record, Type: "CNAME", Value: value, Line: s.line, TTL: s.ttl,
			Weight: weight, WeightKnown: true, Enabled: true,
		}
	}
	return plans.State{
		Primary: plans.CDNState{
			Domain: s.domain, CNAME: s.primaryName(), Status: "online", Online: true, Certificate: true, TLSReadable: true,
			TLS: plans.TLSSettings{
				Explicit: true, Enabled: s.before, ConfigID: "222728944812032", Status: plans.ConfigLive,
			},
		},
		Backup: plans.CDNState{Domain: s.domain, CNAME: s.backupName(), Status: "success", Online: true, Certificate: true},
		DNS: plans.DNSState{
			Weighted: true, MinTTL: min(time.Minute, s.ttl),
			Records: []plans.Record{record("9009123456789", s.primaryName(), 60), record("9009123456790", s.backupName(), 40)},
		},
	}
}

// rewritePlan points a plan at the lab, and drops keys of its schedule. Comments, order and everything else stay.
func rewritePlan(source string, e Endpoints, dropped ...string) (string, error) {
	doc, err := document(source)
	if err != nil {
		return "", err
	}
	root := doc.Content[0]
	primary, backup, dns := section(root, "primary"), section(root, "backup"), section(root, "dns")
	put(primary, "endpoint", scalar(e.Alicloud))
	put(primary, "edges", list(e.PrimaryEdges))
	put(primary, "ca", scalar(e.CA))
	put(backup, "endpoint", scalar(e.Qiniu))
	put(backup, "analytics_endpoint", scalar(e.Qiniu))
	put(backup, "edges", list(e.BackupEdges))
	put(backup, "ca", scalar(e.CA))
	put(dns, "endpoint", scalar(e.Alicloud))
	put(dns, "nameservers", list([]string{e.DNS}))
	if sources := child(root, "sources"); sources != nil && sources.Kind == yaml.MappingNode {
		for i := 1; i < len(sources.Content); i += 2 {
			if text(sources.Content[i], "type") == "prometheus" {
				put(sources.Content[i], "url", scalar(e.Prometheus))
			}
		}
	}
	if schedule := child(root, "schedule"); schedule != nil {
		drop(schedule, dropped)
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return "", fmt.Errorf("write the plan: %w", err)
	}
	if err := enc.Close(); err != nil {
		return "", fmt.Errorf("write the plan: %w", err)
	}
	return out.String(), nil
}

// section returns the mapping at key, made when it is not there.
func section(n *yaml.Node, key string) *yaml.Node {
	if c := child(n, key); c != nil && c.Kind == yaml.MappingNode {
		return c
	}
	c := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	put(n, key, c)
	return c
}

func put(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, scalar(key), value)
}

func drop(n *yaml.Node, keys []string) {
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		if slices.Contains(keys, n.Content[i].Value) {
			n.Content = slices.Delete(n.Content, i, i+2)
		}
	}
}

// scalar quotes what YAML would read as something else.
func scalar(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

func list(values []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, v := range values {
		n.Content = append(n.Content, scalar(v))
	}
	return n
}
