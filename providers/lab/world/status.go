package world

import (
	"slices"

	"github.com/tlsroll/tlsroll/guardrails"
)

// Code is how many answers had one HTTP status code.
type Code struct {
	Status int
	Count  float64
}

// CodeMinute is what the edges of one leg answered in a minute. Codes without an answer are left out.
type CodeMinute struct {
	Minute guardrails.Minute
	Codes  []Code
	Bytes  float64
}

// statusMix is how answers divide on a good day: 97.5 % of 2xx, 2 % of 4xx, 0.3 % of 5xx.
func statusMix() [statusCodes]struct {
	status int
	share  float64
} {
	return [statusCodes]struct {
		status int
		share  float64
	}{{200, 0.925}, {206, 0.05}, {304, 0.002}, {403, 0.004}, {404, 0.016}, {502, 0.002}, {504, 0.001}}
}

const (
	statusCodes = 7
	badGateway  = 5 // index of 502 in statusMix
)

type legStatuses [2][statusCodes]float64

func (w *World) statusMinute(served float64, x exposure) [statusCodes]float64 {
	var out [statusCodes]float64
	broken := x.changed * w.effect.status5xx
	for i, s := range statusMix() {
		share := s.share * (1 - broken)
		if i == badGateway {
			share += broken
		}
		out[i] = w.count(served * share)
	}
	return out
}

// codesOf turns one leg's statuses into codes, complete to the given part.
func codesOf(st [statusCodes]float64, part float64) []Code {
	var codes []Code
	for i, s := range statusMix() {
		if n := cut(st[i], part); n > 0 {
			codes = append(codes, Code{Status: s.status, Count: n})
		}
	}
	return codes
}

// statusCounts sums codes by class.
func statusCounts(codes []Code) guardrails.Counts {
	c := guardrails.Counts{Has: guardrails.HasRequests | guardrails.HasStatus}
	for _, k := range codes {
		c.Requests += k.Count
		switch k.Status / 100 {
		case 2:
			c.Status2xx += k.Count
		case 4:
			c.Status4xx += k.Count
		case 5:
			c.Status5xx += k.Count
		}
	}
	return c
}

// Total is the number of answers of the minute.
func (c CodeMinute) Total() float64 {
	sum := 0.0
	for _, k := range c.Codes {
		sum += k.Count
	}
	return sum
}

// Add returns the sum of both minutes, under c's number.
func (c CodeMinute) Add(o CodeMinute) CodeMinute {
	out := CodeMinute{Minute: c.Minute, Codes: slices.Clone(c.Codes), Bytes: c.Bytes + o.Bytes}
	for _, k := range o.Codes {
		i := slices.IndexFunc(out.Codes, func(h Code) bool { return h.Status == k.Status })
		if i < 0 {
			out.Codes = append(out.Codes, k)
			continue
		}
		out.Codes[i].Count += k.Count
	}
	return out
}
