package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/sqlite"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// everyRecord kills after one to four records, instead of after a few dozen: several hundred times in a run, which takes ten minutes.
var everyRecord = flag.Bool("every-record", false, "kill at nearly every record")

// claimTTL is short, so that what a dead process may still have under way is waited out in two seconds.
const claimTTL = 6 * time.Second

// mortal is a program that carries out a plan as apply does, and kills itself with SIGKILL right after its n-th record is durable, before
// the commands of that record start. It prints each record's number and kind first.
func mortal() {
	var l local
	var file, epoch, virtual string
	var left int
	flag.StringVar(&file, "plan", "", "")
	flag.StringVar(&l.store, "store", "", "")
	flag.Float64Var(&l.clock.Speed, "speed", 1, "")
	flag.StringVar(&epoch, "epoch", "", "")
	flag.StringVar(&virtual, "virtual", "", "")
	flag.IntVar(&left, "records", 0, "")
	flag.BoolVar(&l.standby, "standby", false, "")
	flag.Parse()
	l.io = stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Environ()}
	l.claimTTL = claimTTL
	var errs [3]error
	l.plan, errs[0] = loadPlan(l.io, file)
	l.clock.Epoch, errs[1] = time.Parse(time.RFC3339Nano, epoch)
	l.clock.Start, errs[2] = time.Parse(time.RFC3339Nano, virtual)
	if err := errors.Join(errs[:]...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
	l.tell = func(u rollout.Urgency, text string) { fmt.Fprintln(os.Stderr, u, text) }
	l.talk = func(text string) { fmt.Fprintln(os.Stderr, text) }
	l.watch = func(_, after rollout.Run, rec rollout.Record) {
		fmt.Fprintf(l.io.out, "record %d %s %s %s\n", rec.Seq, rollout.Kind(rec.Event), after.Way, after.Phase())
		left--
		if left == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	r, err := l.do(context.Background())
	if err == nil {
		err = ended(r)
	}
	exit, ok := errors.AsType[*exitError](err)
	switch {
	case err == nil:
		os.Exit(exitOK)
	case ok:
		fmt.Fprintln(os.Stderr, exit.err)
		os.Exit(exit.code)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(exitUnexpected)
}

// A real process with a real journal is killed right after a record is durable, again and again, forward and on the way back, and started
// with the same command: nothing that was acknowledged is missing, the end is the same, and no write
// is made that had landed.
func TestKilledAtRecordsAndStartedAgain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault world.Fault
		code  int
		seed  uint64
	}{
		{world.None, exitOK, 1},
		{world.Errors10, exitRolledBack, 2},
	}
	for _, test := range tests {
		t.Run(test.fault.String(), func(t *testing.T) {
			t.Parallel()
			b := shortBed(t, test.fault)
			before := b.state()
			l := lives{b: b, store: filepath.Join(b.dir, "journal.db"), died: map[string]int{}, dice: rand.New(rand.NewPCG(test.seed, 1))}
			if code := l.untilTheEnd(t); code != test.code {
				t.Fatalf("ended with %d after %d lives, want %d\n%s", code, l.n, test.code, b.out)
			}
			if (b.state() == before) != (test.code == exitRolledBack) {
				t.Errorf("before %s\nafter  %s", before, b.state())
			}
			l.check(t)
		})
	}
}

