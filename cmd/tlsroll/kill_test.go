package main

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// A real process with a real journal is killed again and again, forward and on the way back, and started with the same command: the end
// is the same, and no write is made that had landed.
func TestKilledAndStartedAgain(t *testing.T) {
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
			b := makeBed(t, "tls13-canary.yaml", test.fault)
			short := strings.Replace(b.lab.PlanSource(), "observe: {until: ", "observe: {for: 10m} # until ", 1)
			if short == b.lab.PlanSource() {
				t.Fatal("the example's observation has another form now")
			}
			short = strings.Replace(short, "advance_until:", "# advance_until:", 1) // restarts cost the run's time
			if err := os.WriteFile(b.file, []byte(short), 0o600); err != nil {
				t.Fatal(err)
			}
			before := b.state()
			kills, code := applyAndKill(t, b, rand.New(rand.NewPCG(test.seed, 1)))
			if code != test.code {
				t.Fatalf("ended with %d after %d kills, want %d\n%s", code, kills, test.code, b.out)
			}
			if kills < 5 {
				t.Errorf("was killed only %d times", kills)
			}
			if (b.state() == before) != (test.code == exitRolledBack) {
				t.Errorf("before %s\nafter  %s", before, b.state())
			}
			for lever, calls := range b.writes(time.Time{}) {
				if diff := cmp.Diff(compacted(calls), calls); diff != "" {
					t.Errorf("%s: a write was repeated that had landed (-without +with):\n%s", lever, diff)
				}
			}
		})
	}
}

// compacted leaves out writes that repeat the one before them. The rehearsal is the exception: it writes what is there already.
func compacted(calls []string) []string {
	var out []string
	for i, c := range calls {
		if i > 1 && c == calls[i-1] {
			continue
		}
		out = append(out, c)
	}
	return out
}

// applyAndKill starts apply until it ends by itself, and kills it after a few lines of output each time.
func applyAndKill(t *testing.T, b *bed, dice *rand.Rand) (kills, code int) {
	t.Helper()
	for range 200 {
		cmd := exec.CommandContext(t.Context(), "tlsroll", "apply", "--local", "--store", filepath.Join(b.dir, "journal.db"),
			"--speed", fmt.Sprint(b.clock.Speed), "--clock-epoch", b.clock.Epoch.Format(time.RFC3339Nano),
			"--virtual-start", b.clock.Start.Format(time.RFC3339Nano), b.file)
		cmd.Env = append(os.Environ(), b.io.env...)
		cmd.Stderr = b.out
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		left := 2 + dice.IntN(12)
		killed := false
		for in := bufio.NewScanner(out); in.Scan(); left-- {
			fmt.Fprintln(b.out, in.Text())
			if left == 0 {
				killed = cmd.Process.Kill() == nil
			}
		}
		err = cmd.Wait()
		exit, failed := errors.AsType[*exec.ExitError](err)
		switch {
		case err == nil:
			return kills, exitOK
		case !failed:
			t.Fatal(err)
		case exit.Exited():
			return kills, exit.ExitCode()
		case !killed:
			t.Fatalf("ended by %v", err)
		}
		kills++
	}
	t.Fatalf("did not end in 200 starts\n%s", b.out)
	return 0, 0
}
