package world

import (
	"math"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

const (
	resolvers = 300
	// With demand falling as rank^-0.5, 1/Σd² is about 175: large enough that a five-minute mean stays within 5 points.
	zipf         = 0.5
	stretchedTTL = 5 * time.Minute
)

// population is the resolvers between the clients and the authoritative servers.
type population struct {
	all     [resolvers]resolver
	carried float64 // the primary's share of last minute's requests
}

// resolver holds one cached answer.
type resolver struct {
	demand  float64 // all sum to 1
	ttl     int64   // nanoseconds
	expiry  int64   // Unix nanoseconds
	primary int64   // the answer: 1 for the primary, 0 for the backup
}

func newPopulation(w *World, begin time.Time) *population {
	p := &population{}
	sum := 0.0
	for i := range p.all {
		p.all[i].demand = math.Pow(float64(i+1), -zipf)
		sum += p.all[i].demand
	}
	e := w.answer(begin)
	p.carried = e.share
	w.seed(int64(guardrails.MinuteOf(begin))-1, forResolvers)
	every := 0 // evenly spread over large and small, so that the share of resolvers is that of the demand
	if w.cfg.Stretching > 0 {
		every = max(1, int(1/w.cfg.Stretching))
	}
	for i := range p.all {
		r := &p.all[i]
		r.demand /= sum
		r.ttl = int64(w.ttl())
		if every > 0 && i%every == every/2 {
			r.ttl = max(r.ttl, int64(stretchedTTL))
		}
		r.expiry = begin.UnixNano() + int64(w.rnd.Float64()*float64(r.ttl))
		r.refill(w.pcg.Uint64(), limit(e))
	}
	return p
}

// carriedShare moves the caches through a minute and returns the primary's share of its requests.
func (w *World) carriedShare(m guardrails.Minute) float64 {
	if w.cfg.Quiet {
		return w.meanAnswered(m)
	}
	w.seed(int64(m), forResolvers)
	start, end := m.Start().UnixNano(), m.End().UnixNano()
	e := w.answer(m.Start())
	ok, below := e.ok, limit(e)
	changes := w.answered[len(w.answered)-1].at.After(m.Start())
	named := 0.0
	for i := range w.crowd.all {
		r := &w.crowd.all[i]
		held, at := int64(0), start // nanoseconds of the minute with the primary in the cache, up to the instant at
		for r.expiry < end {
			held += r.primary * (r.expiry - at)
			at = r.expiry
			if changes {
				e = w.answer(time.Unix(0, at))
				ok, below = e.ok, limit(e)
			}
			draw := w.pcg.Uint64()
			if ok { // without an answer a resolver keeps its old one
				r.refill(draw, below)
			}
			r.expiry += r.ttl
		}
		held += r.primary * (end - at)
		named += r.demand * float64(held)
	}
	named /= float64(end - start)
	kept := 0.10 + 0.10*w.rnd.Float64() // requests on connections of the minute before
	w.crowd.carried = kept*w.crowd.carried + (1-kept)*named
	return w.crowd.carried
}

// limit is the share as a number below 2^53: a draw of 53 bits is below it with the probability of the primary.
func limit(e dnsEpoch) uint64 { return uint64(e.share * (1 << 53)) }

// refill takes the answer that a draw stands for. It has no branch, because nothing could predict it.
func (r *resolver) refill(draw, below uint64) { r.primary = int64((draw>>11 - below) >> 63) }

// parts is how finely a minute is cut where something changes inside it.
const parts = 12

func (w *World) meanAnswered(m guardrails.Minute) float64 {
	sum := 0.0
	for i := range parts {
		sum += w.answer(instant(m, i)).share
	}
	return sum / parts
}

// instant is the middle of part i of a minute.
func instant(m guardrails.Minute, i int) time.Time {
	return m.Start().Add(time.Minute * time.Duration(2*i+1) / (2 * parts))
}
