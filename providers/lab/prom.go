package lab

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// What a real server does unless it is told otherwise: it answers at most 11,000 steps a query, and forgets after 15 days.
const (
	maxSteps = 11_000
	kept     = 15 * 24 * time.Hour
)

// servePrometheus serves the parts of the Prometheus HTTP API that a metric source uses. A sample at T describes (T − 60 s, T].
func (l *Lab) servePrometheus(rw http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(rw, r.Body, maxBody)
	formErr := r.ParseForm()
	x := exchange{api: "prometheus:" + r.URL.Path, vendor: prometheus, params: map[string]string{}}
	for k := range r.Form {
		x.params[k] = r.Form.Get(k)
	}
	x.run = func(now time.Time) (object, error) {
		if formErr != nil {
			return nil, badData("the parameters cannot be read")
		}
		switch r.URL.Path {
		case "/-/healthy":
			return object{"status": "success"}, nil
		case "/api/v1/query_range":
			return l.queryRange(now, x.params)
		case "/api/v1/query":
			return l.queryInstant(now, x.params)
		}
		return nil, &apiError{http.StatusNotFound, "not_found", "no such path"}
	}
	l.serve(rw, r, x)
}

func badData(format string, a ...any) error {
	return &apiError{http.StatusBadRequest, "bad_data", fmt.Sprintf(format, a...)}
}

// field is what a query asks for.
type field func(guardrails.Counts) float64

func fieldOf(query string) (field, error) {
	shape := regexp.MustCompile(`^\s*sum\s+by\s*\(\s*platform\s*,\s*cdn\s*\)\s*\(\s*increase\s*\(\s*(\w+)\s*\[1m\]\s*\)\s*\)\s*$`)
	found := shape.FindStringSubmatch(query)
	if found == nil {
		return nil, badData("the lab knows the form sum by (platform, cdn) (increase(NAME[1m])) alone")
	}
	f, ok := map[string]field{
		"rum_requests_total": func(c guardrails.Counts) float64 { return c.Requests },
		"rum_failures_total": func(c guardrails.Counts) float64 { return c.Errors },
		"rum_total_ms_sum":   func(c guardrails.Counts) float64 { return c.TotalMS },
		"rum_tls_ms_sum":     func(c guardrails.Counts) float64 { return c.TLSMS },
		"rum_tls_ms_count":   func(c guardrails.Counts) float64 { return c.TLS },
		"rum_bytes_sum":      func(c guardrails.Counts) float64 { return c.Bytes },
		"rum_tls13_total":    func(c guardrails.Counts) float64 { return c.TLS13 },
	}[found[1]]
	if !ok {
		return nil, badData("the lab has no series %q", found[1])
	}
	return f, nil
}

func (l *Lab) queryRange(now time.Time, params map[string]string) (object, error) {
	value, err := fieldOf(params["query"])
	if err != nil {
		return nil, err
	}
	start, err := instant(params["start"])
	if err != nil {
		return nil, err
	}
	end, err := instant(params["end"])
	if err != nil {
		return nil, err
	}
	step, err := seconds(params["step"])
	switch {
	case err != nil || step <= 0:
		return nil, badData("step is not a positive duration")
	case end.Before(start):
		return nil, badData("end timestamp must not be before start time")
	case end.Sub(start)/step > maxSteps:
		return nil, badData("exceeded maximum resolution of 11,000 points per timeseries")
	}
	rows := l.rows(now, minuteBefore(start), minuteBefore(end))
	result := []object{}
	for _, s := range l.series() {
		values := samples{}
		for at := start; !at.After(end); at = at.Add(step) {
			if c, ok := rows[key{s, minuteBefore(at)}]; ok {
				values = append(values, point{at, value(c)})
			}
		}
		if len(values) > 0 {
			result = append(result, object{"metric": s.labels(), "values": values})
		}
	}
	return object{"status": "success", "data": object{"resultType": "matrix", "result": result}}, nil
}

func (l *Lab) queryInstant(now time.Time, params map[string]string) (object, error) {
	value, err := fieldOf(params["query"])
	if err != nil {
		return nil, err
	}
	at := now
	if params["time"] != "" {
		if at, err = instant(params["time"]); err != nil {
			return nil, err
		}
	}
	m := minuteBefore(at)
	rows := l.rows(now, m, m)
	result := []object{}
	for _, s := range l.series() {
		if c, ok := rows[key{s, m}]; ok {
			result = append(result, object{"metric": s.labels(), "value": point{at, value(c)}})
		}
	}
	return object{"status": "success", "data": object{"resultType": "vector", "result": result}}, nil
}

// series is one platform on one leg.
type series struct {
	platform string
	leg      guardrails.Leg
}

func (s series) labels() object { return object{"platform": s.platform, "cdn": s.leg.String()} }

type key struct {
	series series
	minute guardrails.Minute
}

func (l *Lab) series() []series {
	var list []series
	for _, p := range l.world.Platforms() {
		list = append(list, series{p, guardrails.Primary}, series{p, guardrails.Backup})
	}
	return list
}

func (l *Lab) rows(now time.Time, from, to guardrails.Minute) map[key]guardrails.Counts {
	rows := map[key]guardrails.Counts{}
	from = max(from, guardrails.MinuteOf(now.Add(-kept)))
	for _, r := range l.world.Measured(now, from, to) {
		rows[key{series{r.Platform, r.Leg}, r.Minute}] = r.Counts
	}
	return rows
}

// minuteBefore is the last minute that has ended at an instant.
func minuteBefore(at time.Time) guardrails.Minute { return guardrails.MinuteOf(at) - 1 }

// point is one sample, samples a list of them. A week of minutes is many: they are written without reflection.
type (
	point struct {
		at time.Time
		v  float64
	}
	samples []point
)

// MarshalJSON implements json.Marshaler: Unix seconds, and the value as text.
func (p point) MarshalJSON() ([]byte, error) { return p.append(nil), nil }

func (p point) append(b []byte) []byte {
	b = strconv.AppendFloat(append(b, '['), float64(p.at.UnixMilli())/1000, 'f', -1, 64)
	b = strconv.AppendFloat(append(b, `,"`...), p.v, 'f', -1, 64)
	return append(b, `"]`...)
}

// MarshalJSON implements json.Marshaler.
func (s samples) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 32*len(s)), '[')
	for i, p := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.append(b)
	}
	return append(b, ']'), nil
}

// instant reads Unix seconds or RFC 3339.
func instant(s string) (time.Time, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1e11 {
		return time.UnixMilli(int64(math.Round(f * 1000))).UTC(), nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, badData("cannot parse %q to a valid timestamp", s)
	}
	return t, nil
}

// seconds reads a number of seconds or a duration.
func seconds(s string) (time.Duration, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil && f < 1e9 {
		return time.Duration(f * float64(time.Second)), nil
	}
	return time.ParseDuration(s)
}
