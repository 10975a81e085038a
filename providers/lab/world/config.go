package world

import (
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// Config describes a world. State must hold a weighted pair on Line; everything else has a default.
type Config struct {
	Domain string // default State.Primary.Domain
	Line   string // default "default"
	State  plans.State

	// What edges speak while their CDN's settings are not Explicit. Default TLS 1.0 to 1.2.
	DefaultTLS plans.TLSSet
	BackupTLS  plans.TLSSet

	PrimaryEdges     int      // default 2, or the number of names
	BackupEdges      int      // default 2, or the number of names
	PrimaryEdgeNames []string // ip:port as handshakes report it; generated when empty
	BackupEdgeNames  []string

	Location   *time.Location // of the daily shape; default UTC
	Seed       uint64
	Fault      Fault // default None
	Quiet      bool  // no noise, no caches, every minute complete as soon as it ends
	ZeroWeight bool  // the DNS API takes a weight of 0
	Platforms  []Platform

	PropagationDNS time.Duration // API to authoritative servers; default 5 s, negative is none
	PropagationTLS time.Duration // API to the last edge; default 90 s, negative is none. The API says success after two thirds of it
}

// Platform is one kind of client. Times are means in milliseconds, sizes in bytes.
type Platform struct {
	Name       string
	Peak       float64 // requests a minute at 14:00, both legs together
	Total12    float64 // total time of a request over TLS 1.2 or older
	Total13    float64 // and over TLS 1.3
	TLS12      float64 // time of a TLS 1.2 handshake
	TLS13      float64 // and of a TLS 1.3 one
	Bytes      float64
	Errors     float64 // share of requests that fail on a good day, 0..1
	Handshakes float64 // TLS handshakes a request, 0..1
}

// DefaultPlatforms returns iOS and Android with the figures of the change that the product automates: before and seven days after it.
func DefaultPlatforms() []Platform {
	return []Platform{
		{
			Name: "ios", Peak: 9000, Total12: 281, Total13: 237, TLS12: 210, TLS13: 137,
			Bytes: 61_000, Errors: 0.005, Handshakes: 0.4,
		},
		{
			Name: "android", Peak: 12_000, Total12: 307, Total13: 269, TLS12: 83, TLS13: 71,
			Bytes: 54_000, Errors: 0.005, Handshakes: 0.4,
		},
	}
}

func (c Config) withDefaults() Config {
	old := plans.TLSSetOf(plans.TLS10, plans.TLS11, plans.TLS12)
	if c.Domain == "" {
		c.Domain = c.State.Primary.Domain
	}
	if c.Line == "" {
		c.Line = "default"
	}
	if c.DefaultTLS == 0 {
		c.DefaultTLS = old
	}
	if c.BackupTLS == 0 {
		c.BackupTLS = old
	}
	if c.Location == nil {
		c.Location = time.UTC
	}
	if c.Fault == 0 {
		c.Fault = None
	}
	if len(c.Platforms) == 0 {
		c.Platforms = DefaultPlatforms()
	}
	c.PrimaryEdges = countEdges(c.PrimaryEdges, c.PrimaryEdgeNames)
	c.BackupEdges = countEdges(c.BackupEdges, c.BackupEdgeNames)
	c.PropagationDNS = delayOr(c.PropagationDNS, 5*time.Second)
	c.PropagationTLS = delayOr(c.PropagationTLS, 90*time.Second)
	return c
}

func countEdges(n int, names []string) int {
	switch {
	case len(names) > 0:
		return len(names)
	case n > 0:
		return n
	}
	return 2
}

func delayOr(d, standard time.Duration) time.Duration {
	switch {
	case d < 0:
		return 0
	case d == 0:
		return standard
	}
	return d
}

// ttl is the TTL of the pair's answers; 60 s when the records tell none.
func (w *World) ttl() time.Duration {
	p, b, ok := w.state.Pair(w.cfg.Line)
	if !ok || max(p.TTL, b.TTL) <= 0 {
		return time.Minute
	}
	return max(p.TTL, b.TTL)
}

// day returns the share of the peak that each hour of the day starts with. It falls by a fifth an hour around 02:00, where it is about
// a third, and peaks at 14:00.
func day() [25]float64 {
	return [25]float64{
		0.60, 0.48, 0.39, 0.32, 0.28, 0.27, 0.33, 0.45, 0.60, 0.75, 0.86, 0.93,
		0.97, 0.99, 1.00, 0.98, 0.96, 0.94, 0.93, 0.94, 0.95, 0.93, 0.85, 0.73, 0.60,
	}
}

// busy is the demand of a minute as a share of the peak.
func (w *World) busy(m guardrails.Minute) float64 {
	at := m.Start().In(w.cfg.Location)
	hours := day()
	h, part := at.Hour(), float64(at.Minute())/60
	return hours[h] + (hours[h+1]-hours[h])*part
}
