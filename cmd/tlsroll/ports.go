package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/alicloud"
	"github.com/tlsroll/tlsroll/providers/csvfile"
	"github.com/tlsroll/tlsroll/providers/jsonhttp"
	"github.com/tlsroll/tlsroll/providers/prometheus"
	"github.com/tlsroll/tlsroll/providers/qiniu"
	"github.com/tlsroll/tlsroll/providers/resolve"
	"github.com/tlsroll/tlsroll/providers/retry"
	"github.com/tlsroll/tlsroll/providers/tlsprobe"
)

// Calls a second and account, below the vendors' published quotas: BatchSetCdnDomainConfig 3 (the lower of two published figures),
// the records' reads 300 and the real-time data 10. Writes of weights have no published quota; their neighbours have 60.
const (
	cdnReads   = 10
	cdnWrites  = 2
	dnsReads   = 50
	dnsWrites  = 10
	dataReads  = 5
	qiniuReads = 5

	probeReads   = 1 // rounds of handshakes with every edge: ours, so that a lab or an edge is not flooded
	resolveReads = 1 // rounds of questions to every name server
)

// connections are the adapters of one plan: for the engine as ports, and for reviewers by what they describe.
type connections struct {
	primary providers.TLSSetter
	dns     providers.DNS
	ports   engine.Ports
	keys    []providers.CredentialsFunc
}

// haveKeys asks for every provider's keys once, so that all that are missing are named together, before a run is begun.
func (c *connections) haveKeys(ctx context.Context) error {
	var errs []error
	for _, keys := range c.keys {
		if _, err := keys(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// wiring is what the adapters need of the process around them. The zero value is for reading only.
type wiring struct {
	tell    func(rollout.Urgency, string)
	permit  func(context.Context) error // asked before each attempt of a write
	timeout time.Duration               // of one call to a cloud; 0: the adapters' own
}

// connect builds the adapters. The list of providers is here and nowhere else.
func connect(std stdio, p *plans.Plan, clock plans.Clock, w wiring) (*connections, error) {
	l := limiter{factor: max(1, clock.Speed), permit: w.permit}
	primaryKeys, err := credentials(std, p.Primary.Credentials, p.Primary.Provider)
	if err != nil {
		return nil, err
	}
	backupKeys, err := credentials(std, p.Backup.Credentials, p.Backup.Provider)
	if err != nil {
		return nil, err
	}
	dnsKeys, err := credentials(std, p.DNS.Credentials, p.DNS.Provider)
	if err != nil {
		return nil, err
	}
	cdn, err := alicloud.NewCDN(p.Domain, alicloud.Options{Endpoint: p.Primary.Endpoint, Region: p.Primary.Region, Credentials: primaryKeys, Timeout: w.timeout})
	if err != nil {
		return nil, err
	}
	dns, err := alicloud.NewDNS(p.DNS.Zone, p.DNS.Record, p.DNS.Line, alicloud.Options{Endpoint: p.DNS.Endpoint, Credentials: dnsKeys, Timeout: w.timeout})
	if err != nil {
		return nil, err
	}
	backup, err := qiniu.NewCDN(p.Domain, qiniu.Options{Endpoint: p.Backup.Endpoint, AnalyticsEndpoint: p.Backup.Analytics, Credentials: backupKeys})
	if err != nil {
		return nil, err
	}
	cdnLimits, dnsLimits := l.of(cdnReads, cdnWrites), l.of(dnsReads, dnsWrites)
	c := &connections{
		primary: retry.NewTLSSetter(cdn, cdnLimits),
		dns:     retry.NewDNS(dns, dnsLimits),
		keys:    []providers.CredentialsFunc{primaryKeys, backupKeys},
	}
	if p.DNS.Credentials != p.Primary.Credentials {
		c.keys = append(c.keys, dnsKeys)
	}
	c.ports = engine.Ports{
		Levers:  engine.Levers{Primary: c.primary, DNS: c.dns},
		WayBack: &engine.Levers{Primary: retry.NewTLSSetter(cdn, urgent(cdnLimits)), DNS: retry.NewDNS(dns, urgent(dnsLimits))},
		Backup:  retry.NewCDN(backup, l.of(qiniuReads, 1)), Notifier: teller(w.tell), Caller: webhook{},
	}
	if c.ports.Sources, err = sources(std, p, l, primaryKeys); err != nil {
		return nil, err
	}
	if err := c.connectProbes(p, l); err != nil {
		return nil, err
	}
	return c, nil
}

// limiter makes buckets. A lab whose clock runs faster has as many more calls a wall second.
type limiter struct {
	factor float64
	permit func(context.Context) error
}

// urgent are the same limits for the calls of the way back.
func urgent(o retry.Options) retry.Options {
	o.Urgent = true
	return o
}

func (l limiter) of(reads, writes float64) retry.Options {
	bucket := func(rate float64) *retry.Bucket {
		return retry.NewBucket(retry.Limits{PerSecond: l.factor * rate, Burst: int(l.factor * rate)})
	}
	return retry.Options{Reads: bucket(reads), Writes: bucket(writes), Permit: l.permit}
}

func sources(std stdio, p *plans.Plan, l limiter, primaryKeys providers.CredentialsFunc) (map[string]engine.Metrics, error) {
	out := map[string]engine.Metrics{}
	for _, s := range p.Sources {
		m, err := source(std, p, s, primaryKeys)
		if err != nil {
			return nil, fmt.Errorf("source %s: %w", s.Name, err)
		}
		out[s.Name] = retry.NewMetrics(m, l.of(dataReads, 1))
	}
	return out, nil
}

func source(std stdio, p *plans.Plan, s plans.Source, primaryKeys providers.CredentialsFunc) (providers.Metrics, error) {
	keys, err := sourceCredentials(std, s)
	if err != nil {
		return nil, err
	}
	switch s.Type {
	case "prometheus":
		return prometheus.New(s, prometheus.Options{Credentials: keys})
	case "jsonhttp":
		return jsonhttp.New(s, jsonhttp.Options{Credentials: keys})
	case "csvfile":
		return csvfile.New(s), nil
	case "alicloud":
		return alicloud.NewMonitor(p.Domain, alicloud.Options{Endpoint: p.Primary.Endpoint, Region: p.Primary.Region, Credentials: primaryKeys})
	}
	return nil, fmt.Errorf("type %q is not known to this release", s.Type)
}

// connectProbes builds what looks from outside: handshakes with edges, questions to name servers.
func (c *connections) connectProbes(p *plans.Plan, l limiter) error {
	names := &hostNames{primary: c.ports.Primary, backup: c.ports.Backup, servers: p.DNS.Resolvers}
	prober, err := tlsprobe.New(p.Domain, tlsprobe.Options{
		Primary: tlsprobe.Leg{Edges: p.Primary.Edges, CA: p.Primary.CA, Lookup: func(ctx context.Context) ([]string, error) { return names.edges(ctx, guardrails.Primary) }},
		Backup:  tlsprobe.Leg{Edges: p.Backup.Edges, CA: p.Backup.CA, Lookup: func(ctx context.Context) ([]string, error) { return names.edges(ctx, guardrails.Backup) }},
	})
	if err != nil {
		return err
	}
	resolver, err := resolve.New(p.Domain, p.DNS.Zone, resolve.Options{Nameservers: p.DNS.Nameservers, Resolvers: p.DNS.Resolvers})
	if err != nil {
		return err
	}
	c.ports.Prober = retry.NewProber(prober, l.of(probeReads, 1))
	c.ports.Resolver = retry.NewResolver(resolver, l.of(resolveReads, 1))
	return nil
}

// hostNames finds a leg's edges by the CDN's own host name, never by the name being shifted.
type hostNames struct {
	primary, backup engine.CDN
	servers         []string
}

func (h *hostNames) edges(ctx context.Context, leg guardrails.Leg) ([]string, error) {
	cdn := h.primary
	if leg == guardrails.Backup {
		cdn = h.backup
	}
	s, err := cdn.Read(ctx)
	if err != nil {
		return nil, err
	}
	return resolve.Edges(ctx, s.CNAME, h.servers)
}

// teller tells the person at the terminal.
type teller func(rollout.Urgency, string)

// Notify implements engine.Notifier.
func (t teller) Notify(_ context.Context, _ engine.Key, u rollout.Urgency, text string) error {
	t(u, text)
	return nil
}

// webhook asks call steps.
type webhook struct{}

const webhookTimeout = 30 * time.Second

// Call implements engine.Caller: one POST without a body, whose Idempotency-Key is the act's; a redirect is an answer. Who cannot be
// heard, or says that he cannot answer now, has not refused.
func (webhook) Call(ctx context.Context, key engine.Key, target string, expect int) error {
	limited, cancel := context.WithTimeout(ctx, webhookTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodPost, target, http.NoBody)
	if err != nil {
		return called(providers.Invalid, withoutURL(err))
	}
	req.Header.Set("Idempotency-Key", string(key))
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return called(providers.Transient, withoutURL(err))
	}
	defer res.Body.Close()                                      //nolint:errcheck // nothing of it is used
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16)) // so that the connection can be used again
	switch s := res.StatusCode; {
	case s == expect:
		return nil
	case s == http.StatusTooManyRequests:
		return called(providers.Throttled, fmt.Errorf("it answered %d", s))
	case s >= http.StatusInternalServerError:
		return called(providers.Transient, fmt.Errorf("it answered %d", s))
	default:
		return called(providers.Invalid, fmt.Errorf("it answered %d, expected %d", s, expect))
	}
}

