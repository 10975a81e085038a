package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/etcd"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// startEtcd starts a real etcd of one member and returns the store's URL.
func startEtcd(t *testing.T) string {
	t.Helper()
	cfg := embed.NewConfig()
	var urls [2]url.URL
	for i := range urls {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		urls[i] = url.URL{Scheme: "http", Host: l.Addr().String()}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Dir, cfg.LogLevel, cfg.LogOutputs = t.TempDir(), "panic", []string{os.DevNull}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = urls[:1], urls[:1]
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = urls[1:], urls[1:]
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	<-e.Server.ReadyNotify()
	return "etcd://" + urls[1].Host + "/test"
}

// controllerProcess is a process that carries the run, or stands by for it.
type controllerProcess struct {
	cmd   *exec.Cmd
	lines chan string // closed at its end
}

func (b *bed) controller(t *testing.T, where string, args ...string) *controllerProcess {
	t.Helper()
	p := &controllerProcess{lines: make(chan string, 10_000)}
	args = append(args, "-plan", b.file, "-store", where, "-standby", "-speed", fmt.Sprint(b.clock.Speed),
		"-epoch", b.clock.Epoch.Format(time.RFC3339Nano), "-virtual", b.clock.Start.Format(time.RFC3339Nano))
	p.cmd = exec.CommandContext(t.Context(), "mortal", args...)
	p.cmd.Env = append(os.Environ(), b.io.env...)
	p.cmd.Stderr = b.out
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			p.lines <- in.Text()
		}
	}()
	return p
}

// until reads what the process prints until a line holds one of the words, or it ends: then it is false.
func (p *controllerProcess) until(words ...string) bool {
	for line := range p.lines {
		for _, w := range words {
			if strings.Contains(line, w) {
				return true
			}
		}
	}
	return false
}

func (p *controllerProcess) code() int {
	err := p.cmd.Wait()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return exitOK
}

// Two processes share a cluster. The one that carries the run is stopped where it stands; the other goes on; the stopped one wakes up, writes
// nothing, and ends with an error. That it takes two lease times at most is measured in package engine, where a bubble has its own time.
func TestAFrozenProcessIsReplaced(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault world.Fault
		when  string
		code  int
	}{
		{world.None, "forward Baking", exitOK},
		{world.Errors10, "back RollingBack", exitRolledBack},
	} {
		t.Run(test.fault.String(), func(t *testing.T) {
			t.Parallel()
			b := shortBed(t, test.fault)
			before, where := b.state(), startEtcd(t)
			first := b.controller(t, where)
			if ok := first.until(test.when); !ok {
				t.Fatalf("the first ended early\n%s", b.out)
			}
			second := b.controller(t, where)
			if err := first.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if ok := second.until("resumed"); !ok {
				t.Fatalf("the second ended early\n%s", b.out)
			}
			if err := first.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			first.until("never")
			if code := first.code(); code != exitUnexpected {
				t.Errorf("the first ended with %d, want %d", code, exitUnexpected)
			}
			second.until("never")
			if code := second.code(); code != test.code {
				t.Fatalf("the second ended with %d, want %d\n%s", code, test.code, b.out)
			}
			if (b.state() == before) != (test.code == exitRolledBack) {
				t.Errorf("before %s\nafter  %s", before, b.state())
			}
			b.checkTakeover(t, where)
		})
	}
}

// Each process that carries the run kills itself right after a record is durable, and the one that stands by goes on with what etcd has:
// the same end, and no write is made that had landed. A process that could not renew its claim on a busy machine is one more that is
// replaced.
func TestAKilledProcessIsReplaced(t *testing.T) { //nolint:tparallel // a cluster each, and two at once are too many for two cores
	t.Parallel()
	for _, test := range []struct {
		fault   world.Fault
		records []int // that each process lives for; those after them stay
		code    int
	}{
		{world.None, []int{90, 50, 31, 64}, exitOK},
		{world.Errors10, []int{110, 47, 38, 20}, exitRolledBack},
	} {
		t.Run(test.fault.String(), func(t *testing.T) {
			b := shortBed(t, test.fault)
			before, where := b.state(), startEtcd(t)
			code, killed := b.untilOneEnds(t, where, test.records)
			if code != test.code || killed < 2 {
				t.Fatalf("%d were killed, and one ended with %d; want at least two and %d\n%s", killed, code, test.code, b.out)
			}
			if (b.state() == before) != (test.code == exitRolledBack) {
				t.Errorf("before %s\nafter  %s", before, b.state())
			}
			b.checkTakeover(t, where)
		})
	}
}

// untilOneEnds starts processes, each beside the one before, until one ends by itself. It returns that one's exit code, and how many were
// killed.
func (b *bed) untilOneEnds(t *testing.T, where string, records []int) (code, killed int) {
	t.Helper()
	next := func() *controllerProcess {
		n := 0
		if len(records) > 0 {
			n, records = records[0], records[1:]
		}
		return b.controller(t, where, "-records", strconv.Itoa(n))
	}
	for carrying := next(); ; {
		if !carrying.until("record ") {
			t.Fatalf("a process ended before it carried anything\n%s", b.out)
		}
		standing := next()
		carrying.until("never")
		switch code := carrying.code(); code {
		case -1:
			killed++
		case exitUnexpected:
			t.Log("a process lost its claim")
		default:
			if err := standing.cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			standing.until("never")
			standing.code()
			return code, killed
		}
		carrying = standing
	}
}

// checkTakeover looks at the journal, and at the writes that the lab received.
func (b *bed) checkTakeover(t *testing.T, where string) {
	t.Helper()
	o, err := etcd.ParseURL(where)
	if err != nil {
		t.Fatal(err)
	}
	s, err := etcd.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // a test
	runs, err := s.List(t.Context())
	if err != nil || len(runs) != 1 {
		t.Fatalf("want one run, got %+v, %v", runs, err)
	}
	records, err := store.Read(t.Context(), s, runs[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if run := rollout.Replay(records); run.End == nil || run.End.Phase != runs[0].Ended {
		t.Errorf("the journal ends as %+v, noted is %s", run.End, runs[0].Ended)
	}
	for command, want := range map[string]string{
		"events --verify": "hash chain and digests are whole", "events": "started by test", "status": string(runs[0].ID),
	} {
		printed, code := b.command(t, append(strings.Fields(command), "--store", where)...)
		if code != exitOK || !strings.Contains(printed, want) {
			t.Errorf("%s over etcd ended with %d, want %q in\n%.500s", command, code, want, printed)
		}
	}
	for lever, calls := range b.writes(time.Time{}) {
		if diff := cmp.Diff(compacted(calls), calls); diff != "" {
			t.Errorf("%s: a write was repeated that had landed (-without +with):\n%s", lever, diff)
		}
	}
}
