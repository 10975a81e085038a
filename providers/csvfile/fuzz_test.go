package csvfile_test

import (
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers/csvfile"
)

// encode writes rows as a file with every column that one of them needs.
func encode(t *testing.T, rows []guardrails.Row) string {
	t.Helper()
	var b strings.Builder
	w := csv.NewWriter(&b)
	named := len(rows) > 0 && rows[0].Platform != ""
	head := []string{"minute", "cdn", "requests", "errors", "total_ms", "tls_ms", "tls", "bytes", "tls13", "status_2xx", "status_4xx", "status_5xx"}
	if named {
		head = append(head, "platform")
	}
	lines := [][]string{head}
	for _, r := range rows {
		c, line := r.Counts, []string{strconv.FormatInt(r.Minute.Start().Unix(), 10), r.Leg.String()}
		for i, v := range []float64{c.Requests, c.Errors, c.TotalMS, c.TLSMS, c.TLS, c.Bytes, c.TLS13, c.Status2xx, c.Status4xx, c.Status5xx} {
			switch field := guardrails.Field(1) << min(i, 7); {
			case r.Unknown == guardrails.NotANumber:
				line = append(line, "NaN")
			case c.Has&field != 0:
				line = append(line, strconv.FormatFloat(v, 'g', -1, 64))
			default:
				line = append(line, "")
			}
		}
		if named {
			line = append(line, r.Platform)
		}
		lines = append(lines, line)
	}
	if err := w.WriteAll(lines); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Law: a file that is accepted, written again from its rows and read again, gives the same rows; each row is a minute of a leg and
// either unknown or counts that are numbers.
func FuzzDecode(f *testing.F) {
	f.Add("minute,requests\n1624557600,12\n2021-06-25T02:01:00+08:00,NaN\n")
	f.Add("\ufeffminute,platform,cdn,requests,errors\r\n60,ios,primary,1e3,\r\n60,\"an,droid\",backup,-0,0.25\r\n")
	f.Add("status_2xx,minute,status_4xx,status_5xx,tls13\n1,60,2,3,4\n1,120,,3,-4\n")
	f.Add("minute,requests\n0,1\n300,1\n600,1\n900,1\n")
	f.Add("minute,platform,requests\n253402300740,\" 用 户 \",123456789012345678901234567890\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := csvfile.Decode(strings.NewReader(text), csvfile.Format{})
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
			if (r.Leg != guardrails.Primary && r.Leg != guardrails.Backup) || r.Minute < 0 || !unknown && (r.Unknown != 0 || math.IsNaN(sum) || sum < 0) {
				t.Fatalf("row %+v of %q", r, text)
			}
		}
		again, err := csvfile.Decode(strings.NewReader(encode(t, rows)), csvfile.Format{})
		if err != nil {
			t.Fatalf("read again: %v", err)
		}
		if diff := cmp.Diff(rows, again); diff != "" {
			t.Fatalf("rows (-first +again):\n%s", diff)
		}
	})
}
