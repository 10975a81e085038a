package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The README's command blocks are run as they are printed, from the root. make test is what is running now, and the lab waits for Ctrl-C;
// the other tests are about them.
func TestReadmeCommandsWork(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"go run ./cmd/tlsroll demo":                   exitOK,
		"go run ./cmd/tlsroll demo --fault errors-10": 1, // go run turns every failure into 1; the program itself says 5
	}
	elsewhere := []string{"make test", "go run ./cmd/tlsroll lab --speed 60"}
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, command := range shellBlocks(string(text)) {
		if slices.Contains(elsewhere, command) {
			continue
		}
		code, known := want[command]
		if !known {
			t.Errorf("README shows %q, and no test runs it", command)
			continue
		}
		found++
		words := strings.Fields(command)
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Dir = filepath.Join("..", "..")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
			t.Errorf("%s: %v, want exit %d\n%s", command, err, code, out)
		}
		if code != exitOK && !strings.Contains(string(out), "exit status 5") {
			t.Errorf("%s did not end with 5\n%s", command, out)
		}
	}
	if found != len(want) {
		t.Errorf("README shows %d of the %d commands this test knows", found, len(want))
	}
}

// shellBlocks lists the lines of the sh blocks.
func shellBlocks(text string) []string {
	var out []string
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "```sh":
			inside = true
		case line == "```":
			inside = false
		case inside && line != "":
			out = append(out, line)
		}
	}
	return out
}
