package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tlsroll/tlsroll/plans"
)

// maxPlan is one byte more than a plan may have, so that Parse sees that it is too large.
const maxPlan = 1<<20 + 1

// loadPlan reads and checks a plan. Problems are printed; with errors among them the error is exit 3.
func loadPlan(std stdio, path string) (*plans.Plan, error) {
	source, err := readPlan(std, path)
	if err != nil {
		return nil, err
	}
	p, problems := plans.Parse(path, source)
	fmt.Fprint(std.err, problems.Render(source))
	if problems.HasErrors() {
		return nil, &exitError{code: exitInvalid, err: fmt.Errorf("%s is not a plan that can be carried out; nothing was touched", path)}
	}
	return p, nil
}

func readPlan(std stdio, path string) ([]byte, error) {
	in := std.in
	if path != "-" {
		f, err := os.Open(path) //nolint:gosec // the user names the plan
		if err != nil {
			return nil, &exitError{code: exitInvalid, err: fmt.Errorf("read the plan: %w", err)}
		}
		defer f.Close() //nolint:errcheck // only read
		in = f
	}
	if in == nil {
		return nil, &exitError{code: exitInvalid, err: errors.New("read the plan: there is no standard input")}
	}
	source, err := io.ReadAll(io.LimitReader(in, maxPlan))
	if err != nil {
		return nil, &exitError{code: exitInvalid, err: fmt.Errorf("read the plan: %w", err)}
	}
	return source, nil
}
