package lab_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/plans/examples"
	"github.com/tlsroll/tlsroll/providers/lab"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

const plan = `# A reviewer reads this.
version: tlsroll/v1
domain: cdn.example.com
schedule: {timezone: Asia/Shanghai, at: 2021-06-25T02:00:00} # the night
primary: {provider: alicloud, credentials: env}
backup: {provider: qiniu, credentials: env, max_share: 100%}
dns: {provider: alicloud, credentials: env, zone: example.com, record: cdn, line: default, ttl: 60s}
sources:
  # what clients measured
  rum:
    type: prometheus
    url: http://prometheus.example.com:9090
  edge: {type: alicloud, settle: 8m}
`

// night is 02:00 in Shanghai.
var night = time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a lab at 02:00 that is closed with the test. Its time goes on at the pace of the wall.
func start(t *testing.T, o lab.Options) *lab.Lab {
	t.Helper()
	o.Plan = plan
	if o.Clock == (plans.Clock{}) {
		o.Clock = plans.Clock{Epoch: time.Now(), Start: night, Speed: 1}
	}
	l, err := lab.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// instantly makes writes reach edges and name servers at once.
func instantly(f world.Fault) lab.Options {
	return lab.Options{World: world.Config{Fault: f, PropagationDNS: -1, PropagationTLS: -1}}
}

// params are one API call: the action and what is its own.
type params map[string]string

// answer is what came back.
type answer struct {
	status int
	raw    string
	body   map[string]any
}

func (a answer) code() string { s, _ := a.body["Code"].(string); return s }

// signed returns a signed query, as a client of the RPC style builds it. Overrides replace parameters before signing.
func signed(method string, overrides params) url.Values {
	q := url.Values{
		"Format": {"JSON"}, "AccessKeyId": {"lab-access-key"}, "SignatureMethod": {"HMAC-SHA1"}, "SignatureVersion": {"1.0"},
		"SignatureNonce": {strconv.FormatInt(time.Now().UnixNano(), 36)}, "Timestamp": {time.Now().UTC().Format("2006-01-02T15:04:05Z")},
		"Version": {"2018-05-10"},
	}
	if strings.Contains(overrides["Action"], "DNS") || strings.Contains(overrides["Action"], "Record") || overrides["Action"] == "DescribeDomainInfo" {
		q.Set("Version", "2015-01-09")
	}
	for k, v := range overrides {
		q.Set(k, v)
	}
	canonical := strings.NewReplacer("+", "%20", "*", "%2A", "%7E", "~").Replace(q.Encode())
	mac := hmac.New(sha1.New, []byte("lab-secret&"))
	mac.Write([]byte(method + "&%2F&" + strings.NewReplacer("+", "%20").Replace(url.QueryEscape(canonical))))
	q.Set("Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return q
}

func call(t *testing.T, l *lab.Lab, p params) answer {
	t.Helper()
	return send(t, l, http.MethodGet, signed(http.MethodGet, p))
}

func send(t *testing.T, l *lab.Lab, method string, q url.Values) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, l.Endpoints().Alicloud+"/?"+q.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, req)
}

func do(t *testing.T, req *http.Request) answer {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return answer{raw: err.Error()}
	}
	defer closed(t, res.Body)
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: res.StatusCode, raw: string(raw)}
	if json.Unmarshal(raw, &a.body) != nil {
		a.body = nil
	}
	return a
}

func closed(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// at walks into nested objects and lists.
func at(v any, path ...any) any {
	for _, p := range path {
		switch key := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[key]
		case int:
			list, _ := v.([]any)
			if key >= len(list) {
				return nil
			}
			v = list[key]
		}
	}
	return v
}

func length(v any) int {
	list, _ := v.([]any)
	return len(list)
}

func TestPlanPointsAtTheLabAndKeepsItsComments(t *testing.T) {
	l := start(t, lab.Options{})
	got, e := strings.ReplaceAll(l.PlanSource(), "'", ""), l.Endpoints()
	for _, want := range []string{
		"# A reviewer reads this.", "# the night", "# what clients measured", "at: 2021-06-25T02:00:00",
		"url: " + e.Prometheus, "endpoint: " + e.Alicloud, "analytics_endpoint: " + e.Qiniu,
		"nameservers: [" + e.DNS + "]", "ca: " + e.CA,
		"edges: [" + strings.Join(e.PrimaryEdges, ", ") + "]", "edges: [" + strings.Join(e.BackupEdges, ", ") + "]",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the plan lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "prometheus.example.com") {
		t.Errorf("the plan still asks the old Prometheus:\n%s", got)
	}
}

