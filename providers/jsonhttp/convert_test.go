package jsonhttp_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/jsonhttp"
)

// plain reads a list of rows whose keys are the names of the fields.
func plain() plans.Source {
	fields := map[string]string{"minute": "minute", "platform": "platform", "cdn": "cdn"}
	for _, n := range providers.Numbers() {
		fields[n.String()] = n.String()
	}
	return plans.Source{
		Name: "apm", Legs: map[string]guardrails.Leg{"primary": guardrails.Primary, "backup": guardrails.Backup},
		JSON: &plans.JSON{MinuteFormat: plans.UnixSeconds, Fields: fields},
	}
}

func TestEachFieldFillsItsNumber(t *testing.T) {
	got, err := jsonhttp.Convert(plain(), `[{"minute": 1624557600, "platform": 7, "cdn": "backup", "requests": 1, "errors": "2", "total_ms": 3.0, "tls_ms": 4e0,
		"tls": "5.00", "bytes": 6, "tls13": 7, "status_2xx": 8, "status_4xx": 9, "status_5xx": 10, "more": "x"}]`, first, first)
	want := []guardrails.Row{{Platform: "7", Leg: guardrails.Backup, Minute: first, Counts: guardrails.Counts{
		Requests: 1, Errors: 2, TotalMS: 3, TLSMS: 4, TLS: 5, Bytes: 6, TLS13: 7, Status2xx: 8, Status4xx: 9, Status5xx: 10,
		Has: guardrails.HasRequests | guardrails.HasErrors | guardrails.HasTotalMS | guardrails.HasTLSMS | guardrails.HasTLS |
			guardrails.HasBytes | guardrails.HasTLS13 | guardrails.HasStatus,
	}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, rows (-want +got):\n%s", err, diff)
	}
}

func TestNumbers(t *testing.T) {
	absent, unknown := math.Inf(-1), math.NaN()
	for text, want := range map[string]float64{
		"0": 0, "-0": 0, "12": 12, "0.5": 0.5, "1e3": 1000, "1.5E-1": 0.15, `"12"`: 12, `"0.5"`: 0.5, `"007"`: 7, `"\u0031\u0032"`: 12,
		"null": absent,
		"-1":   unknown, "-0.5": unknown, "1e999": unknown, `"-1"`: unknown, `""`: unknown, `" 1"`: unknown, `"1e3"`: unknown, `"+1"`: unknown, `"1."`: unknown,
		`".5"`: unknown, `"0x10"`: unknown, `"1_0"`: unknown, `"1,000"`: unknown, `"NaN"`: unknown, `"Inf"`: unknown, `"null"`: unknown,
		`"many"`: unknown, `"--1"`: unknown, "true": unknown, "false": unknown, "[]": unknown, "[1]": unknown, "{}": unknown,
	} {
		got, err := jsonhttp.Convert(plain(), `[{"minute": 1624557600, "platform": "ios", "cdn": "primary", "requests": 5, "errors": `+text+`, "bytes": 7}]`, first, first)
		row := guardrails.Row{Platform: "ios", Leg: guardrails.Primary, Minute: first}
		switch {
		case math.IsNaN(want):
			row.Unknown = guardrails.NotANumber
		case math.IsInf(want, -1):
			row.Counts = guardrails.Counts{Requests: 5, Bytes: 7, Has: guardrails.HasRequests | guardrails.HasBytes}
		default:
			row.Counts = guardrails.Counts{Requests: 5, Errors: want, Bytes: 7, Has: guardrails.HasRequests | guardrails.HasErrors | guardrails.HasBytes}
		}
		if diff := cmp.Diff([]guardrails.Row{row}, got); diff != "" || err != nil {
			t.Errorf("%s: error %v, rows (-want +got):\n%s", text, err, diff)
		}
	}
}

func TestTimes(t *testing.T) {
	const none = -1
	for _, test := range []struct {
		format plans.TimeFormat
		text   string
		want   guardrails.Minute
	}{
		{plans.UnixSeconds, "1624557600", first},
		{plans.UnixSeconds, `"1624557600"`, first},
		{plans.UnixSeconds, "1624557600.5", none},
		{plans.UnixSeconds, "1.6245576e9", none},
		{plans.UnixSeconds, "true", none},
		{plans.UnixSeconds, `"+60"`, none},
		{plans.UnixSeconds, "99999999999999999999", none},
		{plans.UnixMillis, "1624557600000", first},
		{plans.UnixMillis, "1624557600", none}, // seconds are in January 1970, and on no minute
		{plans.UnixMillis, "1624557600001", none},
		{plans.UnixMillis, "9223372036854775807", none},
		{plans.RFC3339, `"2021-06-24T18:00:00Z"`, first},
		{plans.RFC3339, `"2021-06-25T02:00:00.000+08:00"`, first},
		{plans.RFC3339, `"2021-06-24T18:00:00.0000001Z"`, none},
		{plans.RFC3339, `"2021-06-24T18:00:01Z"`, none},
		{plans.RFC3339, `"2021-06-24 18:00:00"`, none},
		{plans.RFC3339, `"1969-12-31T23:59:00Z"`, none},
		{plans.RFC3339, "1624557600", none},
	} {
		s := plain()
		s.JSON.MinuteFormat = test.format
		rows, err := jsonhttp.Convert(s, `[{"minute": `+test.text+`, "platform": "ios", "cdn": "primary"}]`, first, first)
		if test.want == none && err == nil || test.want != none && (err != nil || len(rows) != 1) {
			t.Errorf("%s as %v: rows %+v, error %v", test.text, test.format, rows, err)
		}
	}
}

// A path finds the key with exactly that name, wherever its rows are.
func TestPathsFindOneValue(t *testing.T) {
	const body = `{"a.b": {"@list": [{"t": [60, {"x*y": 2}], "#": "ios", "": 9, "xzy": 8, "用时": 3, "a b": 4, "sp\\lit": 5, "q\"q": 6}]}, "a": {"b": []}}`
	s := plain()
	s.JSON.Rows = `a\.b.\@list`
	s.JSON.Fields = map[string]string{
		"minute": "t.0", "platform": `\#`, "requests": `t.1.x\*y`, "errors": "用时", "total_ms": "a b", "tls": `sp\\lit`, "bytes": `q\"q`, "tls13": "t.7", "tls_ms": "t.x.y",
	}
	got, err := jsonhttp.Convert(s, body, 1, 1)
	want := []guardrails.Row{{Platform: "ios", Leg: guardrails.Primary, Minute: 1, Counts: guardrails.Counts{
		Requests: 2, Errors: 3, TotalMS: 4, TLS: 5, Bytes: 6,
		Has: guardrails.HasRequests | guardrails.HasErrors | guardrails.HasTotalMS | guardrails.HasTLS | guardrails.HasBytes,
	}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, rows (-want +got):\n%s", err, diff)
	}
	for _, p := range append([]string{s.JSON.Rows}, `t.1.x\*y`, `sp\\lit`, `q\"q`, "a b", "用时") {
		if !plans.ValidPath(p) {
			t.Errorf("a plan would refuse %s", p)
		}
	}
}

func TestFlagsOfPartialAnswers(t *testing.T) {
	for text, partial := range map[string]bool{
		"false": false, "null": false, "0": false, "0.0": false, `""`: false, "[]": false, "{}": false, "[ ]": false,
		"true": true, "1": true, "-1": true, `"false"`: true, `["shard 3"]`: true, `{"a": 1}`: true, "[[0]]": true,
	} {
		s := plain()
		s.JSON.Partial, s.JSON.Rows = "flag", "rows"
		_, err := jsonhttp.Convert(s, `{"flag": `+text+`, "rows": []}`, first, first)
		if (err != nil) != partial || partial && !strings.Contains(err.Error(), "flag says so") {
			t.Errorf("%s: error %v, want one: %v", text, err, partial)
		}
	}
	s := plain()
	s.JSON.Partial = "flag"
	if _, err := jsonhttp.Convert(s, `[]`, first, first); err != nil {
		t.Errorf("without a flag: %v", err)
	}
}

// The table decides about two rows for one minute; the adapter must not hide one of them.
func TestRowsForOneMinuteAreBothReturned(t *testing.T) {
	rows, err := jsonhttp.Convert(plain(), `[{"minute": 1624557600, "platform": "ios", "cdn": "primary", "requests": 1},
		{"minute": 1624557600, "platform": "ios", "cdn": "primary", "requests": 2}]`, first, first)
	b := guardrails.Batch{Source: "apm", From: first, To: first, Rows: rows}.Resolved(first.Start().AddDate(0, 0, 1))
	if err != nil || len(rows) != 2 || len(b.Rows) != 1 || b.Rows[0].Unknown != guardrails.Partial {
		t.Errorf("error %v, rows %+v, resolved %+v", err, rows, b.Rows)
	}
}

// encode writes rows as an answer.
func encode(t *testing.T, rows []guardrails.Row) string {
	t.Helper()
	list := []map[string]any{}
	for _, r := range rows {
		c := r.Counts
		item := map[string]any{"minute": r.Minute.Start().Unix(), "platform": r.Platform, "cdn": r.Leg.String()}
		for i, v := range []float64{c.Requests, c.Errors, c.TotalMS, c.TLSMS, c.TLS, c.Bytes, c.TLS13, c.Status2xx, c.Status4xx, c.Status5xx} {
			name := providers.Numbers()[i].String()
			switch field := guardrails.Field(1) << min(i, 7); {
			case r.Unknown == guardrails.NotANumber:
				item[name] = "NaN"
			case c.Has&field != 0:
				item[name] = v
			default:
				item[name] = nil
			}
		}
		list = append(list, item)
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Law: an answer that is accepted, written again from its rows and read again, gives the same rows; each row is a minute that was asked
// for, and either unknown or counts that are numbers.
func FuzzConvert(f *testing.F) {
	f.Add(`[{"minute": 1624557600, "platform": "ios", "cdn": "primary", "requests": 1, "errors": "0.5"}]`)
	f.Add(`[{"minute": "1624557660", "platform": 7, "cdn": "backup", "requests": null, "bytes": -1}, {"minute": 60, "platform": "\ud800", "cdn": "primary"}]`)
	f.Add(`[{"minute": 1624557600, "platform": "a", "cdn": "backup", "status_2xx": 1e3, "status_4xx": 2, "status_5xx": [3], "minute": 0}]`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, body string) {
		rows, err := jsonhttp.Convert(plain(), body, first, first+179)
		if err != nil {
			if rows != nil {
				t.Fatalf("rows beside %v", err)
			}
			return
		}
		for _, r := range rows {
			unknown := r.Unknown == guardrails.NotANumber && r.Counts == guardrails.Counts{}
			c := r.Counts
			sum := c.Requests + c.Errors + c.TotalMS + c.TLSMS + c.TLS + c.Bytes + c.TLS13 + c.Status2xx + c.Status4xx + c.Status5xx
			if (r.Leg != guardrails.Primary && r.Leg != guardrails.Backup) || r.Platform == "" || r.Minute < first || r.Minute > first+179 ||
				!unknown && (r.Unknown != 0 || math.IsNaN(sum) || sum < 0) {
				t.Fatalf("row %+v of %s", r, body)
			}
		}
		again, err := jsonhttp.Convert(plain(), encode(t, rows), first, first+179)
		if err != nil {
			if providers.Spacing(rows) > 1 {
				return // rows in between were left out
			}
			t.Fatalf("read again: %v", err)
		}
		if diff := cmp.Diff(rows, again); diff != "" && len(rows)+len(again) > 0 {
			t.Fatalf("rows (-first +again):\n%s", diff)
		}
	})
}
