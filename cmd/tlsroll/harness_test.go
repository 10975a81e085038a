package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/plans/examples"
	"github.com/tlsroll/tlsroll/providers/lab"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// testSpeed is run seconds a wall second. A night takes two and a half minutes of waiting and little work, so many run at once; and a
// machine that is busy for seconds does not look like a source without data.
const testSpeed = 60

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tlsroll": func() {
			os.Exit(run(context.Background(), os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Environ()}))
		},
		"mortal": mortal,
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
		},
	})
}

// exits runs a program and compares its exit code: exits 3 tlsroll validate bad.yaml.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("%s exited with %s, want %s", strings.Join(args[1:], " "), code, args[0])
	}
}

// bed is a lab with a plan, ready for a run in this process.
type bed struct {
	lab   *lab.Lab
	plan  *plans.Plan
	file  string
	clock plans.Clock
	io    stdio
	out   *buffer
	dir   string
}

// buffer may be written by several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// makeBed starts a lab for an example. Its clock begins half a minute before the scheduled start.
func makeBed(t *testing.T, example string, fault world.Fault) *bed {
	t.Helper()
	return makeBedWith(t, example, world.Config{Fault: fault})
}

func makeBedWith(t *testing.T, example string, cfg world.Config) *bed {
	t.Helper()
	cfg.Seed = 7
	text, ok := examples.Source(example)
	if !ok {
		t.Fatalf("no example %s", example)
	}
	p, problems := plans.Parse(example, []byte(text))
	if problems.HasErrors() {
		t.Fatal(problems.Render([]byte(text)))
	}
	start, scheduled, err := p.StartAt()
	if err != nil {
		t.Fatal(err)
	}
	if !scheduled {
		start = time.Date(2026, 3, 3, 2, 0, 0, 0, p.Location())
	}
	b := &bed{dir: t.TempDir(), clock: plans.Clock{Epoch: time.Now(), Start: start.Add(-30 * time.Second), Speed: testSpeed}, out: &buffer{}}
	b.lab, err = lab.Start(t.Context(), lab.Options{Plan: text, Clock: b.clock, Dir: b.dir, World: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.lab.Close)
	b.file = filepath.Join(b.dir, "plan.yaml")
	if err := os.WriteFile(b.file, []byte(b.lab.PlanSource()), 0o600); err != nil {
		t.Fatal(err)
	}
	b.plan, problems = plans.Parse(b.file, []byte(b.lab.PlanSource()))
	if problems.HasErrors() {
		t.Fatal(problems.Render([]byte(b.lab.PlanSource())))
	}
	b.io = stdio{out: b.out, err: b.out, env: []string{"USER=test"}}
	for k, v := range b.lab.Env() {
		b.io.env = append(b.io.env, k+"="+v)
	}
	return b
}

// state is what the lab has configured now, in words.
func (b *bed) state() string {
	var s plans.State
	b.lab.With(func(now time.Time, w *world.World) { s = w.State(now) })
	return stateText(b.plan, s)
}

// writes are the calls that changed or rehearsed something, as plan prints them, by lever.
func (b *bed) writes(from time.Time) map[string][]string {
	out := map[string][]string{}
	for _, c := range b.lab.Calls() {
		if c.Write && c.Status == 200 && !c.Virtual.Before(from) {
			lever, _, _ := strings.Cut(c.API, ":")
			out[lever] = append(out[lever], callText(c.API, c.Params))
		}
	}
	return out
}

// command runs the program and returns what it printed, and its exit code.
func (b *bed) command(t *testing.T, args ...string) (printed string, code int) {
	t.Helper()
	out := &buffer{}
	io := b.io
	io.out, io.err = out, out
	code = run(t.Context(), args, io)
	return out.String(), code
}

// run carries the plan out in this process. order may give orders as a person would.
func (b *bed) run(t *testing.T, order func(rollout.Run) rollout.Event) rollout.Run {
	t.Helper()
	l := local{
		claimTTL: engine.LeaseTTL,
		io:       b.io, plan: b.plan, clock: b.clock, store: filepath.Join(b.dir, "journal.db"), order: order, log: filepath.Join(b.dir, "log.json"),
		watch: func(_, _ rollout.Run, _ rollout.Record) {},
		tell:  func(u rollout.Urgency, text string) { fmt.Fprintf(b.out, "%s %s\n", u, text) },
		talk:  func(text string) { fmt.Fprintln(b.out, text) },
	}
	r, err := l.do(t.Context())
	if err != nil {
		t.Fatalf("run: %v\n%s", err, b.out)
	}
	return r
}