func TestAnUnscheduledPlanStartsWhenItIsApplied(t *testing.T) {
	for name, schedule := range map[string]string{
		"block":   "schedule:\n  at: 2021-06-25T02:00:00 # the night\n  timezone: Asia/Shanghai\n  start_deadline: 15m\n  advance_until: \"04:00\"\n",
		"flow":    "schedule: {cron: \"0 2 * * FRI\", timezone: Asia/Shanghai, advance_until: \"04:00\"}\n",
		"no hour": "schedule: {timezone: Asia/Shanghai}\n",
	} {
		t.Run(name, func(t *testing.T) {
			source, _ := examples.Source("tls13-canary.yaml")
			from, to := strings.Index(source, "schedule:\n"), strings.Index(source, "primary: {")
			l, err := lab.Start(t.Context(), lab.Options{Plan: source[:from] + schedule + source[to:], Unscheduled: true})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			p, problems := plans.Parse(name, []byte(l.PlanSource()))
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			if at, ok, err := p.StartAt(); ok || err != nil {
				t.Errorf("starts at %v, %v", at, err)
			}
			if p.Schedule.AdvanceUntil != (plans.Schedule{}).AdvanceUntil {
				t.Errorf("may go on until %v", p.Schedule.AdvanceUntil)
			}
		})
	}
}

func TestExamplesStayPlansAndTheirChangeHasSomethingToDo(t *testing.T) {
	old := plans.TLSSetOf(plans.TLS10, plans.TLS11, plans.TLS12)
	for name, want := range map[string]plans.TLSSet{
		"tls13-canary.yaml": old, "tls13-in-place.yaml": old, "tls13-off.yaml": old.With(plans.TLS13), "tls10-tls11-off.yaml": old,
	} {
		source, _ := examples.Source(name)
		l, err := lab.Start(t.Context(), lab.Options{Plan: source})
		if err != nil {
			t.Fatal(err)
		}
		p, problems := plans.Parse(name, []byte(l.PlanSource()))
		if problems.HasErrors() {
			t.Fatalf("%s: %v", name, problems)
		}
		e := l.Endpoints()
		if p.Primary.Endpoint != e.Alicloud || p.Backup.Analytics != e.Qiniu || p.DNS.Nameservers[0] != e.DNS || p.Primary.CA != e.CA {
			t.Errorf("%s: %+v", name, p)
		}
		l.With(func(now time.Time, w *world.World) {
			got := w.State(now).Primary.TLS.Enabled
			if got != want || p.Change.Apply(got) == got {
				t.Errorf("%s: the primary begins with %v, want %v", name, got, want)
			}
			if b := w.EdgeTLS(now, guardrails.Backup, 0); b != got {
				t.Errorf("%s: the backup speaks %v, the primary %v: no parity", name, b, got)
			}
		})
		l.Close()
	}
}

func TestPlanWithoutADomainIsRefused(t *testing.T) {
	for _, p := range []string{"# nothing", "[]", "domain: a.example.com", "a: [", strings.ReplaceAll(plan, "60s", "soon"), strings.ReplaceAll(plan, "Asia/Shanghai", "Mars/Base")} {
		if l, err := lab.Start(t.Context(), lab.Options{Plan: p}); err == nil {
			l.Close()
			t.Errorf("a lab started from %q", p)
		}
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	l := start(t, lab.Options{})
	ca := l.Endpoints().CA
	if _, err := os.Stat(ca); err != nil {
		t.Fatal(err)
	}
	l.Close()
	l.Close()
	if _, err := os.Stat(ca); !os.IsNotExist(err) {
		t.Errorf("the CA file is still there: %v", err)
	}
	if a := call(t, l, params{"Action": "DescribeCdnDomainDetail", "DomainName": "cdn.example.com"}); a.status != 0 {
		t.Errorf("a closed lab answers %d", a.status)
	}
}

func TestStartState(t *testing.T) {
	l := start(t, lab.Options{})
	l.With(func(now time.Time, w *world.World) {
		if now.Before(night) || now.After(night.Add(time.Minute)) {
			t.Errorf("the lab's time is %v, want about %v", now, night)
		}
		s := w.State(now)
		weights, ok := s.Weights("default")
		if want := (plans.Weights{Primary: 60, Backup: 40, PrimaryOn: true, BackupOn: true}); weights != want || !ok {
			t.Errorf("weights %v, want %v", weights, want)
		}
		if want := plans.TLSSetOf(plans.TLS10, plans.TLS11, plans.TLS12); !s.Primary.TLS.Explicit || s.Primary.TLS.Enabled != want {
			t.Errorf("TLS %+v, want %v written out", s.Primary.TLS, want)
		}
		rows := w.Minutes(now, world.RUM, guardrails.MinuteOf(now)-60, guardrails.MinuteOf(now))
		if len(rows) < 58*4 {
			t.Errorf("%d rows of the last hour, want a baseline", len(rows))
		}
	})
	want := []string{"ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET", "QINIU_ACCESS_KEY", "QINIU_SECRET_KEY"}
	var got []string
	for k, v := range l.Env() {
		if v != "" {
			got = append(got, k)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got)\n%s", diff)
	}
}
