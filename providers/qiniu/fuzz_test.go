package qiniu_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/qiniu"
)

type object = map[string]any

// law checks that what a decoder accepts means the same after it is written and read again.
func law[T any](t *testing.T, body []byte, parse func([]byte) (T, error), encode func(T) any) {
	t.Helper()
	first, err := parse(body)
	if err != nil {
		return
	}
	again, err := json.Marshal(encode(first))
	if err != nil {
		t.Fatal(err)
	}
	second, err := parse(again)
	if err != nil {
		t.Fatalf("accepted %s, refused %s: %v", body, again, err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

func shanghai() *time.Location { return time.FixedZone("Asia/Shanghai", 8*60*60) }

func label(at time.Time) string { return at.In(shanghai()).Format("2006-01-02-15-04") }

func FuzzParseDomain(f *testing.F) {
	f.Add([]byte(`{"name":"cdn.example.com","cname":"A.example.com.","protocol":"https","operatingState":"success","operatingStateDesc":"d","https":{"certId":"c"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		law(t, body, qiniu.ParseDomain, func(s plans.CDNState) any {
			return object{
				"name": s.Domain, "cname": s.CNAME, "operatingState": s.Status, "operatingStateDesc": s.StatusMessage, "protocol": "https",
				"https": object{"certId": map[bool]string{true: "c"}[s.Certificate]},
			}
		})
	})
}

func FuzzParseStatusCodes(f *testing.F) {
	f.Add([]byte(`{"data":{"points":["2021-06-25-02-00","2021-06-25 02:05:00"],"codes":{"200":[1,2],"2xx":[3,1],"404":[1,1],"x":[0,9]}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		parse := func(b []byte) ([]qiniu.Codes, error) {
			got, err := qiniu.ParseStatusCodes(b, shanghai())
			for _, c := range got {
				if c.Total > 1e15 || c.Total != float64(int64(c.Total)) {
					return nil, cmpError{} // sums of fractions depend on their order
				}
			}
			return got, err
		}
		law(t, body, parse, func(codes []qiniu.Codes) any {
			points, series := []string{}, map[string][]float64{}
			for _, c := range codes {
				points = append(points, label(c.Start))
				for name, v := range map[string]float64{
					"2xx": c.Status2xx, "300": c.Status3xx, "4XX": c.Status4xx, "599": c.Status5xx,
					"-": c.Total - c.Status2xx - c.Status3xx - c.Status4xx - c.Status5xx,
				} {
					series[name] = append(series[name], v)
				}
			}
			return object{"data": object{"points": points, "codes": series}}
		})
	})
}

type cmpError struct{}

func (cmpError) Error() string { return "not comparable" }

func FuzzParseSlots(f *testing.F) {
	f.Add([]byte(`{"data":{"points":["2021-06-25-02-00","2021-06-25 02:05:00"],"reqCount":[1,2]}}`))
	f.Add([]byte(`{"time":["2021-06-25 02:00:00"],"data":{"cdn.example.com":{"china":[1.5],"oversea":[1e9]}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		list := func(slots []qiniu.Slot) (labels []string, values []float64) {
			labels, values = []string{}, []float64{}
			for _, s := range slots {
				labels, values = append(labels, label(s.Start)), append(values, s.Value)
			}
			return labels, values
		}
		law(t, body, func(b []byte) ([]qiniu.Slot, error) { return qiniu.ParseRequests(b, shanghai()) }, func(s []qiniu.Slot) any {
			labels, values := list(s)
			return object{"data": object{"points": labels, "reqCount": values}}
		})
		law(t, body, func(b []byte) ([]qiniu.Slot, error) { return qiniu.ParseBandwidth(b, domain, shanghai()) }, func(s []qiniu.Slot) any {
			labels, values := list(s)
			half := make([]float64, len(values))
			for i := range values {
				half[i] = values[i] / 2
			}
			return object{"time": labels, "data": object{domain: object{"china": half, "oversea": half}}}
		})
	})
}

// FuzzScrub checks that neither a secret nor the signature of a header survives, wherever it stands.
func FuzzScrub(f *testing.F) {
	f.Add("asked with ", "planted/secret+key==", " and more")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		if len(secret) < 8 || strings.ContainsAny(secret, "[]:") || strings.Contains(before+after, secret) {
			return
		}
		header := "QBox key:" + secret
		got := qiniu.Scrub(before+secret+after, []string{header})
		if strings.Contains(got, secret) || strings.ContainsAny(got, "\n\r\x00") || len(got) > 400 {
			t.Errorf("%q survives, or the text is not one short line: %q", secret, got)
		}
	})
}
