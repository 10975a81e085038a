package plans

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tlsroll/tlsroll/guardrails"
)

// plan reads the whole file. What could not be read is left at its default; the problems say so.
func (d *decoder) plan(root *yaml.Node) *Plan {
	b := d.open("", "", planKeys(), nil, root)
	b.word("version")
	p := &Plan{}
	p.Name = readOr(b, "name", "", text(nameOf))
	p.Domain = readOr(b, "domain", "", text(domainOf))
	p.Ticket = readOr(b, "ticket", "", text(lineOf))
	p.Owners = readList(b, "owners", text(lineOf))
	p.Schedule = schedule(b.sub("schedule"))
	p.Schedule.At = shortAt(p.Schedule.At, p.Location())
	p.Primary = cdn(b.sub("primary"))
	p.Backup = cdn(b.sub("backup"))
	p.DNS = dns(b.sub("dns"))
	p.Change = change(b.sub("change"))
	p.Expect = expectations(b.sub("expect"))
	for _, s := range b.named("sources") {
		p.Sources = append(p.Sources, source(s))
	}
	for _, r := range b.blocks("guardrails") {
		p.Guardrails = append(p.Guardrails, rule(r))
	}
	p.HoldLimit = readOr(b, "hold_limit", 60*time.Minute, positive(b, "hold_limit"))
	p.OnDrift = reaction(b.word("on_drift"))
	p.OnBlind = reaction(b.word("on_blind"))
	p.CommonCauseLimit = readOr(b, "common_cause_limit", 20*time.Minute, scalar(durationOf))
	p.Rehearse = readOr(b, "rehearse", true, scalar(switchOf))
	p.Steps = steps(b, "steps")
	if b.has("rollback") {
		p.Rollback = steps(b, "rollback")
	} else {
		p.Rollback = generatedRollback(p.Steps)
	}
	return p
}

// positive makes a duration parser that refuses 0s.
func positive(b block, name string) func(*yaml.Node) (time.Duration, *flaw) {
	b.spec(name)
	return scalar(func(s string) (time.Duration, *flaw) {
		v, f := durationOf(s)
		if f == nil && v == 0 {
			return 0, &flaw{message: "this must be longer than 0s"}
		}
		return v, f
	})
}

func schedule(b block) Schedule {
	return Schedule{
		At:            readOr(b, "at", "", scalar(instantOf)),
		Cron:          readOr(b, "cron", "", text(cronOf)),
		Zone:          readOr(b, "timezone", "UTC", text(zoneOf)),
		StartDeadline: readOr(b, "start_deadline", 15*time.Minute, positive(b, "start_deadline")),
		AdvanceUntil:  readOr(b, "advance_until", "", quotedClock),
	}
}

func cdn(b block) CDN {
	c := CDN{
		Provider:    b.word("provider"),
		Credentials: readOr(b, "credentials", "env", text(credentialsOf)),
		Endpoint:    readOr(b, "endpoint", "", text(urlOf)),
		Analytics:   readOr(b, "analytics_endpoint", "", text(urlOf)),
		Region:      readOr(b, "region", "", text(nameOf)),
		Edges:       readList(b, "edges", scalar(addressOf)),
		CA:          readOr(b, "ca", "", text(lineOf)),
		MaxShare:    readOr(b, "max_share", 100, scalar(shareOf)),
	}
	if c.Provider == "alicloud" && c.Region == "" {
		c.Region = "cn-hangzhou"
	}
	return c
}

func dns(b block) DNS {
	d := DNS{
		Provider:    b.word("provider"),
		Credentials: readOr(b, "credentials", "env", text(credentialsOf)),
		Endpoint:    readOr(b, "endpoint", "", text(urlOf)),
		Zone:        readOr(b, "zone", "", text(domainOf)),
		Record:      readOr(b, "record", "", text(recordOf)),
		Line:        readOr(b, "line", "default", text(lineOf)),
		TTL:         readOr(b, "ttl", time.Minute, positive(b, "ttl")),
		Nameservers: readList(b, "nameservers", scalar(addressOf)),
		Resolvers:   readList(b, "resolvers", scalar(addressOf)),
	}
	switch b.word("zero") {
	case "weight":
		d.Zero = ZeroWeight
	case "floor":
		d.Zero = ZeroFloor
	default:
		d.Zero = ZeroDisable
	}
	d.Fence = FenceOff
	if b.word("fence") == "remark" {
		d.Fence = FenceRemark
	}
	return d
}

// recordOf reads the name of a record in its zone.
func recordOf(s string) (string, *flaw) {
	if s != "@" && !hostname(s) {
		return "", &flaw{message: quoted(s) + " is not the name of a record", hint: "write the domain without its zone, as cdn; a wildcard cannot carry weights"}
	}
	return s, nil
}

func change(b block) Change {
	var c Change
	for _, v := range TLSVersions() {
		on, ok := read(b, versionKey(v), scalar(switchOf))
		switch {
		case !ok:
		case on:
			c.On = c.On.With(v)
		default:
			c.Off = c.Off.With(v)
		}
	}
	return c
}

// versionKey returns the key of a version in change.
func versionKey(v TLSVersion) string {
	switch v {
	case TLS10:
		return "tls10"
	case TLS11:
		return "tls11"
	case TLS12:
		return "tls12"
	case TLS13:
		return "tls13"
	}
	panic("plans: no key for " + v.String())
}

// expectations come in the order of the signals: the order of keys has no meaning.
func expectations(b block) []Expectation {
	var all []Expectation
	for _, s := range signals() {
		if _, ok := find(b.keys, s.String()); !ok {
			continue
		}
		if s == guardrails.TLS13Share {
			if v, ok := read(b, s.String(), scalar(below(100, aboveOf))); ok {
				all = append(all, Expectation{Signal: s, Above: v})
			}
			continue
		}
		if v, ok := read(b, s.String(), scalar(upTo(-100, maxRise, percentOf))); ok {
			all = append(all, Expectation{Signal: s, Change: v})
		}
	}
	return all
}

func reaction(word string) Reaction {
	if word == "rollback" {
		return ReactRollback
	}
	return ReactHold
}

// signals lists all signals in the order of their numbers.
func signals() []guardrails.Signal {
	return []guardrails.Signal{
		guardrails.ErrorRate, guardrails.TotalTime, guardrails.TLSTime, guardrails.ResponseSize,
		guardrails.StatusShare, guardrails.Requests, guardrails.TLS13Share,
	}
}

func signalNames() []string {
	var all []string
	for _, s := range signals() {
		all = append(all, s.String())
	}
	return all
}

// signalOf returns the signal of that name; 0 when there is none.
func signalOf(name string) guardrails.Signal {
	return guardrails.Signal(slices.Index(signalNames(), name) + 1)
}
