// Package lab is a test bed that needs no account: servers on 127.0.0.1 that speak the Alibaba Cloud CDN and DNS APIs, the Qiniu CDN
// API and the Prometheus query API, an authoritative DNS server with weighted CNAMEs, and TLS edges for both CDNs, all in front of one
// [world.World]. Real adapters run against it unchanged.
//
// Laws:
//
//   - Signatures, nonces and timestamps are verified, against wall time. Data lives in the time of Options.Clock.
//   - Answers have the shapes, types and errors of the vendors' APIs, nuisances included: substring search, pages of 20, absent minutes,
//     coarser points for longer spans, argument lists without an order.
//   - Nothing is worse than the vendor by default; [Trouble] and the world's faults make it so on request.
//   - Every call is kept, without keys and signatures; [Lab.Calls] returns them.
//   - Nothing listens beyond loopback, and Close waits for every goroutine.
//
// Where the vendors' behaviour is not known, the lab takes the stricter reading: a weight of 0 is refused, and setting a function
// replaces its whole argument list. A domain stays online while a configuration is under way.
package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/plans/examples"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// Options say what the lab stands for. The zero value works.
type Options struct {
	Plan  string      // YAML of the plan whose domain, records, line, TTL and change the lab takes; "" is the first of plans/examples
	Clock plans.Clock // the zero Clock is wall time
	Dir   string      // for the CA file; "" is a temporary directory that Close removes

	// Unscheduled drops from the plan handed out when it starts and until when it may go on, so that it starts when it is applied. A
	// person who types the command needs longer than a start deadline lasts at a high speed.
	Unscheduled bool

	// World is the base of the world. Domain, Line, Location and edge names come from the plan and the listeners, and so does State
	// unless it holds records.
	World world.Config

	AccessKey   string // Alibaba Cloud; default "lab-access-key"
	Secret      string
	Token       string // security token that calls must carry; "" is none
	QiniuKey    string // default "lab-qiniu-key"
	QiniuSecret string

	Script []Trouble   // see [Lab.Trouble]
	Log    *zap.Logger // default: none
}

// Endpoints are the addresses of the lab's servers.
type Endpoints struct {
	Alicloud     string // URL of the CDN and the DNS API
	Qiniu        string // URL of the domain API and of the analytics API
	Prometheus   string // URL
	DNS          string // ip:port, UDP and TCP
	PrimaryEdges []string
	BackupEdges  []string
	CA           string // PEM file
}

// Lab is the running test bed. Its methods may be called by several goroutines.
type Lab struct {
	opts  Options
	log   *zap.Logger
	site  site
	ends  Endpoints
	plan  string
	tmp   string // directory to remove
	stop  context.CancelFunc
	done  sync.WaitGroup
	certs certificates

	mu       sync.Mutex
	world    *world.World
	rnd      *rand.Rand
	nonces   map[string]time.Time
	calls    []Call
	troubles []Trouble
	stale    staleReads
	requests int
}

// staleReads is what reads see for a while after a write.
type staleReads struct {
	until time.Time
	state plans.State
}

// Start listens and serves until Close is called or ctx ends; Close must be called either way.
func Start(ctx context.Context, o Options) (*Lab, error) {
	if o.Plan == "" {
		o.Plan, _ = examples.Source(examples.Names()[0])
	}
	s, err := parseSite(o.Plan)
	if err != nil {
		return nil, fmt.Errorf("start the lab: %w", err)
	}
	l := &Lab{opts: withDefaults(o), log: o.Log, site: s, nonces: map[string]time.Time{}, troubles: append([]Trouble(nil), o.Script...)}
	if l.log == nil {
		l.log = zap.NewNop()
	}
	l.rnd = rand.New(rand.NewPCG(o.World.Seed, 1)) //nolint:gosec // picks of weighted answers, not a secret
	life, stop := context.WithCancel(ctx)
	l.stop = stop
	if err := l.open(life); err != nil {
		l.Close()
		return nil, fmt.Errorf("start the lab: %w", err)
	}
	return l, nil
}

