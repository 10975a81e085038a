package world

import (
	"time"

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

	Location *time.Location // of civil days and hours; default UTC
	Seed     uint64
	Fault    Fault // default None
	// Onset is when the fault's effect on requests and on measurements begins, at the earliest; zero: as soon as the change is live.
	Onset      time.Time
	Quiet      bool // no noise, no caches, days alike, every minute complete as soon as it ends
	ZeroWeight bool // the DNS API takes a weight of 0
	Platforms  []Platform

	// How the civil days differ from that of the start, which is as Platforms say: standard deviations as shares of the usual, 0..0.3.
	DayDemand float64 // of a day's requests; default 0.05, negative is none
	DayTimes  float64 // of a day's total and handshake times; default 0.03, negative is none
	// NightRise is how much longer both times are at 06:00 than at 02:00, on every day, as a share. They fall back by 11:00.
	NightRise float64 // default 0.02, none in a quiet world; negative is none

	// Stretching is the share of resolvers that keep an answer for five minutes whatever its TTL; default 0.03, negative is none.
	Stretching float64

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
	if c.Quiet {
		c.DayDemand, c.DayTimes, c.NightRise = 0, 0, max(c.NightRise, 0)
	} else {
		c.DayDemand, c.DayTimes, c.NightRise = shareOr(c.DayDemand, 0.05), shareOr(c.DayTimes, 0.03), shareOr(c.NightRise, 0.02)
	}
	c.Stretching = shareOr(c.Stretching, 0.03)
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

func shareOr(share, standard float64) float64 {
	switch {
	case share < 0:
		return 0
	case share == 0:
		return standard
	}
	return share
}

// ttl is the TTL of the pair's answers; 60 s when the records tell none.
func (w *World) ttl() time.Duration {
	p, b, ok := w.state.Pair(w.cfg.Line)
	if !ok || max(p.TTL, b.TTL) <= 0 {
		return time.Minute
	}
	return max(p.TTL, b.TTL)
}
