package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// longCanary has the guardrails of the default plan and bakes for days; %[1]d is the domain's number.
const longCanary = `
version: tlsroll/v1
name: fleet-%[1]d
domain: cdn-%[1]d.example.com
primary: {provider: alicloud}
backup: {provider: qiniu}
dns: {provider: alicloud, zone: example.com, record: cdn-%[1]d}
change: {tls13: on}
sources:
  rum:
    type: prometheus
    settle: 1m
    url: "http://127.0.0.1:1"
    labels: {platform: platform, cdn: cdn}
    queries: {requests: r, errors: e, total_ms: t, tls_ms: s, tls: h, bytes: b}
  edge: {type: alicloud, settle: 8m}
guardrails:
  - {name: error-rate,    source: rum,  signal: error_rate,    per: platform, above: 5%%,            for: 10m, within: 12m}
  - {name: total-time,    source: rum,  signal: total_time,    per: platform, rise: 20%%, drop: 30%%, for: 10m, within: 12m}
  - {name: tls-time,      source: rum,  signal: tls_time,      per: platform, rise: 20%%, drop: 70%%, for: 10m, within: 12m}
  - {name: response-size, source: rum,  signal: response_size, per: platform, rise: 20%%, drop: 20%%, for: 10m, within: 12m}
  - {name: status-share,  source: edge, signal: status_share,  classes: [2xx, 4xx, 5xx], moves: 5pp, for: 10m, within: 12m}
  - {name: silence,       source: rum,  signal: requests,      per: platform, falls_below: 60%% of expected, for: 8m, within: 10m}
steps:
  - shift: {primary: 0%%}
  - tls: change
  - shift: {primary: 10%%, bake: 100h}
`

func longPlan(t *testing.T, number int) *plans.Plan {
	t.Helper()
	text := fmt.Appendf(nil, longCanary, number)
	p, problems := plans.Parse("fleet.yaml", text)
	if problems.HasErrors() {
		t.Fatal(problems.Render(text))
	}
	return p
}

// site is a domain that costs next to nothing: what is configured, and traffic that follows it at once. It is for measuring everything else.
type site struct {
	*cloud

	moves []move // of the share, oldest first
	sick  time.Time
	wrote time.Duration // by the machine's clock: when the first write came after it fell sick; 0: none yet
}

// move is a share and since when it has been there.
type move struct {
	at    time.Time
	share float64
}

func newSite(p *plans.Plan) *site {
	c := newCloud()
	c.state.Primary.Domain, c.state.Backup.Domain = p.Domain, p.Domain
	c.state.Primary.Status, c.state.Backup.Status, c.state.Primary.TLSReadable = "online", "success", true
	c.state.DNS.MinTTL = time.Second
	for i := range c.state.DNS.Records {
		r := &c.state.DNS.Records[i]
		r.Name, r.Type, r.Line, r.TTL = p.DNS.Record, "CNAME", p.DNS.Line, time.Minute
	}
	return &site{cloud: c, moves: []move{{share: 60}}}
}

// note takes in what a write made of the share.
func (s *site) note() {
	w := s.weights()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moves = append(s.moves, move{time.Now(), float64(w.Share())})
	if !s.sick.IsZero() && s.wrote == 0 {
		s.wrote = machineTime()
	}
}

func (s *site) shareAt(m guardrails.Minute) (share float64) {
	for _, v := range s.moves {
		if !v.at.After(m.Start()) {
			share = v.share
		}
	}
	return share
}

func (s *site) ports() engine.Ports {
	return engine.Ports{
		Levers: engine.Levers{Primary: sitePrimary{cdn{s.cloud, false}, s}, DNS: siteRecords{records{s.cloud}, s}}, Backup: cdn{s.cloud, true},
		Sources: map[string]engine.Metrics{"rum": siteClients{s}, "edge": siteEdge{s}}, Prober: siteEdges{s}, Resolver: siteNames{s},
		Notifier: quiet{}, Caller: quiet{},
	}
}

type (
	sitePrimary struct {
		cdn
		site *site
	}
	siteRecords struct {
		records
		site *site
	}
	siteClients struct{ *site }
	siteEdge    struct{ *site }
	siteEdges   struct{ *site }
	siteNames   struct{ *site }
)