func withDefaults(o Options) Options {
	or := func(s *string, standard string) {
		if *s == "" {
			*s = standard
		}
	}
	or(&o.AccessKey, "lab-access-key")
	or(&o.Secret, "lab-secret")
	or(&o.QiniuKey, "lab-qiniu-key")
	or(&o.QiniuSecret, "lab-qiniu-secret")
	return o
}

// open makes certificates, listeners and the world, then serves.
func (l *Lab) open(ctx context.Context) error {
	now := time.Now()
	start := l.opts.Clock.At(now)
	dir, err := l.directory()
	if err != nil {
		return err
	}
	if l.certs, l.ends.CA, err = makeCertificates(dir, l.site.domain, now, start); err != nil {
		return err
	}
	edges, err := l.listenEdges(ctx)
	if err != nil {
		return err
	}
	l.world = world.New(l.worldConfig(), start)
	l.serveEdges(ctx, edges)
	for _, s := range []struct {
		url     *string
		handler handler
	}{
		{&l.ends.Alicloud, l.serveRPC},
		{&l.ends.Qiniu, l.serveQiniu},
		{&l.ends.Prometheus, l.servePrometheus},
	} {
		if *s.url, err = l.serveHTTP(ctx, s.handler); err != nil {
			return err
		}
	}
	if err := l.serveDNS(ctx); err != nil {
		return err
	}
	var hours []string
	if l.opts.Unscheduled {
		hours = []string{"at", "cron", "start_deadline", "advance_until"}
	}
	l.plan, err = rewritePlan(l.opts.Plan, l.ends, hours...)
	return err
}

func (l *Lab) directory() (string, error) {
	if l.opts.Dir != "" {
		return l.opts.Dir, nil
	}
	dir, err := os.MkdirTemp("", "tlsroll-lab-")
	if err != nil {
		return "", fmt.Errorf("make a directory for the CA file: %w", err)
	}
	l.tmp = dir
	return dir, nil
}

func (l *Lab) worldConfig() world.Config {
	c := l.opts.World
	c.Domain, c.Line, c.Location = l.site.domain, l.site.line, l.site.location
	c.PrimaryEdgeNames, c.BackupEdgeNames = l.ends.PrimaryEdges, l.ends.BackupEdges
	if len(c.State.DNS.Records) == 0 {
		c.State = l.site.state()
	}
	if c.BackupTLS == 0 {
		c.BackupTLS = l.site.before
	}
	return c
}

// Close stops every server and waits for every goroutine. It may be called more than once.
func (l *Lab) Close() {
	l.stop()
	l.done.Wait()
	if l.tmp != "" {
		if err := os.RemoveAll(l.tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
			l.log.Warn("the lab's directory stays", zap.Error(err))
		}
	}
}

// Endpoints returns where the servers listen.
func (l *Lab) Endpoints() Endpoints { return l.ends }

// PlanSource returns the plan with the lab's endpoints, edges, CA, name server and Prometheus URL in it, comments kept.
func (l *Lab) PlanSource() string { return l.plan }

// Env returns the environment variables that carry the lab's credentials to the adapters.
func (l *Lab) Env() map[string]string {
	env := map[string]string{
		"ALIBABA_CLOUD_ACCESS_KEY_ID":     l.opts.AccessKey,
		"ALIBABA_CLOUD_ACCESS_KEY_SECRET": l.opts.Secret,
		"QINIU_ACCESS_KEY":                l.opts.QiniuKey,
		"QINIU_SECRET_KEY":                l.opts.QiniuSecret,
	}
	if l.opts.Token != "" {
		env["ALIBABA_CLOUD_SECURITY_TOKEN"] = l.opts.Token
	}
	return env
}

// With calls f with the lab's present instant and its world, alone. f must not keep the world.
func (l *Lab) With(f func(now time.Time, w *world.World)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.world.Advance(now)
	f(now, l.world)
}

func (l *Lab) now() time.Time { return l.opts.Clock.At(time.Now()) }
