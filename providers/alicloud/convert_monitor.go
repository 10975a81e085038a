package alicloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// Point is one minute of a rate, in the unit of the call that returned it.
type Point struct {
	Minute guardrails.Minute
	Value  float64
}

type rawCodes struct {
	TimeStamp text
	Value     struct {
		RealTimeCodeProportionData []struct{ Code, Count text }
	}
}

// parseCodes decodes DescribeDomainRealTimeHttpCodeData into one row a minute. A minute that is told twice, or whose counts are not
// counts, is a row with an Unknown.
func parseCodes(body []byte, domain string) ([]guardrails.Row, error) {
	var in struct {
		DomainName   text
		DataInterval text
		Data         *struct{ UsageData []rawCodes } `json:"RealTimeHttpCodeData"`
	}
	if err := json.Unmarshal(body, &in); err != nil || in.Data == nil {
		return nil, errors.New("DescribeDomainRealTimeHttpCodeData has an unexpected shape")
	}
	if in.DomainName != "" && !strings.EqualFold(string(in.DomainName), domain) {
		return nil, errors.New("the data are of another domain")
	}
	if in.DataInterval != "60" {
		return nil, fmt.Errorf("the data come in steps of %q seconds, not 60", in.DataInterval)
	}
	var rows []guardrails.Row
	at := map[guardrails.Minute]int{}
	for _, raw := range in.Data.UsageData {
		m, err := raw.TimeStamp.minute()
		if err != nil {
			return nil, err
		}
		row := guardrails.Row{Leg: guardrails.Primary, Minute: m}
		if i, twice := at[m]; twice {
			row.Unknown = guardrails.Partial
			rows[i] = row
			continue
		}
		at[m] = len(rows)
		if row.Counts, err = raw.counts(); err != nil {
			row.Counts, row.Unknown = guardrails.Counts{}, guardrails.NotANumber
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// counts sums the answers by class. Every code counts as a request, also those outside 1xx..5xx that the CDN logs for broken ones.
func (r rawCodes) counts() (guardrails.Counts, error) {
	c := guardrails.Counts{Has: guardrails.HasRequests | guardrails.HasStatus}
	for _, v := range r.Value.RealTimeCodeProportionData {
		n, ok := v.Count.count()
		if !ok {
			return guardrails.Counts{}, fmt.Errorf("the count %q of code %s is not a count", v.Count, v.Code)
		}
		c.Requests += n
		if len(v.Code) != 3 {
			continue
		}
		switch v.Code[0] {
		case '2':
			c.Status2xx += n
		case '4':
			c.Status4xx += n
		case '5':
			c.Status5xx += n
		}
	}
	return c, nil
}

// minute returns the minute that starts at the time.
func (t text) minute() (guardrails.Minute, error) {
	at, err := t.instant()
	if err != nil {
		return 0, err
	}
	m := guardrails.MinuteOf(at)
	if !m.Start().Equal(at) {
		return 0, fmt.Errorf("TimeStamp %q is not the start of a minute", string(t))
	}
	return m, nil
}

// parseQPS decodes DescribeDomainRealTimeQpsData: requests a second.
func parseQPS(body []byte) ([]Point, error) {
	var in struct {
		Data *struct {
			Model []struct {
				TimeStamp text
				Value     text `json:"Qps"`
			} `json:"QpsModel"`
		}
	}
	if err := json.Unmarshal(body, &in); err != nil || in.Data == nil {
		return nil, errors.New("DescribeDomainRealTimeQpsData has an unexpected shape")
	}
	var raw []rawPoint
	for _, m := range in.Data.Model {
		raw = append(raw, rawPoint{m.TimeStamp, m.Value})
	}
	return pointsOf(raw)
}

// parseBandwidth decodes DescribeDomainRealTimeBpsData: bits a second.
func parseBandwidth(body []byte) ([]Point, error) {
	var in struct {
		Data *struct {
			Model []struct {
				TimeStamp text
				Value     text `json:"Bps"`
			} `json:"BpsModel"`
		}
	}
	if err := json.Unmarshal(body, &in); err != nil || in.Data == nil {
		return nil, errors.New("DescribeDomainRealTimeBpsData has an unexpected shape")
	}
	var raw []rawPoint
	for _, m := range in.Data.Model {
		raw = append(raw, rawPoint{m.TimeStamp, m.Value})
	}
	return pointsOf(raw)
}

type rawPoint struct{ at, value text }

// pointsOf checks and sorts points. These answers do not say their step, so it is inferred: two neighbours must be one minute apart.
// One point or none proves nothing and is taken: a span of an hour or less is documented to come in minutes.
func pointsOf(raw []rawPoint) ([]Point, error) {
	var points []Point
	for _, r := range raw {
		m, err := r.at.minute()
		if err != nil {
			return nil, err
		}
		v, err := strconv.ParseFloat(string(r.value), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return nil, fmt.Errorf("the value %q at %s is not a rate", string(r.value), string(r.at))
		}
		points = append(points, Point{Minute: m, Value: v})
	}
	slices.SortFunc(points, func(a, b Point) int { return int(a.Minute - b.Minute) })
	step := guardrails.Minute(0)
	for i := 1; i < len(points); i++ {
		d := points[i].Minute - points[i-1].Minute
		if d == 0 {
			return nil, fmt.Errorf("two points for %s", points[i].Minute.Start().Format(time.RFC3339))
		}
		if step == 0 || d < step {
			step = d
		}
	}
	if step > 1 {
		return nil, fmt.Errorf("the points are %d minutes apart, not one", step)
	}
	return points, nil
}