func called(kind providers.Kind, err error) error {
	return &providers.Error{Provider: "webhook", Op: "call", Kind: kind, Err: err}
}

// withoutURL drops the URL, which may carry a token.
func withoutURL(err error) error {
	if u, ok := err.(*url.Error); ok { //nolint:errorlint // Client.Do promises exactly this type
		return u.Err
	}
	return err
}

// loopback reports whether every address in the plan is this machine, which is what makes a lab a lab.
func loopback(p *plans.Plan) bool {
	urls := []string{p.Primary.Endpoint, p.Backup.Endpoint, p.Backup.Analytics, p.DNS.Endpoint}
	for _, s := range p.Sources {
		if s.Type != "alicloud" && s.Type != "csvfile" { // the one asks the primary's endpoint, the other no address
			urls = append(urls, s.URL)
		}
	}
	for i, raw := range urls {
		if raw == "" && i == 2 { // the analytics host is the endpoint's then
			continue
		}
		u, err := url.Parse(raw)
		if err != nil || !loopbackHost(u.Hostname()) {
			return false
		}
	}
	hosts := append(append(append([]string{}, p.Primary.Edges...), p.Backup.Edges...), p.DNS.Nameservers...)
	if len(p.Primary.Edges) == 0 || len(p.Backup.Edges) == 0 || len(p.DNS.Nameservers) == 0 {
		return false
	}
	for _, h := range append(hosts, p.DNS.Resolvers...) {
		host, _, err := net.SplitHostPort(h)
		if err != nil || !loopbackHost(host) {
			return false
		}
	}
	return true
}

func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
