package retry

import (
	"context"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

var (
	_ providers.CDN       = (*CDN)(nil)
	_ providers.TLSSetter = (*TLSSetter)(nil)
	_ providers.DNS       = (*DNS)(nil)
	_ providers.Metrics   = (*Metrics)(nil)
	_ providers.Prober    = (*Prober)(nil)
	_ providers.Resolver  = (*Resolver)(nil)
	_ providers.Notifier  = (*Notifier)(nil)
)

// CDN repeats the reads of a CDN. It is as safe for several goroutines as the CDN itself; so are all types of this package.
type CDN struct {
	inner providers.CDN
	reads policy
}

// NewCDN decorates a CDN that is only read.
func NewCDN(c providers.CDN, o Options) *CDN { return &CDN{c, readPolicy(o)} }

// Read is Read of the decorated CDN, repeated as a read.
func (c *CDN) Read(ctx context.Context) (plans.CDNState, error) {
	return run(ctx, c.reads, c.inner.Read)
}

// TLSSetter repeats the calls of a TLSSetter.
type TLSSetter struct {
	CDN
	setter providers.TLSSetter
	writes policy
}

// NewTLSSetter decorates a CDN whose TLS versions are written.
func NewTLSSetter(s providers.TLSSetter, o Options) *TLSSetter {
	return &TLSSetter{*NewCDN(s, o), s, writePolicy(o)}
}

// SetTLS is SetTLS of the decorated CDN, repeated as a write.
func (s *TLSSetter) SetTLS(ctx context.Context, w plans.TLSWrite) error {
	return command(ctx, s.writes, func(ctx context.Context) error { return s.setter.SetTLS(ctx, w) })
}

// DescribeTLS is DescribeTLS of the decorated CDN.
func (s *TLSSetter) DescribeTLS(w plans.TLSWrite) providers.Call { return s.setter.DescribeTLS(w) }

// DNS repeats the calls of a DNS provider.
type DNS struct {
	inner         providers.DNS
	reads, writes policy
}

// NewDNS decorates a DNS provider.
func NewDNS(d providers.DNS, o Options) *DNS { return &DNS{d, readPolicy(o), writePolicy(o)} }

// Read is Read of the decorated provider, repeated as a read.
func (d *DNS) Read(ctx context.Context) (plans.DNSState, error) {
	return run(ctx, d.reads, d.inner.Read)
}

// Write is Write of the decorated provider, repeated as a write.
func (d *DNS) Write(ctx context.Context, w plans.DNSWrite) error {
	return command(ctx, d.writes, func(ctx context.Context) error { return d.inner.Write(ctx, w) })
}

// Describe is Describe of the decorated provider.
func (d *DNS) Describe(w plans.DNSWrite) providers.Call { return d.inner.Describe(w) }

// Metrics repeats the reads of a metric source.
type Metrics struct {
	inner providers.Metrics
	reads policy
}

// NewMetrics decorates a metric source.
func NewMetrics(m providers.Metrics, o Options) *Metrics { return &Metrics{m, readPolicy(o)} }

// Fetch is Fetch of the decorated source, repeated as a read.
func (m *Metrics) Fetch(ctx context.Context, from, to guardrails.Minute) ([]guardrails.Row, error) {
	return run(ctx, m.reads, func(ctx context.Context) ([]guardrails.Row, error) { return m.inner.Fetch(ctx, from, to) })
}

// Prober repeats the reads of a prober. An edge that does not answer is a result, and is not repeated.
type Prober struct {
	inner providers.Prober
	reads policy
}

// NewProber decorates a prober.
func NewProber(p providers.Prober, o Options) *Prober { return &Prober{p, readPolicy(o)} }

// Handshake is Handshake of the decorated prober, repeated as a read.
func (p *Prober) Handshake(ctx context.Context, leg guardrails.Leg) ([]plans.Handshake, error) {
	return run(ctx, p.reads, func(ctx context.Context) ([]plans.Handshake, error) { return p.inner.Handshake(ctx, leg) })
}

// Resolver repeats the reads of a resolver. A server that does not answer is a result, and is not repeated.
type Resolver struct {
	inner providers.Resolver
	reads policy
}

// NewResolver decorates a resolver.
func NewResolver(r providers.Resolver, o Options) *Resolver { return &Resolver{r, readPolicy(o)} }

// Resolve is Resolve of the decorated resolver, repeated as a read.
func (r *Resolver) Resolve(ctx context.Context, primary, backup string, n int) ([]plans.Answers, error) {
	return run(ctx, r.reads, func(ctx context.Context) ([]plans.Answers, error) { return r.inner.Resolve(ctx, primary, backup, n) })
}

// Notifier repeats messages as writes: an Unknown one is not sent again, so nobody is paged twice for one thing.
type Notifier struct {
	inner  providers.Notifier
	writes policy
}

// NewNotifier decorates a notifier.
func NewNotifier(n providers.Notifier, o Options) *Notifier { return &Notifier{n, writePolicy(o)} }

// Notify is Notify of the decorated notifier, repeated as a write.
func (n *Notifier) Notify(ctx context.Context, m providers.Message) error {
	return command(ctx, n.writes, func(ctx context.Context) error { return n.inner.Notify(ctx, m) })
}

func command(ctx context.Context, p policy, attempt func(context.Context) error) error {
	_, err := run(ctx, p, func(ctx context.Context) (struct{}, error) { return struct{}{}, attempt(ctx) })
	return err
}