// shortBed is a lab whose plan observes for ten minutes only, and has no end of its window: restarts cost the run's time.
func shortBed(t *testing.T, fault world.Fault) *bed {
	t.Helper()
	b := makeBed(t, "tls13-canary.yaml", fault)
	short := strings.Replace(b.lab.PlanSource(), "observe: {until: ", "observe: {for: 10m} # until ", 1)
	if short == b.lab.PlanSource() {
		t.Fatal("the example's observation has another form now")
	}
	short = strings.Replace(short, "advance_until:", "# advance_until:", 1)
	if err := os.WriteFile(b.file, []byte(short), 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

// lives are one run in many processes.
type lives struct {
	b     *bed
	store string
	dice  *rand.Rand
	n     int
	last  uint64         // newest record that was seen to be durable
	phase string         // after it
	died  map[string]int // how often after a record of that kind, by way and kind
}

// untilTheEnd starts processes until one ends by itself, and returns its exit code. Preflight has half an hour of the run's time for all
// its lives together, so there are few in it.
func (l *lives) untilTheEnd(t *testing.T) int {
	t.Helper()
	for range 3000 {
		l.n++
		most := 24
		if *everyRecord {
			most = 4
		}
		if l.phase == "" || l.phase == rollout.Preflight.String() {
			most = 60
		}
		code, killed := l.one(t, 1+l.dice.IntN(most))
		if !killed {
			return code
		}
	}
	t.Fatalf("did not end in %d lives\n%s", l.n, l.b.out)
	return 0
}

// one is one life of at most so many records.
func (l *lives) one(t *testing.T, records int) (code int, killed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "mortal", "-plan", l.b.file, "-store", l.store, "-speed", fmt.Sprint(l.b.clock.Speed),
		"-epoch", l.b.clock.Epoch.Format(time.RFC3339Nano), "-virtual", l.b.clock.Start.Format(time.RFC3339Nano), "-records", strconv.Itoa(records))
	cmd.Env = append(os.Environ(), l.b.io.env...)
	cmd.Stderr = l.b.out
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kind := ""
	for in := bufio.NewScanner(out); in.Scan(); {
		var seq uint64
		var what, way string
		if _, err := fmt.Sscanf(in.Text(), "record %d %s %s %s", &seq, &what, &way, &l.phase); err != nil || seq != l.last+1 {
			t.Errorf("after record %d came %q, %v", l.last, in.Text(), err)
		}
		l.last, kind = seq, way+" "+what
		fmt.Fprintln(l.b.out, in.Text())
	}
	err = cmd.Wait()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return exitOK, false
	case !failed:
		t.Fatal(err)
	case exit.Exited():
		return exit.ExitCode(), false
	}
	l.died[kind]++
	return 0, true
}

// check looks at what is left: the journal, and the writes that the lab received.
func (l *lives) check(t *testing.T) {
	t.Helper()
	s, err := sqlite.OpenReadOnly(t.Context(), l.store)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // only read
	runs, err := s.List(t.Context())
	if err != nil || len(runs) != 1 || runs[0].Records < l.last {
		t.Fatalf("want one run of %d records, got %+v, %v", l.last, runs, err)
	}
	records, err := store.Read(t.Context(), s, runs[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	var run rollout.Run
	missed := map[string]bool{}
	for _, rec := range records {
		run, _ = rollout.Next(run, rec)
		if kind := run.Way.String() + " " + rollout.Kind(rec.Event); l.died[kind] == 0 {
			missed[kind] = true
		}
	}
	t.Logf("%d lives, %d records, killed after %v, never after %v", l.n, len(records), l.died, missed)
	if len(l.died) < 4 || l.n < 15 {
		t.Errorf("only %d lives: the kills do not cover the run", l.n)
	}
	if run.End == nil || len(run.Outstanding()) > 0 {
		t.Errorf("the journal ends as %+v with %v outstanding", run.End, run.Outstanding())
	}
	for lever, calls := range l.b.writes(time.Time{}) {
		if diff := cmp.Diff(compacted(calls), calls); diff != "" {
			t.Errorf("%s: a write was repeated that had landed (-without +with):\n%s", lever, diff)
		}
	}
}

// compacted leaves out writes that repeat the one before them. The rehearsal is the exception: it writes what is there already.
func compacted(calls []string) []string {
	rehearsal := slices.Clone(calls[:min(1, len(calls))])
	rest := calls[len(rehearsal):]
	for len(rest) > 0 && len(rehearsal) > 0 && rest[0] == rehearsal[0] {
		rehearsal, rest = append(rehearsal, rest[0]), rest[1:] // preflight may have to begin anew
	}
	return append(rehearsal, slices.Compact(slices.Clone(rest))...)
}
