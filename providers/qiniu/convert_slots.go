package qiniu

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// slotLength is the finest step of the vendor's analytics.
const slotLength = 5 * time.Minute

// Slot is one number for five minutes, in the unit of the call that returned it.
type Slot struct {
	Start time.Time // UTC
	Value float64
}

// Codes are the answers of five minutes by class. Total counts every answer, also those of no class.
type Codes struct {
	Start                                             time.Time // UTC
	Total, Status2xx, Status3xx, Status4xx, Status5xx float64
}

// parseStatusCodes decodes statuscode of the log analysis. A class ("2xx") covers its exact codes, so the larger of the two counts.
func parseStatusCodes(body []byte, zone *time.Location) ([]Codes, error) {
	var in struct {
		Data *struct {
			Points []string             `json:"points"`
			Codes  map[string][]float64 `json:"codes"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &in); err != nil || in.Data == nil {
		return nil, errors.New("statuscode has an unexpected shape")
	}
	starts, err := startsOf(in.Data.Points, zone)
	if err != nil {
		return nil, err
	}
	for code, counts := range in.Data.Codes {
		if err := checkSeries("code "+code, counts, len(starts)); err != nil {
			return nil, err
		}
	}
	out := make([]Codes, len(starts))
	for i, start := range starts {
		out[i] = codesAt(in.Data.Codes, i)
		out[i].Start = start
	}
	return out, nil
}

func codesAt(codes map[string][]float64, i int) Codes {
	var exact, class [6]float64
	var other float64
	for code, counts := range codes {
		n, whole := classOf(code)
		switch {
		case n == 0:
			other += counts[i]
		case whole:
			class[n] = max(class[n], counts[i])
		default:
			exact[n] += counts[i]
		}
	}
	sum := other
	for n := range exact {
		exact[n] = max(exact[n], class[n])
		sum += exact[n]
	}
	return Codes{Total: sum, Status2xx: exact[2], Status3xx: exact[3], Status4xx: exact[4], Status5xx: exact[5]}
}

// classOf returns 1..5 for "204" or "2xx", and whether it is the class; 0 for anything else.
func classOf(code string) (class int, whole bool) {
	if len(code) != 3 || code[0] < '1' || code[0] > '5' {
		return 0, false
	}
	return int(code[0] - '0'), strings.EqualFold(code[1:], "xx")
}

// parseRequests decodes reqcount of the log analysis: requests in each slot.
func parseRequests(body []byte, zone *time.Location) ([]Slot, error) {
	var in struct {
		Data *struct {
			Points   []string  `json:"points"`
			ReqCount []float64 `json:"reqCount"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &in); err != nil || in.Data == nil {
		return nil, errors.New("reqcount has an unexpected shape")
	}
	starts, err := startsOf(in.Data.Points, zone)
	if err != nil {
		return nil, err
	}
	if err := checkSeries("reqCount", in.Data.ReqCount, len(starts)); err != nil {
		return nil, err
	}
	return slotsOf(starts, in.Data.ReqCount), nil
}

// parseBandwidth decodes bandwidth: bits a second in each slot, in and outside China together. A domain without traffic is left out
// by the vendor, which makes its slots 0.
func parseBandwidth(body []byte, domain string, zone *time.Location) ([]Slot, error) {
	var in struct {
		Time []string `json:"time"`
		Data *map[string]struct {
			China   []float64 `json:"china"`
			Oversea []float64 `json:"oversea"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &in); err != nil || in.Data == nil {
		return nil, errors.New("bandwidth has an unexpected shape")
	}
	starts, err := startsOf(in.Time, zone)
	if err != nil {
		return nil, err
	}
	sum := make([]float64, len(starts))
	d := (*in.Data)[domain]
	for name, series := range map[string][]float64{"china": d.China, "oversea": d.Oversea} {
		if len(series) == 0 {
			continue
		}
		if err := checkSeries(name, series, len(starts)); err != nil {
			return nil, err
		}
		for i, v := range series {
			sum[i] += v
		}
	}
	return slotsOf(starts, sum), nil
}

func slotsOf(starts []time.Time, values []float64) []Slot {
	out := make([]Slot, len(starts))
	for i, start := range starts {
		out[i] = Slot{Start: start, Value: values[i]}
	}
	return out
}

// maxValue keeps sums exact and finite; a count or a rate beyond it is not believed.
const maxValue = 1e15

func checkSeries(name string, values []float64, want int) error {
	if len(values) != want {
		return fmt.Errorf("%s has %d values for %d slots", name, len(values), want)
	}
	if i := slices.IndexFunc(values, func(v float64) bool { return v < 0 || v > maxValue }); i >= 0 {
		return fmt.Errorf("%s holds %g, which is no count and no rate", name, values[i])
	}
	return nil
}

// startsOf reads the labels of slots, in either of the vendor's two spellings. A label is the civil time at which its slot starts.
func startsOf(labels []string, zone *time.Location) ([]time.Time, error) {
	var starts []time.Time
	for _, label := range labels {
		at, err := time.ParseInLocation("2006-01-02-15-04", label, zone)
		if err != nil {
			at, err = time.ParseInLocation(time.DateTime, label, zone)
		}
		if err != nil {
			return nil, fmt.Errorf("the label %q is not a time", label)
		}
		at = at.UTC()
		switch {
		case !at.Equal(at.Truncate(slotLength)):
			return nil, fmt.Errorf("the label %q does not start a slot of five minutes", label)
		case len(starts) > 0 && !at.After(starts[len(starts)-1]):
			return nil, fmt.Errorf("the label %q comes after a later one", label)
		}
		starts = append(starts, at)
	}
	return starts, nil
}