func (s sitePrimary) SetTLS(ctx context.Context, w plans.TLSWrite) error {
	defer s.site.note()
	return s.cdn.SetTLS(ctx, w)
}

func (s siteRecords) Write(ctx context.Context, w plans.DNSWrite) error {
	defer s.site.note()
	return s.records.Write(ctx, w)
}

// The requests of one platform in a minute, and what share of them fails on a primary that is sick.
const (
	siteRequests = 30_000
	siteFailing  = 0.2
)

func (s siteClients) Fetch(_ context.Context, from, to guardrails.Minute) ([]guardrails.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := make([]guardrails.Row, 0, 4*max(0, int(to-from)+1))
	for _, platform := range []string{"android", "ios"} {
		for _, leg := range []guardrails.Leg{guardrails.Primary, guardrails.Backup} {
			for m := from; m <= to && !m.End().After(time.Now()); m++ {
				rows = append(rows, guardrails.Row{Platform: platform, Leg: leg, Minute: m, Counts: s.counts(m, leg)})
			}
		}
	}
	if len(rows) == 0 {
		return nil, errors.New("no minutes")
	}
	return rows, nil
}

func (s *site) counts(m guardrails.Minute, leg guardrails.Leg) guardrails.Counts {
	share, failing := s.shareAt(m)/100, 0.001
	if leg == guardrails.Backup {
		share = 1 - share
	} else if !s.sick.IsZero() && !m.Start().Before(s.sick) {
		failing = siteFailing
	}
	n := siteRequests * share
	return guardrails.Counts{
		Requests: n, Errors: n * failing, TotalMS: 180 * n, TLSMS: 30 * n, TLS: n, Bytes: 40_000 * n,
		Has: guardrails.HasRequests | guardrails.HasErrors | guardrails.HasTotalMS | guardrails.HasTLSMS | guardrails.HasTLS | guardrails.HasBytes,
	}
}

func (s siteEdge) Fetch(_ context.Context, from, to guardrails.Minute) ([]guardrails.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []guardrails.Row
	for m := from; m <= to && !m.End().Add(5*time.Minute).After(time.Now()); m++ {
		if n := 2 * siteRequests * s.shareAt(m) / 100; n > 0 {
			rows = append(rows, guardrails.Row{Leg: guardrails.Primary, Minute: m, Counts: guardrails.Counts{
				Requests: n, Status2xx: 0.98 * n, Status4xx: 0.015 * n, Status5xx: 0.005 * n, Has: guardrails.HasRequests | guardrails.HasStatus,
			}})
		}
	}
	return rows, nil
}

func (s siteEdges) Handshake(_ context.Context, leg guardrails.Leg) ([]plans.Handshake, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.state.Primary.TLS.Enabled
	if leg == guardrails.Backup {
		set = plans.TLSSetOf(plans.TLS12)
	}
	h := plans.Handshake{
		Leg: leg, Edge: "127.0.0.1:443", Accepted: set, Probed: plans.TLSSetOf(plans.TLSVersions()...), Version: plans.TLS12,
		Suite: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", Group: "X25519", ALPN: "h2", Names: []string{s.state.Primary.Domain},
		Issuer: "test CA", NotAfter: time.Now().AddDate(0, 3, 0), Connect: 20 * time.Millisecond, TLS: 45 * time.Millisecond,
	}
	if set.Has(plans.TLS13) {
		h.Version, h.Suite, h.Sentinel = plans.TLS13, "TLS_AES_128_GCM_SHA256", true
	}
	return []plans.Handshake{h}, nil
}

func (s siteNames) Resolve(_ context.Context, _, _ string, n int) ([]plans.Answers, error) {
	primary := n * int(s.weights().Share()) / 100
	return []plans.Answers{{Server: "authoritative", Authoritative: true, Primary: primary, Backup: n - primary, TTL: time.Minute}}, nil
}

// fleet is many sites under one supervisor.
type fleet struct {
	mu    sync.Mutex
	sites map[string]*site // by domain
}

func (f *fleet) connect(p *plans.Plan, _ func(context.Context) error) (engine.Ports, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sites[p.Domain]
	if s == nil {
		s = newSite(p)
		f.sites[p.Domain] = s
	}
	return s.ports(), nil
}
