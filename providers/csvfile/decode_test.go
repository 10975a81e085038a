package csvfile_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers/csvfile"
)

const first = guardrails.Minute(27_075_960) // 2021-06-24T18:00Z, 02:00 in Shanghai

func decode(t *testing.T, text string) []guardrails.Row {
	t.Helper()
	rows, err := csvfile.Decode(strings.NewReader(text), csvfile.Format{})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestColumnsComeInAnyOrder(t *testing.T) {
	got := decode(t, `errors,cdn,minute,status_5xx,requests,platform,status_2xx,tls13,bytes,tls,tls_ms,total_ms,status_4xx
2,backup,2021-06-25T02:00:00+08:00,10,1,ios,8,7,6,5,4,3,9
`)
	want := []guardrails.Row{{Platform: "ios", Leg: guardrails.Backup, Minute: first, Counts: guardrails.Counts{
		Requests: 1, Errors: 2, TotalMS: 3, TLSMS: 4, TLS: 5, Bytes: 6, TLS13: 7, Status2xx: 8, Status4xx: 9, Status5xx: 10,
		Has: guardrails.HasRequests | guardrails.HasErrors | guardrails.HasTotalMS | guardrails.HasTLSMS | guardrails.HasTLS |
			guardrails.HasBytes | guardrails.HasTLS13 | guardrails.HasStatus,
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestFormsOfOneFile(t *testing.T) {
	want := decode(t, "minute,requests\n1624557600,12\n1624557660,0.5\n")
	for name, text := range map[string]string{
		"a byte order mark":  "\ufeffminute,requests\n1624557600,12\n1624557660,0.5\n",
		"CRLF":               "minute,requests\r\n1624557600,12\r\n1624557660,0.5\r\n",
		"no last line feed":  "minute,requests\n1624557600,12\n1624557660,0.5",
		"quotes":             "\"minute\",\"requests\"\n\"1624557600\",\"12\"\n1624557660,\"0.5\"\n",
		"blanks":             "minute , requests\n 1624557600 , 12\n1624557660, 0.5\n",
		"empty lines":        "\nminute,requests\n\n1624557600,12\n\n1624557660,0.5\n\n",
		"UTC":                "minute,requests\n2021-06-24T18:00:00Z,12\n2021-06-24T18:01:00Z,0.5\n",
		"another offset":     "minute,requests\n2021-06-24T14:00:00-04:00,12\n2021-06-24T23:31:00.000+05:30,0.5\n",
		"exponents":          "minute,requests\n1624557600,1.2e+01\n1624557660,5E-1\n",
		"an explicit leg":    "minute,cdn,requests\n1624557600,primary,12\n1624557660,primary,0.5\n",
		"a column of blanks": "minute,requests,errors\n1624557600,12,\n1624557660,0.5, \n",
	} {
		if diff := cmp.Diff(want, decode(t, text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if len(want) != 2 || want[0].Minute != first || want[1].Counts.Requests != 0.5 {
		t.Errorf("rows %+v", want)
	}
}

func TestTheReadmesFileIsOne(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(readme), "```csv\n")
	text, _, ok := strings.Cut(text, "```")
	if rows := decode(t, text); !ok || len(rows) != 2 || rows[1].Leg != guardrails.Backup || rows[0].Minute != first {
		t.Errorf("rows %+v of\n%s", rows, text)
	}
}

func TestAnEmptyCellIsNotZero(t *testing.T) {
	got := decode(t, "minute,requests,errors,status_2xx,status_4xx,status_5xx\n1624557600,,0,90,,1\n")
	want := []guardrails.Row{{Leg: guardrails.Primary, Minute: first, Counts: guardrails.Counts{Has: guardrails.HasErrors}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestWhatIsNoNumberMakesTheMinuteUnknown(t *testing.T) {
	for _, v := range []string{"NaN", "nan", "Inf", "+Inf", "-inf", "-1", "-0.5", "1e999", "0x10", "1_000", "1 000", `"1,000"`, "many", "-", ".", "1.2.3", "٣", "10%", "null"} {
		got := decode(t, "minute,requests,errors,bytes\n1624557600,5,"+v+",7\n1624557660,5,1,7\n")
		want := guardrails.Row{Leg: guardrails.Primary, Minute: first, Unknown: guardrails.NotANumber}
		if len(got) != 2 || got[0] != want || got[1].Unknown != 0 {
			t.Errorf("%s: rows %+v, want one unknown and one good", v, got)
		}
	}
}

func TestLegsByOtherNames(t *testing.T) {
	f := csvfile.Format{Legs: map[string]guardrails.Leg{"ali": guardrails.Primary, "ali-v6": guardrails.Primary, "qiniu": guardrails.Backup}}
	rows, err := csvfile.Decode(strings.NewReader("cdn,minute,requests\nqiniu,60,1\nali,60,2\nali-v6,120,3\n"), f)
	if err != nil || len(rows) != 3 || rows[0].Leg != guardrails.Backup || rows[1].Leg != guardrails.Primary || rows[2].Leg != guardrails.Primary {
		t.Errorf("rows %+v, error %v", rows, err)
	}
	_, err = csvfile.Decode(strings.NewReader("cdn,minute,requests\nprimary,60,1\n"), f)
	wantText(t, err, `csv:2: column cdn: this is not a CDN that the plan knows ("primary"): it knows ali, ali-v6, qiniu`)
}

// The table decides about two rows for one minute; the decoder must not hide one of them.
func TestRowsForOneMinuteAreBothKept(t *testing.T) {
	rows := decode(t, "minute,requests\n1624557600,1\n1624557600,2\n")
	now := first.Start().AddDate(0, 0, 1)
	b := guardrails.Batch{Source: "rum", From: first, To: first, Rows: rows}.Resolved(now)
	if len(rows) != 2 || len(b.Rows) != 1 || b.Rows[0].Unknown != guardrails.Partial {
		t.Errorf("rows %+v, resolved %+v", rows, b.Rows)
	}
}

func TestBadFiles(t *testing.T) {
	long := strings.Repeat("p", 65)
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "csv:1: the file is empty: its first line names the columns"},
		{"no minute", "requests\n1\n", "csv:1: column minute: the column is missing"},
		{"no numbers", "minute,platform\n60,ios\n", "csv:1: there is no column with numbers, as requests"},
		{"an unknown column", "minute,requests,failures\n", `csv:1: column 3 is unknown ("failures"): the columns are minute, platform, cdn, requests, errors, total_ms, tls_ms, tls, bytes, tls13, status_2xx, status_4xx, status_5xx`},
		{"a column twice", "minute,requests,minute,requests\n", "csv:1: column minute: the column stands twice\ncsv:1: column requests: the column stands twice"},
		{"semicolons", "minute;requests\n60;1\n", "csv:1: cells must be separated by commas\ncsv:1: column minute: the column is missing"},
		{"a web page", "<html>\n<body>\n", "csv:1: column 1 is unknown: the columns are"},
		{"too few and too many cells", "minute,requests\n60\n120,1,2\n", "csv:2: the line has 1 cells, the first line names 2 columns\ncsv:3: the line has 3 cells, the first line names 2 columns"},
		{"no header", "60,1\n120,2\n", `csv:1: column 1 is unknown ("60")`},
		{"half a minute", "minute,requests\n90,1\n2021-06-25T02:00:30Z,1\n2021-06-25T02:00:00.5Z,1\n", `csv:2: column minute: this is not the start of a minute ("90")
csv:3: column minute: this is not the start of a minute ("2021-06-25T02:00:30Z")
csv:4: column minute: this is not the start of a minute ("2021-06-25T02:00:00.5Z")`},
		{"no offset", "minute,requests\n2021-06-25T02:00:00,1\n", `csv:2: column minute: this is not a time ("2021-06-25T02:00:00"): write it as 2021-06-25T02:00:00+08:00, or in seconds since 1970`},
		{"an empty minute", "minute,requests\n,1\n", "csv:2: column minute: this is not a time: write it"},
		{"milliseconds", "minute,requests\n1624557600000,1\n", "csv:2: column minute: the time is after the year 9999: seconds are meant, not milliseconds"},
		{"a sign", "minute,requests\n-60,1\n+60,1\n-0,1\n", "csv:2: column minute: the time has a sign\ncsv:3: column minute: the time has a sign\ncsv:4: column minute: the time has a sign"},
		{"before 1970", "minute,requests\n1969-12-31T23:59:00Z,1\n", "csv:2: column minute: this is not a time"},
		{"a third CDN", "minute,cdn,requests\n60,third,1\n60,,1\n", "csv:2: column cdn: this is not a CDN that the plan knows (\"third\"): it knows backup, primary\ncsv:3: column cdn: this is not a CDN that the plan knows: it knows"},
		{"no platform", "minute,platform,requests\n60,,1\n", "csv:2: column platform: the cell is empty"},
		{"a bad platform", "minute,platform,requests\n60,\"a\nb\",1\n60,a\xffb,1\n60," + long + ",1\n", "csv:2: column platform: this is not the name of a platform"},
		{"two things in a line", "minute,cdn,requests\nnow,third,x\n", "csv:2: column minute: this is not a time (\"now\"): write it as 2021-06-25T02:00:00+08:00, or in seconds since 1970\ncsv:2: column cdn:"},
		{"a quote in a cell", "minute,requests\n60,1\"2\n", "csv:2: a quote stands inside a cell"},
		{"an open quote", "minute,requests\n60,\"1\n", "csv:2: a quote is not closed"},
		{"a quote in the header", "minute,req\"uests\n60,1\n", "csv:1: a quote stands inside a cell"},
		{"five minutes", "minute,requests\n0,1\n300,1\n600,1\n900,1\n", "csv: the rows of a series lie 5 minutes apart: each must be one minute"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rows, err := csvfile.Decode(strings.NewReader(test.text), csvfile.Format{})
			wantText(t, err, test.want)
			if _, ok := errors.AsType[csvfile.Problems](err); !ok || rows != nil {
				t.Errorf("rows %+v, error %T", rows, err)
			}
		})
	}
}

func wantText(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error\n%v\nwant it to begin with\n%s", err, want)
	}
}

// A path may lead to a file that was not meant, and errors end in logs.
func TestProblemsRepeatNoSecret(t *testing.T) {
	const secret = "wJalr9XUtn3FEMI"
	for _, text := range []string{
		secret + "\n",
		"minute,requests," + secret + "\n",
		"key = " + secret + "\n",
		"minute,cdn,platform,requests\n" + secret + "," + secret + "," + secret + "\x01," + secret + "\n" + secret + "\n60,primary,ios,\"" + secret + "\n",
	} {
		_, err := csvfile.Decode(strings.NewReader(text), csvfile.Format{})
		if err == nil || strings.Contains(err.Error(), secret[:8]) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestManyProblemsAreCut(t *testing.T) {
	_, err := csvfile.Decode(strings.NewReader("minute,requests\n"+strings.Repeat("61,1\n", 1000)), csvfile.Format{Name: "rum.csv"})
	ps, _ := errors.AsType[csvfile.Problems](err)
	if len(ps) != 21 || ps[19].Line != 21 || !strings.HasSuffix(err.Error(), "rum.csv:22: more problems from here on are not shown") {
		t.Errorf("%d problems: %v", len(ps), err)
	}
	_, err = csvfile.Decode(strings.NewReader(strings.Repeat("x,", 1000)+"x\n"), csvfile.Format{})
	if ps, _ := errors.AsType[csvfile.Problems](err); len(ps) != 21 {
		t.Errorf("%d problems of a header", len(ps))
	}
}

func TestAReaderThatFailsIsNotAnEnd(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, text := range []string{"", "minute,requests\n60,1\n"} {
		rows, err := csvfile.Decode(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), csvfile.Format{})
		if !errors.Is(err, broken) || rows != nil {
			t.Errorf("%q: rows %+v, error %v", text, rows, err)
		}
	}
}

// nights is a recording: 30 nights of 3 hours, two platforms on two CDNs, seven numbers.
func nights() string {
	var b strings.Builder
	b.WriteString("minute,platform,cdn,requests,errors,total_ms,tls_ms,tls,bytes,tls13\n")
	for night := range guardrails.Minute(30) {
		for i := range guardrails.Minute(180) {
			for k := range 4 {
				at := (first + night*24*60 + i).Start().Format("2006-01-02T15:04:05Z07:00")
				fmt.Fprintf(&b, "%s,%s,%s,%d,%d,%d,%d.5,%d,%d,%d\n", at, []string{"ios", "android"}[k/2], []string{"primary", "backup"}[k%2], 12345+int(i), 17, 2592450, 518490, 11111, 987654321, 9876)
			}
		}
	}
	return b.String()
}

func BenchmarkDecode(b *testing.B) {
	text := nights()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		rows, err := csvfile.Decode(strings.NewReader(text), csvfile.Format{})
		if err != nil || len(rows) != 30*180*4 {
			b.Fatal(len(rows), err)
		}
	}
}
