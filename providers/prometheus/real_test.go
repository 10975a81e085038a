package prometheus_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/prometheus"
)

// tool finds a program of a Debian package; it is needed where CI is true and optional elsewhere.
func tool(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", program)
	}
	if err != nil {
		t.Skipf("%s is not installed", program)
	}
	return path
}

// startPrometheus serves blocks made of a text of OpenMetrics, and returns the URL.
func startPrometheus(t *testing.T, text string) string {
	t.Helper()
	server, promtool := tool(t, "prometheus"), tool(t, "promtool")
	dir := t.TempDir()
	metrics, config, data := filepath.Join(dir, "metrics.txt"), filepath.Join(dir, "prometheus.yml"), filepath.Join(dir, "data")
	for path, content := range map[string]string{metrics: text, config: ""} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "tsdb", "create-blocks-from", "openmetrics", metrics, data).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), server, "--config.file="+config, "--storage.tsdb.path="+data, "--storage.tsdb.retention.time=100y", "--web.listen-address="+addr)
	logs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan struct{})
	var last strings.Builder
	go func() {
		defer close(ended)
		said := false
		for lines := bufio.NewScanner(logs); lines.Scan(); {
			if !said {
				last.WriteString(lines.Text() + "\n")
			}
			if !said && strings.Contains(lines.Text(), "ready to receive web requests") {
				said = true
				close(ready)
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = cmd.Wait() // it was killed
	})
	select {
	case <-ready:
	case <-ended:
		t.Fatalf("prometheus ended:\n%s", last.String())
	}
	return "http://" + addr
}

// scrapes writes a counter as it is scraped four times a minute: rate a minute, from the start of first to the end of first+minutes-1.
// Where keep says no, the scrape is missing.
func scrapes(b *strings.Builder, labels string, rate, minutes int, keep func(second int) bool) {
	for s := 0; s <= minutes*60; s += 15 {
		if keep(s) {
			fmt.Fprintf(b, "rum_requests_total{%s} %d %d\n", labels, rate/4*(s/15), first.Start().Unix()+int64(s))
		}
	}
}

// What a real server makes of scrapes is what the adapter says of minutes: a counter's growth is in the minute in which it grew, a
// minute without scrapes has no row.
func TestARealPrometheus(t *testing.T) {
	var text strings.Builder
	text.WriteString("# TYPE rum_requests counter\n")
	always := func(int) bool { return true }
	scrapes(&text, `platform="ios",cdn="primary",host="a"`, 600, 6, always)
	scrapes(&text, `platform="ios",cdn="primary",host="b"`, 60, 6, always)
	scrapes(&text, `platform="ios",cdn="backup",host="a"`, 120, 6, func(s int) bool { return s <= 120 || s >= 240 }) // minutes 2 and 3 are gone
	text.WriteString("# EOF\n")
	url := startPrometheus(t, text.String())
	s := plans.Source{
		Name: "rum", Type: "prometheus", URL: url, Labels: map[string]string{"platform": "platform", "cdn": "cdn"}, Legs: legs,
		Queries: map[string]string{"requests": "sum by (platform, cdn) (increase(rum_requests_total[1m]))"},
	}
	got, err := open(t, s, prometheus.Options{}).Fetch(t.Context(), first-3, first+5)
	if err != nil {
		t.Fatal(err)
	}
	row := func(leg guardrails.Leg, i guardrails.Minute, n float64) guardrails.Row {
		return guardrails.Row{Platform: "ios", Leg: leg, Minute: first + i, Counts: guardrails.Counts{Requests: n, Has: guardrails.HasRequests}}
	}
	var want []guardrails.Row
	for i := range guardrails.Minute(6) {
		want = append(want, row(guardrails.Primary, i, 660))
	}
	for _, i := range []guardrails.Minute{0, 1, 4, 5} {
		want = append(want, row(guardrails.Backup, i, 120))
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 0.01)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	s.Queries["requests"] = "sum by (platform, cdn) (increase(rum_requests_total[1m])"
	_, err = open(t, s, prometheus.Options{}).Fetch(t.Context(), first, first)
	wantKind(t, err, providers.Invalid, "parse error")
	s.Queries["requests"] = "rum_requests_total" // one series a host
	_, err = open(t, s, prometheus.Options{}).Fetch(t.Context(), first, first)
	wantKind(t, err, providers.Invalid, "two series")
}
