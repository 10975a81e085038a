package lab_test

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// codes asks for status codes and returns the requests of each point.
func codes(t *testing.T, l *lab.Lab, from, to time.Time) (a answer, counts map[string]float64) {
	t.Helper()
	a = call(t, l, params{
		"Action": "DescribeDomainRealTimeHttpCodeData", "DomainName": "cdn.example.com",
		"StartTime": from.UTC().Format(stamp), "EndTime": to.UTC().Format(stamp),
	})
	counts = map[string]float64{}
	for i := range length(at(a.body, "RealTimeHttpCodeData", "UsageData")) {
		p := at(a.body, "RealTimeHttpCodeData", "UsageData", i)
		sum, share := 0.0, 0.0
		for j := range length(at(p, "Value", "RealTimeCodeProportionData")) {
			c := at(p, "Value", "RealTimeCodeProportionData", j)
			sum += number(t, at(c, "Count"))
			share += number(t, at(c, "Proportion"))
		}
		if math.Abs(share-100) > 1e-6 {
			t.Errorf("the proportions of %v sum to %v", at(p, "TimeStamp"), share)
		}
		counts[at(p, "TimeStamp").(string)] = sum
	}
	return a, counts
}

func number(t *testing.T, v any) float64 {
	t.Helper()
	s, ok := v.(string)
	f, err := strconv.ParseFloat(s, 64)
	if !ok || err != nil {
		t.Errorf("%v (%T) is not a number in a string", v, v)
	}
	return f
}

func TestMinutesAppearAfterFiveMinutes(t *testing.T) {
	// The lab stands at 10 s after a full minute, so that the newest visible minute is certain.
	l := start(t, lab.Options{Clock: plans.Clock{Epoch: time.Now(), Start: night.Add(10 * time.Second), Speed: 1}})
	a, counts := codes(t, l, night.Add(-30*time.Minute), night.Add(time.Minute))
	if a.body["DataInterval"] != "60" || len(counts) != 25 {
		t.Fatalf("DataInterval %v and %d minutes, want 60 and the 25 that ended five minutes ago", a.body["DataInterval"], len(counts))
	}
	newest, settled := night.Add(-6*time.Minute), night.Add(-9*time.Minute)
	l.With(func(now time.Time, w *world.World) {
		final := func(at time.Time) float64 {
			m := guardrails.MinuteOf(at)
			return w.Final(now, guardrails.Primary, m, m)[0].Total()
		}
		if got := counts[newest.Format(stamp)]; got >= final(newest) || got < 0.95*final(newest) {
			t.Errorf("the newest minute shows %v of %v, want a little less", got, final(newest))
		}
		if got := counts[settled.Format(stamp)]; got != final(settled) {
			t.Errorf("a settled minute shows %v of %v", got, final(settled))
		}
	})
}

func TestLongerSpansGetFiveMinutePoints(t *testing.T) {
	l := start(t, lab.Options{Clock: plans.Clock{Epoch: time.Now(), Start: night.Add(10 * time.Second), Speed: 1}})
	a, counts := codes(t, l, night.Add(-time.Hour), night.Add(time.Minute))
	if a.body["DataInterval"] != "300" || len(counts) != 9 {
		t.Fatalf("DataInterval %v and %d points, want 300 and the 9 that ended 15 minutes ago: %v", a.body["DataInterval"], len(counts), counts)
	}
	_, minutes := codes(t, l, night.Add(-time.Hour), night)
	sum := 0.0
	for i := range 5 {
		sum += minutes[night.Add(time.Duration(i-60)*time.Minute).Format(stamp)]
	}
	if got := counts[night.Add(-time.Hour).Format(stamp)]; got != sum {
		t.Errorf("a point of five minutes has %v requests, its minutes %v", got, sum)
	}
	if b, _ := codes(t, l, night.AddDate(0, 0, -4), night); b.body["DataInterval"] != "3600" {
		t.Errorf("four days get DataInterval %v, want 3600", b.body["DataInterval"])
	}
}

func TestRatesAgreeWithCounts(t *testing.T) {
	l := start(t, lab.Options{})
	from := night.Add(-20 * time.Minute)
	_, counts := codes(t, l, from, from.Add(5*time.Minute))
	span := params{"DomainName": "cdn.example.com", "StartTime": from.Format(stamp), "EndTime": from.Add(5 * time.Minute).Format(stamp)}
	span["Action"] = "DescribeDomainRealTimeQpsData"
	qps := call(t, l, span)
	span["Action"] = "DescribeDomainRealTimeBpsData"
	bps := call(t, l, span)
	if len(counts) != 5 || length(at(qps.body, "Data", "QpsModel")) != 5 || length(at(bps.body, "Data", "BpsModel")) != 5 || qps.body["DataInterval"] != nil {
		t.Fatalf("want 5 points each and no DataInterval:\n%s\n%s", qps.raw, bps.raw)
	}
	for i := range 5 {
		p := at(qps.body, "Data", "QpsModel", i)
		want := counts[at(p, "TimeStamp").(string)] / 60
		if got := at(p, "Qps").(float64); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: %v requests a second, counts say %v", at(p, "TimeStamp"), got, want)
		}
		// About 57 kB a request.
		if got := at(bps.body, "Data", "BpsModel", i, "Bps").(float64) / 8 / want; got < 50_000 || got > 64_000 {
			t.Errorf("%v: %.0f bytes a request", at(p, "TimeStamp"), got)
		}
	}
}

func TestWithoutTimesTheLastHourIsMeant(t *testing.T) {
	l := start(t, lab.Options{})
	a := call(t, l, params{"Action": "DescribeDomainRealTimeHttpCodeData", "DomainName": "cdn.example.com"})
	if n := length(at(a.body, "RealTimeHttpCodeData", "UsageData")); n < 54 || n > 55 || a.body["DataInterval"] != "60" {
		t.Errorf("%d minutes, DataInterval %v", n, a.body["DataInterval"])
	}
}

func TestThrottleFaultShowsInTheAPI(t *testing.T) {
	l := start(t, lab.Options{World: world.Config{Fault: world.Throttle}})
	var got []int
	for range 10 {
		a := call(t, l, params{"Action": "DescribeDomainInfo", "DomainName": "example.com"})
		if a.status != 200 && a.code() != "Throttling.User" {
			t.Errorf("refused with %s", a.raw)
		}
		got = append(got, a.status)
	}
	if diff := cmp.Diff([]int{400, 400, 200, 200, 200, 400, 400, 200, 200, 200}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
