// Package prometheus reads minutes from the Prometheus HTTP API, which VictoriaMetrics, Thanos, Mimir and others speak as well.
//
// It asks for numerators and denominators, each with range queries of its own at steps of one minute, aligned to whole minutes: a sample
// at T describes the minute that ends at T. Nothing is interpolated: a minute without a sample is a minute without a row. Laws, beside
// those of package providers:
//
//   - An answer with warnings, or one that says isPartial, is partial. It is an error, not data.
//   - Points that come in coarser steps than asked are an error: what lies between them is no hole, and they may be sums of more than
//     a minute.
//   - NaN, infinities and negative numbers make the row unknown; they never become zero.
//   - A series that belongs to no leg, or a second series for one platform and leg, is an error: nobody can say which one counts.
//   - Status shares need all classes: a minute that has but some of them has none.
//   - A redirect is never followed: it would hand the credentials to another host. A query is sent once; only a server that refuses
//     POST is asked again by GET.
//   - Texts of the server are shortened, and what it repeats of credentials and of the URL's query is masked.
package prometheus

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

const (
	name           = "prometheus"
	defaultTimeout = 15 * time.Second
)

// Options are what is not in the plan. The zero value asks without credentials.
type Options struct {
	Credentials providers.CredentialsFunc // KeyID and Secret become basic authentication
	Transport   http.RoundTripper         // nil is [net/http.DefaultTransport], which all adapters share
	Timeout     time.Duration             // of one query, wall time; 0 is 15 s
}

// Source is one source of a plan. Its methods may be called by several goroutines.
type Source struct {
	source    plans.Source
	url       *url.URL
	keys      providers.CredentialsFunc
	transport http.RoundTripper
	timeout   time.Duration
}

var _ providers.Metrics = (*Source)(nil)

// New returns the source, or an error of kind Invalid when its URL is none.
func New(s plans.Source, o Options) (*Source, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		// The URL stays out of the text: it may hold a secret.
		return nil, &providers.Error{Provider: name, Op: "configure", Kind: providers.Invalid, Err: errors.New("the url of source " + s.Name + " is none")}
	}
	out := &Source{source: s, url: u, keys: o.Credentials, transport: o.Transport, timeout: o.Timeout}
	if out.transport == nil {
		out.transport = http.DefaultTransport
	}
	if out.timeout == 0 {
		out.timeout = defaultTimeout
	}
	return out, nil
}

// Fetch implements providers.Metrics. All queries are asked at the same time; one that fails fails the whole. Spans of more than
// a day and a half are asked for in pieces, one after the other.
func (s *Source) Fetch(ctx context.Context, from, to guardrails.Minute) ([]guardrails.Row, error) {
	c, err := s.caller(ctx)
	if err != nil {
		return nil, err
	}
	fields := make([]string, 0, len(s.source.Queries))
	for f := range s.source.Queries {
		fields = append(fields, f)
	}
	slices.Sort(fields)
	answers, errs := make([][]piece, len(fields)), make([]error, len(fields))
	var wg sync.WaitGroup
	for i, f := range fields {
		wg.Go(func() { answers[i], errs[i] = c.ask(ctx, f, s.source.Queries[f], from, to) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	t := table{source: s.source, rows: map[key]*cell{}}
	for i, f := range fields {
		if err := t.add(f, answers[i]); err != nil {
			return nil, c.failure("query "+f, providers.Invalid, err)
		}
	}
	return t.sorted(), nil
}
