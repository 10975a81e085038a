package alicloud_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/alicloud"
)

// night is 2021-06-25T02:00 in Shanghai.
func night() guardrails.Minute {
	return guardrails.MinuteOf(time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC))
}

func newMonitor(t *testing.T, c *cloud) *alicloud.Monitor {
	t.Helper()
	return must(alicloud.NewMonitor(domain, c.options()))(t)
}

func TestLongAsksAreSplitIntoHours(t *testing.T) {
	c := newCloud(t)
	if _, err := newMonitor(t, c).Fetch(t.Context(), night(), night()+129); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range c.asked("DescribeDomainRealTimeHttpCodeData") {
		got = append(got, q.Get("DomainName")+" "+q.Get("StartTime")+" "+q.Get("EndTime"))
	}
	want := []string{
		domain + " 2021-06-24T18:00:00Z 2021-06-24T19:00:00Z",
		domain + " 2021-06-24T19:00:00Z 2021-06-24T20:00:00Z",
		domain + " 2021-06-24T20:00:00Z 2021-06-24T20:10:00Z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// Coarser points are no minutes, and the error says so.
func TestFiveMinutePointsAreNamed(t *testing.T) {
	c := newCloud(t)
	c.replies["DescribeDomainRealTimeHttpCodeData"] = codesReply("300", minuteOf("2021-06-24T18:00:00Z", `{"Code":"200","Count":"9"}`))
	c.replies["DescribeDomainRealTimeQpsData"] = `{"RequestId":"R","Data":{"QpsModel":[
		{"TimeStamp":"2021-06-24T18:00:00Z","Qps":1},{"TimeStamp":"2021-06-24T18:05:00Z","Qps":1}]}}`
	m := newMonitor(t, c)
	rows, codes := m.Fetch(t.Context(), night(), night()+59)
	points, rates := m.QPS(t.Context(), night(), night()+59)
	for want, err := range map[string]error{`steps of "300" seconds, not 60`: codes, "5 minutes apart, not one": rates} {
		checkKind(t, err, providers.Invalid)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	if rows != nil || points != nil {
		t.Errorf("rows %v and points %v beside errors", rows, points)
	}
}

func codesReply(interval, usage string) string {
	return `{"RequestId":"R","DomainName":"cdn.example.com","DataInterval":"` + interval + `","RealTimeHttpCodeData":{"UsageData":[` + usage + `]}}`
}

func minuteOf(at, codes string) string {
	return `{"TimeStamp":"` + at + `","Value":{"RealTimeCodeProportionData":[` + codes + `]}}`
}

func TestMinutesThatAreNotWhatTheySeem(t *testing.T) {
	const at, ok = "2021-06-24T18:00:00Z", `{"Code":"200","Count":"9"}`
	has := guardrails.HasRequests | guardrails.HasStatus
	row := guardrails.Row{Leg: guardrails.Primary, Minute: night()}
	nan, twice, none := row, row, row
	nan.Unknown, twice.Unknown, none.Counts.Has = guardrails.NotANumber, guardrails.Partial, has
	number := row
	number.Counts = guardrails.Counts{Requests: 9, Status5xx: 9, Has: has}
	for name, tt := range map[string]struct {
		reply string
		want  []guardrails.Row
		kind  providers.Kind
	}{
		"a count that is NaN":          {codesReply("60", minuteOf(at, `{"Code":"200","Count":"NaN"}`)), []guardrails.Row{nan}, 0},
		"a negative count":             {codesReply("60", minuteOf(at, ok+`,{"Code":"500","Count":"-1"}`)), []guardrails.Row{nan}, 0},
		"an infinite count":            {codesReply("60", minuteOf(at, `{"Code":"200","Count":"Inf"}`)), []guardrails.Row{nan}, 0},
		"no count":                     {codesReply("60", minuteOf(at, `{"Code":"200"}`)), []guardrails.Row{nan}, 0},
		"a minute twice":               {codesReply("60", minuteOf(at, ok)+","+minuteOf(at, ok)), []guardrails.Row{twice}, 0},
		"a minute without codes":       {codesReply("60", minuteOf(at, "")), []guardrails.Row{none}, 0},
		"numbers instead of strings":   {codesReply("60", minuteOf(at, `{"Code":502,"Count":9.0}`)), []guardrails.Row{number}, 0},
		"no minutes":                   {codesReply("60", ""), nil, 0},
		"five-minute points":           {codesReply("300", minuteOf(at, ok)), nil, providers.Invalid},
		"no interval":                  {codesReply("", minuteOf(at, ok)), nil, providers.Invalid},
		"half a minute":                {codesReply("60", minuteOf("2021-06-24T18:00:30Z", ok)), nil, providers.Invalid},
		"a time that is none":          {codesReply("60", minuteOf("yesterday", ok)), nil, providers.Invalid},
		"another domain":               {strings.Replace(codesReply("60", ""), "cdn.", "img.", 1), nil, providers.Invalid},
		"no data":                      {`{"RequestId":"R","DataInterval":"60"}`, nil, providers.Invalid},
		"a minute that nobody asked":   {codesReply("60", minuteOf("2021-06-24T17:59:00Z", ok)+","+minuteOf("2021-06-24T18:10:00Z", ok)), nil, 0},
		"a time with an offset":        {codesReply("60", minuteOf("2021-06-25T02:00:00+08:00", "")), []guardrails.Row{none}, 0},
		"the layer answer of the SDK":  {`{"RequestId":"R","DataInterval":"60","HttpCodeDataInterval":{}}`, nil, providers.Invalid},
		"codes that are not an object": {codesReply("60", `{"TimeStamp":"`+at+`","Value":"200:5"}`), nil, providers.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.replies["DescribeDomainRealTimeHttpCodeData"] = tt.reply
			got, err := newMonitor(t, c).Fetch(t.Context(), night(), night()+9)
			checkKind(t, err, tt.kind)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRatesComeInMinutesByGET(t *testing.T) {
	type source struct {
		action, list, field string
		fetch               func(*alicloud.Monitor) ([]alicloud.Point, error)
	}
	for _, s := range []source{
		{"DescribeDomainRealTimeQpsData", "QpsModel", "Qps", func(m *alicloud.Monitor) ([]alicloud.Point, error) { return m.QPS(t.Context(), night(), night()+9) }},
		{"DescribeDomainRealTimeBpsData", "BpsModel", "Bps", func(m *alicloud.Monitor) ([]alicloud.Point, error) {
			return m.Bandwidth(t.Context(), night(), night()+9)
		}},
	} {
		point := func(at, value string) string {
			return fmt.Sprintf(`{"TimeStamp":"2021-06-24T%s:00Z",%q:%s}`, at, s.field, value)
		}
		for name, tt := range map[string]struct {
			points []string
			want   []alicloud.Point
			kind   providers.Kind
		}{
			"unsorted, one missing, one beyond": {
				[]string{point("18:02", "2.5"), point("18:10", "9"), point("18:00", "1"), point("18:03", `"3"`)},
				[]alicloud.Point{{night(), 1}, {night() + 2, 2.5}, {night() + 3, 3}},
				0,
			},
			"one alone":      {[]string{point("18:05", "0")}, []alicloud.Point{{night() + 5, 0}}, 0},
			"none":           {nil, nil, 0},
			"five minutes":   {[]string{point("18:00", "1"), point("18:05", "1")}, nil, providers.Invalid},
			"a minute twice": {[]string{point("18:00", "1"), point("18:00", "1")}, nil, providers.Invalid},
			"negative":       {[]string{point("18:00", "-1")}, nil, providers.Invalid},
			"not a time":     {[]string{point("18", "1")}, nil, providers.Invalid},
		} {
			t.Run(s.action+"/"+name, func(t *testing.T) {
				c := newCloud(t)
				c.replies[s.action] = fmt.Sprintf(`{"RequestId":"R","Data":{%q:[%s]}}`, s.list, strings.Join(tt.points, ","))
				got, err := s.fetch(newMonitor(t, c))
				checkKind(t, err, tt.kind)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("points (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{s.action + " " + http.MethodGet}, c.methods); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestAnAnswerWithoutRatesIsInvalid(t *testing.T) {
	c := newCloud(t)
	c.replies["DescribeDomainRealTimeQpsData"] = `{"RequestId":"R"}`
	c.replies["DescribeDomainRealTimeBpsData"] = `{"RequestId":"R"}`
	_, err := newMonitor(t, c).QPS(t.Context(), night(), night())
	checkKind(t, err, providers.Invalid)
	_, err = newMonitor(t, c).Bandwidth(t.Context(), night(), night())
	checkKind(t, err, providers.Invalid)
}
