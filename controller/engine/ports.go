package engine

import (
	"context"
	"errors"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

// The ports are what the executor needs of the outside. What reads and writes has the shape of its contract in package providers; the
// notifier and the caller take a run's own words, and whoever wires the program adapts them.
type (
	// CDN reads a domain.
	CDN interface {
		Read(ctx context.Context) (plans.CDNState, error)
	}
	// TLSSetter reads and writes the primary.
	TLSSetter interface {
		CDN
		SetTLS(ctx context.Context, w plans.TLSWrite) error
	}
	// DNS reads and writes the records.
	DNS interface {
		Read(ctx context.Context) (plans.DNSState, error)
		Write(ctx context.Context, w plans.DNSWrite) error
	}
	// Metrics is a source of minutes.
	Metrics interface {
		Fetch(ctx context.Context, from, to guardrails.Minute) ([]guardrails.Row, error)
	}
	// Prober makes handshakes.
	Prober interface {
		Handshake(ctx context.Context, leg guardrails.Leg) ([]plans.Handshake, error)
	}
	// Resolver asks name servers.
	Resolver interface {
		Resolve(ctx context.Context, primary, backup string, n int) ([]plans.Answers, error)
	}
	// Notifier tells a person. A message may come more than once, with the same key.
	Notifier interface {
		Notify(ctx context.Context, key Key, u rollout.Urgency, text string) error
	}
	// Caller asks a webhook; a status other than expect is an error. It may be asked more than once, with the same key.
	Caller interface {
		Call(ctx context.Context, key Key, url string, expect int) error
	}
)

// Key tells the acts of all runs apart: run and command, as "cdn-20210624T180000Z-3f9a1c/42". Whoever receives it twice has been told once.
type Key string

// Levers are what a run writes.
type Levers struct {
	Primary TLSSetter
	DNS     DNS
}

// Ports are all of them. Every one must be set, except WayBack, MayWrite and KeepNothing.
type Ports struct {
	Levers
	WayBack  *Levers // the same two for the way back, when its calls go before others'; nil: Levers
	Backup   CDN
	Sources  map[string]Metrics // by the name in the plan
	Prober   Prober
	Resolver Resolver
	Notifier Notifier
	Caller   Caller
	// MayWrite is asked before each write to a cloud: an error means that nobody knows whether this process may still act. nil: it may.
	MayWrite func(ctx context.Context) error
	// KeepNothing leaves out the digest of fetched rows, which a night that is not kept does not need.
	KeepNothing bool

	bulk slots // set by the supervisor
	// Now is the run's time. Pause waits for a time of the run, and fails when ctx ends.
	Now   func() time.Time
	Pause func(ctx context.Context, d time.Duration) error
}

func (p Ports) wayBack() Levers {
	if p.WayBack == nil {
		return p.Levers
	}
	return *p.WayBack
}

// KindOf translates what an adapter says. What no adapter classified may have been applied.
func KindOf(err error) rollout.FailureKind {
	if _, ok := errors.AsType[*conflictError](err); ok {
		return rollout.Conflict
	}
	switch providers.KindOf(err) {
	case providers.Transient:
		return rollout.Transient
	case providers.Throttled:
		return rollout.Throttled
	case providers.Denied:
		return rollout.Denied
	case providers.Missing:
		return rollout.Missing
	case providers.Conflict:
		return rollout.Conflict
	case providers.Invalid:
		return rollout.Invalid
	case providers.Unknown:
		return rollout.Unknown
	}
	return rollout.Unknown
}

// conflictError is a state that is neither the expected one nor the wanted one.
type conflictError struct{ text string }

func (e *conflictError) Error() string { return e.text }
