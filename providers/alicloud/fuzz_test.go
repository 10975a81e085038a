package alicloud_test

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/alicloud"
)

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

type object = map[string]any

func FuzzParseRecords(f *testing.F) {
	f.Add([]byte(`{"TotalCount":"1","DomainRecords":{"Record":[{"RecordId":9,"RR":"cdn","Type":"CNAME","Value":"P.example.com.","TTL":"60","Line":"default","Status":"enable","Locked":"true","Weight":"0","Remark":"r"}]}}`))
	f.Add([]byte(`{"TotalCount":2,"DomainRecords":{"Record":[{"RecordId":"9","RR":"@","Type":"A","Value":"..","TTL":0,"Line":"x","Status":"DISABLE","Weight":null}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		law(t, body, alicloud.ParseRecords, func(p alicloud.RecordPage) any {
			list := []object{}
			for _, r := range p.Records {
				o := object{
					"RecordId": r.ID, "RR": r.Name, "Type": r.Type, "Value": r.Value, "Line": r.Line, "TTL": int64(r.TTL / time.Second), "Locked": r.Locked,
					"Remark": r.Remark, "Status": map[bool]string{true: "ENABLE", false: "DISABLE"}[r.Enabled],
				}
				if r.WeightKnown {
					o["Weight"] = r.Weight
				}
				list = append(list, o)
			}
			return object{"TotalCount": p.Total, "DomainRecords": object{"Record": list}}
		})
	})
}

func FuzzParseWeighting(f *testing.F) {
	f.Add([]byte(`{"TotalCount":1,"SlbSubDomains":{"SlbSubDomain":[{"SubDomain":"cdn.example.com","Type":"CNAME","Open":"true","LineAlgorithms":{"LineAlgorithm":[{"Line":"default","Open":true},{"Line":"x"}]}}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		law(t, body, alicloud.ParseWeighting, func(p alicloud.WeightingPage) any {
			list := []object{}
			for _, w := range p.Entries {
				lines := []object{}
				for _, l := range w.Lines {
					lines = append(lines, object{"Line": l, "Open": true})
				}
				list = append(list, object{"SubDomain": w.SubDomain, "Type": w.Type, "Open": len(lines) > 0, "LineAlgorithms": object{"LineAlgorithm": lines}})
			}
			return object{"TotalCount": p.Total, "SlbSubDomains": object{"SlbSubDomain": list}}
		})
	})
}

func FuzzParseDetail(f *testing.F) {
	f.Add([]byte(`{"GetDomainDetailModel":{"DomainName":"cdn.example.com","Cname":"A.example.com.","DomainStatus":"online","ServerCertificateStatus":"on","Description":"d"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		law(t, body, alicloud.ParseDetail, func(s plans.CDNState) any {
			return object{"GetDomainDetailModel": object{
				"DomainName": s.Domain, "Cname": s.CNAME, "DomainStatus": s.Status, "Description": s.StatusMessage,
				"ServerCertificateStatus": map[bool]string{true: "on", false: "off"}[s.Certificate],
			}}
		})
	})
}

func FuzzParseTLS(f *testing.F) {
	f.Add([]byte(configsReply(tlsEntry("5", "success", fourArgs+`,{"ArgName":"x","ArgValue":1}`))))
	f.Add([]byte(configsReply(tlsEntry("6", "configuring", fourArgs))))
	f.Add([]byte(configsReply(``)))
	f.Fuzz(func(t *testing.T, body []byte) {
		law(t, body, alicloud.ParseTLS, func(s plans.TLSSettings) any {
			if !s.Explicit {
				return object{"DomainConfigs": object{}}
			}
			args := []object{}
			for i, v := range plans.TLSVersions() {
				args = append(args, object{"ArgName": "tls1" + strconv.Itoa(i), "ArgValue": map[bool]string{true: "on", false: "off"}[s.Enabled.Has(v)]})
			}
			for _, a := range s.Extra {
				args = append(args, object{"ArgName": a.Name, "ArgValue": a.Value})
			}
			status := map[plans.ConfigStatus]string{plans.ConfigLive: "success", plans.ConfigPending: "configuring", plans.ConfigFailed: "failed"}[s.Status]
			return object{"DomainConfigs": object{"DomainConfig": []object{
				{"ConfigId": s.ConfigID, "FunctionName": "https_tls_version", "Status": status, "FunctionArgs": object{"FunctionArg": args}},
			}}}
		})
	})
}

// FuzzTLSRoundTrip checks that settings that were read and written unchanged are written as they were read.
func FuzzTLSRoundTrip(f *testing.F) {
	f.Add([]byte(configsReply(tlsEntry("5", "success", fourArgs+`,{"ArgName":"x","ArgValue":"<&>"}`))))
	f.Fuzz(func(t *testing.T, body []byte) {
		read, err := alicloud.ParseTLS(body)
		if err != nil || !read.Explicit {
			return
		}
		sent, err := alicloud.FunctionsOf(read)
		if err != nil {
			return
		}
		var functions []struct {
			FunctionArgs []struct{ ArgName, ArgValue string }
			ConfigID     json.Number `json:"configId"`
		}
		if err := json.Unmarshal([]byte(sent), &functions); err != nil {
			t.Fatal(err)
		}
		args := []object{}
		for _, a := range functions[0].FunctionArgs {
			args = append(args, object{"ArgName": a.ArgName, "ArgValue": a.ArgValue})
		}
		back, err := json.Marshal(object{"DomainConfigs": object{"DomainConfig": []object{
			{"ConfigId": functions[0].ConfigID, "FunctionName": "https_tls_version", "Status": "success", "FunctionArgs": object{"FunctionArg": args}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := alicloud.ParseTLS(back)
		if err != nil {
			t.Fatalf("%s: %v", back, err)
		}
		read.Status, got.Status = 0, 0
		if diff := cmp.Diff(read, got); diff != "" {
			t.Errorf("(-read +written):\n%s", diff)
		}
	})
}

func FuzzParseCodes(f *testing.F) {
	f.Add([]byte(codesReply("60", minuteOf("2021-06-24T18:00:00Z", `{"Code":"200","Count":"1e3"},{"Code":404,"Count":7},{"Code":"0","Count":"1"}`))))
	f.Add([]byte(codesReply("60", minuteOf("2021-06-24T18:00:00Z", `{"Code":"200","Count":"x"}`)+","+minuteOf("2021-06-25T02:01:00+08:00", ""))))
	f.Fuzz(func(t *testing.T, body []byte) {
		parse := func(b []byte) ([]guardrails.Row, error) { return alicloud.ParseCodes(b, domain) }
		law(t, body, parse, func(rows []guardrails.Row) any {
			usage := []object{}
			for _, r := range rows {
				usage = append(usage, usageOf(r)...)
			}
			return object{"DataInterval": 60, "RealTimeHttpCodeData": object{"UsageData": usage}}
		})
	})
}

// usageOf writes a row as the vendor would have to send it for the row to come out.
func usageOf(r guardrails.Row) []object {
	code := func(c string, n float64) object {
		return object{"Code": c, "Count": strconv.FormatFloat(n, 'f', -1, 64)}
	}
	c := r.Counts
	list := []object{
		code("200", c.Status2xx), code("404", c.Status4xx), code("500", c.Status5xx), code("301", c.Requests-c.Status2xx-c.Status4xx-c.Status5xx),
	}
	if r.Unknown == guardrails.NotANumber {
		list = []object{{"Code": "200", "Count": "none"}}
	}
	one := object{"TimeStamp": r.Minute.Start().Format(time.RFC3339), "Value": object{"RealTimeCodeProportionData": list}}
	if r.Unknown == guardrails.Partial {
		return []object{one, one}
	}
	return []object{one}
}

func FuzzParseRates(f *testing.F) {
	f.Add([]byte(`{"Data":{"QpsModel":[{"Qps":1.5,"TimeStamp":"2021-06-24T18:00:00Z"},{"Qps":"2","TimeStamp":"2021-06-24T18:01:00Z"}],"BpsModel":[{"Bps":1e9,"TimeStamp":"2021-06-24T18:00:00Z"}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		encode := func(list, field string) func([]alicloud.Point) any {
			return func(points []alicloud.Point) any {
				models := []object{}
				for _, p := range points {
					models = append(models, object{"TimeStamp": p.Minute.Start().Format(time.RFC3339), field: p.Value})
				}
				return object{"Data": object{list: models}}
			}
		}
		law(t, body, alicloud.ParseQPS, encode("QpsModel", "Qps"))
		law(t, body, alicloud.ParseBandwidth, encode("BpsModel", "Bps"))
	})
}

// FuzzScrub checks that no secret survives in any spelling, wherever it stands.
func FuzzScrub(f *testing.F) {
	f.Add("asked https://cdn.example.com/?AccessKeyId=", "planted/secret+key==", "&x=1 \"end\"")
	f.Add("server string to sign is:POST&%2F&AccessKeyId%3D", "k e y", "%26Action%3DX")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		if len(secret) < 8 || strings.Contains(secret, "secret]") || strings.ContainsAny(secret, "[]") {
			return
		}
		for _, spelled := range []string{secret, url.QueryEscape(secret), url.QueryEscape(strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"))} {
			got := alicloud.Scrub(before+spelled+after, []string{secret[:4], secret, secret[4:]})
			if strings.Contains(before+after, secret) {
				continue
			}
			if strings.Contains(got, secret) || strings.Contains(got, spelled) {
				t.Errorf("%q survives in %q", spelled, got)
			}
			if strings.ContainsAny(got, "\n\r\x00") || len(got) > 400 {
				t.Errorf("not one short line: %q", got)
			}
		}
	})
}
