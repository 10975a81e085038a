// Package providers is the contract between tlsroll and the outside: a CDN, a DNS provider, a metric source, a prober, a resolver
// and a notifier, in domain words. Adapters in the folders below translate; they know nothing of runs, steps or guardrails.
//
// What every adapter owes, and what package providertest checks:
//
//   - Each method is one attempt. Adapters never repeat a call; [github.com/tlsroll/tlsroll/providers/retry] and the engine do, by Kind alone.
//   - Reads have no effect. Writes are absolute: made twice they leave what they leave made once.
//   - A write that returns nil was accepted. A write that fails with Unknown may have been applied.
//   - An empty, partial, oversized or unexpected answer is an error, never a zero value.
//   - Each error is an *Error with a Kind. No text carries a secret, a signature or the query of a URL.
//   - ctx ends a call at once; the error then wraps ctx.Err().
//   - All methods may be called by several goroutines.
package providers

import (
	"context"
	"strings"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// CDN reads one domain on one CDN.
type CDN interface {
	// Read returns the domain as the CDN reports it.
	Read(ctx context.Context) (plans.CDNState, error)
}

// TLSSetter is a CDN whose TLS versions can be written.
type TLSSetter interface {
	CDN
	// SetTLS makes one write and returns when the CDN accepted it. Accepted is not live: Read tells.
	SetTLS(ctx context.Context, w plans.TLSWrite) error
	// DescribeTLS returns the API call that SetTLS makes for w. It makes none.
	DescribeTLS(w plans.TLSWrite) Call
}

// DNS reads and writes the weights of the records at one name. It never creates, deletes or edits a record.
type DNS interface {
	// Read returns all records at the name, on every line.
	Read(ctx context.Context) (plans.DNSState, error)
	// Write makes one write and returns when the provider accepted it.
	Write(ctx context.Context, w plans.DNSWrite) error
	// Describe returns the API call that Write makes for w. It makes none.
	Describe(w plans.DNSWrite) Call
}

// Metrics is a source of minutes.
type Metrics interface {
	// Fetch returns the minutes from..to, both included, that the source has now, in no particular order. Rows that the source
	// marks as incomplete or that are not numbers carry an Unknown. The caller asks for at most 180 minutes.
	Fetch(ctx context.Context, from, to guardrails.Minute) ([]guardrails.Row, error)
}

// Prober makes handshakes with edges chosen by address, never through the name being shifted.
type Prober interface {
	// Handshake probes every edge of the leg once and returns one result an edge, in the order of the plan. It fails only when
	// there is no edge to probe; an edge that does not answer is a result.
	Handshake(ctx context.Context, leg guardrails.Leg) ([]plans.Handshake, error)
}

// Resolver asks name servers about the name being shifted.
type Resolver interface {
	// Resolve asks each server n times and counts where the replies point: at primary, at backup (host names) or elsewhere.
	// It fails only when there is no server to ask; a server that does not answer is a result.
	Resolve(ctx context.Context, primary, backup string, n int) ([]plans.Answers, error)
}

// Severity orders messages.
type Severity int

// The severities. A Page wants a person now.
const (
	Info Severity = iota + 1
	Warn
	Page
)

// String returns "info", "warn" or "page".
func (s Severity) String() string {
	switch s {
	case Info:
		return "info"
	case Warn:
		return "warn"
	case Page:
		return "page"
	}
	return "severity ?"
}

// Message is what a person is told.
type Message struct {
	Run      string
	Severity Severity
	Text     string // one sentence, verdict first
}

// Notifier tells a person.
type Notifier interface {
	Notify(ctx context.Context, m Message) error
}

// Call is one API call as a reviewer reads it.
type Call struct {
	API    string // "alidns:UpdateDNSSLBWeight"
	Params []Param
}

// Param is one parameter of a Call, exactly as sent.
type Param struct{ Name, Value string }

// String returns "alidns:UpdateDNSSLBWeight RecordId=1 Weight=90".
func (c Call) String() string {
	var b strings.Builder
	b.WriteString(c.API)
	for _, p := range c.Params {
		b.WriteString(" " + p.Name + "=" + p.Value)
	}
	return b.String()
}
