package lab_test

import (
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// shown is what the lab's servers tell of half an hour in which the change was live: of iOS by the query API, and of the primary by the
// real-time API.
type shown struct {
	samples   int     // of requests on the primary
	control   int     // and on the backup
	errors    float64 // share of failed requests on the primary
	common    float64 // and on the backup
	total     float64 // milliseconds a request on the primary
	share     float64 // of the requests on the primary
	points    int     // minutes of the real-time API
	bad       float64 // share of 5xx in them
	perSample float64 // answers of the real-time API for a request that clients of both platforms measured and that did not fail
}

const spanMinutes = 30

// look turns the change on, waits for the minutes after it, and asks for them.
func look(t *testing.T, f world.Fault) shown {
	t.Helper()
	o := instantly(f)
	o.Clock = plans.Clock{Epoch: time.Now(), Start: night, Speed: 6000} // 10 ms a minute
	l := start(t, o)
	var from time.Time
	l.With(func(now time.Time, w *world.World) {
		s := w.State(now).Primary.TLS
		s.Enabled = s.Enabled.With(plans.TLS13)
		if _, err := w.WriteTLS(now, plans.TLSWrite{Set: &s}); err != nil {
			t.Error(err)
		}
		from = now.Truncate(time.Minute).Add(time.Minute)
	})
	to := from.Add(spanMinutes * time.Minute)
	for passed := false; !passed; {
		l.With(func(now time.Time, _ *world.World) { passed = now.After(to.Add(10 * time.Minute)) })
	}
	p := platforms{t: t, l: l, from: from.Add(time.Minute), to: to}
	ios := func(series, cdn string) (float64, int) { return p.sum(series, "ios", cdn) }
	var s shown
	requests, n := ios("rum_requests_total", "primary")
	failed, _ := ios("rum_failures_total", "primary")
	total, _ := ios("rum_total_ms_sum", "primary")
	other, m := ios("rum_requests_total", "backup")
	otherFailed, _ := ios("rum_failures_total", "backup")
	s.samples, s.control, s.errors, s.common, s.total, s.share = n, m, failed/requests, otherFailed/other, total/requests, requests/(requests+other)
	android, _ := p.sum("rum_requests_total", "android", "primary")
	androidFailed, _ := p.sum("rum_failures_total", "android", "primary")
	all, bad, points := statuses(t, l, from, to)
	s.points, s.bad, s.perSample = points, bad/all, all/(requests+android-failed-androidFailed)
	return s
}

// platforms asks the query API for sums over a span.
type platforms struct {
	t        *testing.T
	l        *lab.Lab
	from, to time.Time
}

func (p platforms) sum(series, platform, cdn string) (sum float64, samples int) {
	p.t.Helper()
	a := prom(p.t, p.l, http.MethodGet, "/api/v1/query_range", url.Values{
		"query": {"sum by (platform, cdn) (increase(" + series + "[1m]))"}, "start": {unix(p.from)}, "end": {unix(p.to)}, "step": {"60"},
	})
	for i := range length(at(a.body, "data", "result")) {
		s := at(a.body, "data", "result", i)
		if at(s, "metric", "platform") != platform || at(s, "metric", "cdn") != cdn {
			continue
		}
		samples = length(at(s, "values"))
		for k := range samples {
			text, _ := at(s, "values", k, 1).(string)
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				p.t.Errorf("%s: %v", series, err)
			}
			sum += v
		}
	}
	return sum, samples
}

// statuses asks the real-time API for the answers of a span, and those of them with 5xx.
func statuses(t *testing.T, l *lab.Lab, from, to time.Time) (all, bad float64, points int) {
	t.Helper()
	a, counts := codes(t, l, from, to)
	for _, n := range counts {
		all += n
	}
	for i := range length(at(a.body, "RealTimeHttpCodeData", "UsageData")) {
		list := at(a.body, "RealTimeHttpCodeData", "UsageData", i, "Value", "RealTimeCodeProportionData")
		for k := range length(list) {
			if code, _ := at(list, k, "Code").(string); slices.Contains([]string{"502", "504"}, code) {
				bad += number(t, at(list, k, "Count"))
			}
		}
	}
	return all, bad, len(counts)
}

// What a fault does to data can be seen from outside, where the adapters look.
func TestFaultsShowThroughTheAPIs(t *testing.T) {
	t.Parallel()
	good := shown{samples: 30, control: 30, errors: 0.005, common: 0.005, total: 237, share: 0.60, points: 30, bad: 0.003, perSample: 1}
	with := func(f func(*shown)) shown {
		s := good
		f(&s)
		return s
	}
	near := cmp.Comparer(func(a, b float64) bool {
		return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 0.004+0.04*max(math.Abs(a), math.Abs(b))
	})
	for fault, want := range map[world.Fault]shown{
		world.None:        good,
		world.Errors10:    with(func(s *shown) { s.errors = 0.10 }),
		world.CommonCause: with(func(s *shown) { s.errors, s.common = 0.10, 0.10 }),
		world.Latency25:   with(func(s *shown) { s.total = 281 * 1.25 }),
		world.TooGood:     with(func(s *shown) { s.total = 281 * 0.55 }),
		world.Status5xx:   with(func(s *shown) { s.bad = 0.083 }),
		world.Silence:     with(func(s *shown) { s.share = 0.18 / (0.18 + 0.40) }),
		world.Blind: with(func(s *shown) {
			s.samples, s.errors, s.total, s.share, s.perSample = 0, math.NaN(), math.NaN(), 0, math.Inf(1)
		}),
		world.NaN:  with(func(s *shown) { s.total = math.NaN() }),
		world.Gaps: with(func(s *shown) { s.samples, s.share, s.perSample = 25, 25*0.6/(25*0.6+30*0.4), 30.0/25 }),
	} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			got := look(t, fault)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(shown{}), near); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
