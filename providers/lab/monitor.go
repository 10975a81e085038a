package lab

import (
	"strconv"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// apiTime is how the API writes instants.
const apiTime = "2006-01-02T15:04:05Z"

// span is the time that a monitoring call asks for and what it gets: longer spans get coarser points, later, for longer.
type span struct {
	from, to time.Time // to is not included
	step     time.Duration
	delay    time.Duration // after the end of a point
	kept     time.Duration
}

func (l *Lab) spanOf(c rpcCall) (span, error) {
	for name := range strings.SplitSeq(c.get("DomainName"), ",") {
		if err := l.knownDomain(name); err != nil {
			return span{}, err
		}
	}
	s, err := times(c)
	if err != nil {
		return s, err
	}
	const day = 24 * time.Hour
	switch length := s.to.Sub(s.from); {
	case length <= 0:
		return s, refusal("InvalidEndTime.Mismatch", "EndTime must be later than StartTime.")
	case length <= time.Hour:
		s.step, s.delay, s.kept = time.Minute, 0, 7*day // the world itself shows minutes late
	case length <= 3*day:
		s.step, s.delay, s.kept = 5*time.Minute, 15*time.Minute, 93*day
	case length <= 31*day:
		s.step, s.delay, s.kept = time.Hour, 4*time.Hour, 186*day
	default:
		return s, refusal("InvalidEndTime.ValueNotSupported", "The span is too long.")
	}
	if c.now.Sub(s.from) > s.kept {
		return s, refusal("InvalidStartTime.ValueNotSupported", "StartTime is too long ago.")
	}
	return s, nil
}

// times reads the two ends; without any they are the last hour.
func times(c rpcCall) (s span, err error) {
	start, end := c.get("StartTime"), c.get("EndTime")
	if start == "" && end == "" {
		return span{from: c.now.Add(-time.Hour).Truncate(time.Minute), to: c.now.Truncate(time.Minute)}, nil
	}
	if start == "" || end == "" {
		return s, refusal("MissingParameter", "StartTime and EndTime go together.")
	}
	if s.from, err = time.Parse(apiTime, start); err != nil {
		return s, refusal("InvalidStartTime.Malformed", "StartTime is not well formatted.")
	}
	if s.to, err = time.Parse(apiTime, end); err != nil {
		return s, refusal("InvalidEndTime.Malformed", "EndTime is not well formatted.")
	}
	return s, nil
}

// points returns the points that the API shows, those without traffic left out.
func (l *Lab) points(now time.Time, s span) []world.CodeMinute {
	first := guardrails.MinuteOf(s.from.Add(time.Minute - 1))
	last := guardrails.MinuteOf(s.to.Add(-1))
	if s.step == time.Minute {
		return l.world.Codes(now, guardrails.Primary, first, last)
	}
	size := guardrails.Minute(s.step / time.Minute)
	var list []world.CodeMinute
	for _, m := range l.world.Final(now, guardrails.Primary, first-first%size, last) {
		start := m.Minute - m.Minute%size
		switch n := len(list); {
		case (start + size).Start().Add(s.delay).After(now), start < first:
		case n > 0 && list[n-1].Minute == start:
			list[n-1] = list[n-1].Add(m)
		default:
			m.Minute = start
			list = append(list, m)
		}
	}
	return list
}

func (l *Lab) realTimeCodes(c rpcCall) (object, error) {
	s, err := l.spanOf(c)
	if err != nil {
		return nil, err
	}
	data := []object{}
	for _, p := range l.points(c.now, s) {
		codes := []object{}
		for _, k := range p.Codes {
			codes = append(codes, object{
				"Code": strconv.Itoa(k.Status), "Count": strconv.FormatFloat(k.Count, 'f', -1, 64),
				"Proportion": strconv.FormatFloat(100*k.Count/p.Total(), 'f', -1, 64),
			})
		}
		data = append(data, object{
			"TimeStamp": p.Minute.Start().Format(apiTime), "Value": object{"RealTimeCodeProportionData": codes},
		})
	}
	return object{
		"DomainName": c.get("DomainName"), "DataInterval": strconv.Itoa(int(s.step / time.Second)),
		"StartTime": s.from.Format(apiTime), "EndTime": s.to.Format(apiTime),
		"RealTimeHttpCodeData": object{"UsageData": data},
	}, nil
}

func (l *Lab) realTimeQPS(c rpcCall) (object, error) {
	return l.realTime(c, "QpsModel", "Qps", world.CodeMinute.Total)
}

func (l *Lab) realTimeBPS(c rpcCall) (object, error) {
	return l.realTime(c, "BpsModel", "Bps", func(m world.CodeMinute) float64 { return 8 * m.Bytes })
}

// realTime answers with a rate a second. These answers carry no DataInterval.
func (l *Lab) realTime(c rpcCall, model, field string, sum func(world.CodeMinute) float64) (object, error) {
	s, err := l.spanOf(c)
	if err != nil {
		return nil, err
	}
	data := []object{}
	for _, p := range l.points(c.now, s) {
		data = append(data, object{field: sum(p) / s.step.Seconds(), "TimeStamp": p.Minute.Start().Format(apiTime)})
	}
	return object{"Data": object{model: data}}, nil
}
