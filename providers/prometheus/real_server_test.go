package prometheus_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
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

// realServer is what a real Prometheus is started with.
type realServer struct {
	samples string // OpenMetrics, without the end mark; blocks are made of them
	config  string
	flags   []string
}

// start serves on a free loopback port until the test ends, and returns the URL.
func (s realServer) start(t *testing.T) string {
	t.Helper()
	server := tool(t, "prometheus")
	dir := t.TempDir()
	config, data := filepath.Join(dir, "prometheus.yml"), filepath.Join(dir, "data")
	if err := os.WriteFile(config, []byte(s.config), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.samples != "" {
		makeBlocks(t, filepath.Join(dir, "metrics.txt"), s.samples, data)
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	flags := append([]string{
		"--config.file=" + config, "--storage.tsdb.path=" + data, "--storage.tsdb.retention.time=100y", "--web.listen-address=" + addr,
	}, s.flags...)
	runServer(t, exec.CommandContext(t.Context(), server, flags...))
	return "http://" + addr
}

func makeBlocks(t *testing.T, file, samples, data string) {
	t.Helper()
	promtool := tool(t, "promtool")
	if err := os.WriteFile(file, []byte(samples+"# EOF\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), promtool, "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=240h", file, data)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// runServer waits until the server says that it is ready, and ends it with the test.
func runServer(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
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
}

// scrapes writes a counter as it is scraped four times a minute, from the start of first to the end of first+minutes-1. Where value
// gives "", the scrape is missing.
func scrapes(b *strings.Builder, labels string, minutes int, value func(second int) string) {
	for s := 0; s <= minutes*60; s += 15 {
		if v := value(s); v != "" {
			fmt.Fprintf(b, "rum_requests_total{%s} %s %d\n", labels, v, first.Start().Unix()+int64(s))
		}
	}
}

// steady is a counter that grows by so much a minute.
func steady(rate int) func(int) string {
	return func(s int) string { return strconv.Itoa(rate * s / 60) }
}

const header = "# TYPE rum_requests counter\n"

// stored is one series as remote write sends it.
type stored struct {
	name, platform, cdn string
	samples             []storedSample
}

type storedSample struct {
	second int // after the start of first
	value  float64
}

// staleMarker is the NaN by which a server stores that a series has ended.
func staleMarker() float64 { return math.Float64frombits(0x7ff0000000000002) }

// write sends series to a real server by remote write: a message of protocol buffers, in a Snappy frame without compression.
func write(t *testing.T, url string, all ...stored) {
	t.Helper()
	var message []byte
	for _, s := range all {
		var series []byte
		for _, l := range [][2]string{{"__name__", s.name}, {"cdn", s.cdn}, {"platform", s.platform}} {
			series = field(series, 1, field(field(nil, 1, []byte(l[0])), 2, []byte(l[1])))
		}
		for _, p := range s.samples {
			sample := binary.LittleEndian.AppendUint64([]byte{1<<3 | 1}, math.Float64bits(p.value))
			at := first.Start().Add(time.Duration(p.second) * time.Second)
			sample = binary.AppendUvarint(append(sample, 2<<3), uint64(at.UnixMilli()))
			series = field(series, 2, sample)
		}
		message = field(message, 1, series)
	}
	n := len(message) - 1
	frame := append(binary.AppendUvarint(nil, uint64(len(message))), 61<<2, byte(n), byte(n>>8))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/v1/write", strings.NewReader(string(frame)+string(message)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Encoding", "snappy")
	req.Header.Set("Content-Type", "application/x-protobuf")
	if status, body := send(t, req); status != http.StatusNoContent {
		t.Fatalf("remote write: HTTP %d %s", status, body)
	}
}

// field appends a field of bytes to a message.
func field(message []byte, number byte, content []byte) []byte {
	return append(binary.AppendUvarint(append(message, number<<3|2), uint64(len(content))), content...)
}
