package qiniu_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/qiniu"
)

// two is 2021-06-25T02:00 in Shanghai, which is still the day before in UTC.
func two() time.Time { return time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC) }

const (
	codesPath = "/v2/tune/loganalyze/statuscode"
	countPath = "/v2/tune/loganalyze/reqcount"
	bandPath  = "/v2/tune/bandwidth"
)

func newAnalytics(t *testing.T, c *cloud, change func(*qiniu.Options)) *qiniu.Analytics {
	t.Helper()
	o := c.options()
	if change != nil {
		change(&o)
	}
	return must(qiniu.NewAnalytics(domain, o))(t)
}

func TestCodesAndClassesAreNotCountedTwice(t *testing.T) {
	slot := func(total, c2, c3, c4, c5 float64) []qiniu.Codes {
		return []qiniu.Codes{{Start: two(), Total: total, Status2xx: c2, Status3xx: c3, Status4xx: c4, Status5xx: c5}}
	}
	for name, tt := range map[string]struct {
		codes string
		want  []qiniu.Codes
		kind  providers.Kind
	}{
		"exact codes":                  {`"200":[90],"206":[5],"304":[3],"404":[1],"502":[1]`, slot(100, 95, 3, 1, 1), 0},
		"classes":                      {`"2xx":[95],"3XX":[3],"4xx":[1],"5xx":[1]`, slot(100, 95, 3, 1, 1), 0},
		"both":                         {`"200":[90],"206":[5],"2xx":[95],"502":[1],"5xx":[1]`, slot(96, 95, 0, 0, 1), 0},
		"a class and some of it":       {`"200":[90],"2xx":[95]`, slot(95, 95, 0, 0, 0), 0},
		"a code that is no code":       {`"200":[90],"-":[2],"100":[1]`, slot(93, 90, 0, 0, 0), 0},
		"nothing":                      {``, slot(0, 0, 0, 0, 0), 0},
		"a series of another length":   {`"200":[90,1]`, nil, providers.Invalid},
		"a negative count":             {`"200":[-90]`, nil, providers.Invalid},
		"a count that is not a number": {`"200":["NaN"]`, nil, providers.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.replies[codesPath] = `{"code":200,"error":"","data":{"points":["2021-06-25-02-00"],"codes":{` + tt.codes + `}}}`
			got, err := newAnalytics(t, c, nil).StatusCodes(t.Context(), two(), two().Add(time.Hour))
			checkKind(t, err, tt.kind)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("codes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewSlotsAreDroppedUntilTheyAreOldEnough(t *testing.T) {
	reply := `{"code":200,"data":{"points":["2021-06-25-01-55","2021-06-25-02-00","2021-06-25-02-05","2021-06-25-02-10"],"reqCount":[1,2,3,4]}}`
	for name, tt := range map[string]struct {
		lag, after time.Duration
		want       []float64
	}{
		"just ended":                 {0, 5 * time.Minute, nil},
		"a second too young":         {0, 35*time.Minute - time.Second, nil},
		"half an hour old":           {0, 35 * time.Minute, []float64{2}},
		"all of them":                {0, time.Hour, []float64{2, 3, 4}},
		"a shorter lag of one's own": {time.Minute, 11 * time.Minute, []float64{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.replies[countPath] = reply
			got, err := newAnalytics(t, c, func(o *qiniu.Options) { o.Lag = tt.lag }).ReqCount(t.Context(), two(), two().Add(tt.after))
			if err != nil {
				t.Fatal(err)
			}
			var values []float64
			for _, s := range got {
				values = append(values, s.Value)
			}
			if diff := cmp.Diff(tt.want, values); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLabelsAreSlotStartsInTheZone(t *testing.T) {
	for name, tt := range map[string]struct {
		zone   *time.Location
		points string
		want   []qiniu.Slot
		kind   providers.Kind
	}{
		"Shanghai by default":   {nil, `"2021-06-25-02-00","2021-06-25 02:05:00"`, []qiniu.Slot{{two(), 1}, {two().Add(5 * time.Minute), 2}}, 0},
		"another zone":          {time.UTC, `"2021-06-24-18-00","2021-06-24-18-05"`, []qiniu.Slot{{two(), 1}, {two().Add(5 * time.Minute), 2}}, 0},
		"not a slot":            {nil, `"2021-06-25-02-00","2021-06-25-02-03"`, nil, providers.Invalid},
		"not in order":          {nil, `"2021-06-25-02-05","2021-06-25-02-00"`, nil, providers.Invalid},
		"twice":                 {nil, `"2021-06-25-02-05","2021-06-25-02-05"`, nil, providers.Invalid},
		"not a time":            {nil, `"2021-06-25-02-05","noon"`, nil, providers.Invalid},
		"fewer than the values": {nil, `"2021-06-25-02-05"`, nil, providers.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.replies[countPath] = `{"code":200,"data":{"points":[` + tt.points + `],"reqCount":[1,2]}}`
			got, err := newAnalytics(t, c, func(o *qiniu.Options) { o.Location = tt.zone }).ReqCount(t.Context(), two().Add(-time.Hour), two().Add(time.Hour))
			checkKind(t, err, tt.kind)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("slots (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBandwidthSumsInAndOutsideChina(t *testing.T) {
	for name, tt := range map[string]struct {
		data string
		want []qiniu.Slot
		kind providers.Kind
	}{
		"both":            {`{"cdn.example.com":{"china":[1.5,2],"oversea":[10,0]}}`, []qiniu.Slot{{two(), 11.5}, {two().Add(5 * time.Minute), 2}}, 0},
		"only one":        {`{"cdn.example.com":{"china":[1,2]}}`, []qiniu.Slot{{two(), 1}, {two().Add(5 * time.Minute), 2}}, 0},
		"without traffic": {`{}`, []qiniu.Slot{{two(), 0}, {two().Add(5 * time.Minute), 0}}, 0},
		"cut short":       {`{"cdn.example.com":{"china":[1,2],"oversea":[10]}}`, nil, providers.Invalid},
		"negative":        {`{"cdn.example.com":{"china":[1,-2]}}`, nil, providers.Invalid},
		"no data":         {`null`, nil, providers.Invalid},
		"a list":          {`[]`, nil, providers.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.replies[bandPath] = `{"code":200,"error":"","time":["2021-06-25 02:00:00","2021-06-25 02:05:00"],"data":` + tt.data + `}`
			got, err := newAnalytics(t, c, nil).Bandwidth(t.Context(), two(), two().Add(time.Hour))
			checkKind(t, err, tt.kind)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("slots (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsAsked(t *testing.T) {
	c := newCloud(t)
	empty := `{"code":200,"data":{},"time":[]}`
	c.replies[codesPath], c.replies[countPath], c.replies[bandPath] = empty, empty, empty
	a := newAnalytics(t, c, func(o *qiniu.Options) { o.Region, o.ISP = "china", "telecom" })
	month := two().AddDate(0, 0, -40)
	for _, err := range []error{
		second(a.StatusCodes(t.Context(), two(), two().Add(time.Hour))),
		second(newAnalytics(t, c, nil).ReqCount(t.Context(), two().Add(-3*time.Hour), two().Add(time.Hour))),
		second(a.Bandwidth(t.Context(), month, two().Add(time.Hour))),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	band := func(first, last string) request {
		return request{path: bandPath, body: map[string]any{"startDate": first, "endDate": last, "granularity": "5min", "domains": domain}}
	}
	want := []request{
		{path: codesPath, body: map[string]any{"domains": []any{domain}, "freq": "5min", "regions": []any{"china"}, "isp": "telecom", "startDate": "2021-06-25", "endDate": "2021-06-25"}},
		{path: countPath, body: map[string]any{"domains": []any{domain}, "freq": "5min", "region": "global", "isp": "all", "startDate": "2021-06-24", "endDate": "2021-06-25"}},
		band("2021-05-16", "2021-06-14"), band("2021-06-15", "2021-06-25"),
	}
	got := c.requests
	for i := range got {
		if !strings.HasPrefix(got[i].auth, "QBox ") {
			t.Errorf("request %d is signed as %q", i, got[i].auth)
		}
		got[i].auth = ""
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(request{})); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestNothingIsAskedForSlotsOfTheFuture(t *testing.T) {
	c := newCloud(t)
	got, err := newAnalytics(t, c, nil).ReqCount(t.Context(), two().AddDate(0, 0, 1), two())
	if err != nil || len(got) != 0 || c.side().Requests() != 0 {
		t.Errorf("got %v, %v by %d requests, want none", got, err, c.side().Requests())
	}
}

func TestAnAnswerWithoutDataIsInvalid(t *testing.T) {
	c := newCloud(t)
	c.replies[codesPath], c.replies[countPath], c.replies[bandPath] = `{"code":200}`, `{"code":200}`, `{"code":200}`
	a := newAnalytics(t, c, nil)
	for _, err := range []error{
		second(a.StatusCodes(t.Context(), two(), two().Add(time.Hour))),
		second(a.ReqCount(t.Context(), two(), two().Add(time.Hour))),
		second(a.Bandwidth(t.Context(), two(), two().Add(time.Hour))),
	} {
		checkKind(t, err, providers.Invalid)
	}
}
