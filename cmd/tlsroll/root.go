package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes; design section 11. They are stable: scripts and pagers branch on them.
const (
	exitOK           = 0
	exitUnexpected   = 1
	exitChanges      = 2 // plan --detailed-exitcode only
	exitInvalid      = 3
	exitPrecondition = 4
	exitRolledBack   = 5
	exitUnverified   = 6
	exitStopped      = 7
	exitUsage        = 64
	exitTerminated   = 143
)

// stdio is everything a command touches of the process.
type stdio struct {
	in  io.Reader
	out io.Writer // data
	err io.Writer // talk
	env []string  // KEY=value
}

// getenv returns the last value of a variable, or "".
func (s stdio) getenv(key string) string {
	for _, entry := range slices.Backward(s.env) {
		if v, ok := strings.CutPrefix(entry, key+"="); ok {
			return v
		}
	}
	return ""
}

// exitError ends the program with a code. Its text, if any, is printed as an error; the hint says what to do.
type exitError struct {
	code int
	err  error
	hint string
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// run is the whole program. It returns the exit code.
func run(ctx context.Context, args []string, std stdio) int {
	root := newRoot(std) //nolint:contextcheck // cobra hands the context to the command
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	exit, ok := errors.AsType[*exitError](err)
	if !ok {
		exit = &exitError{code: exitUnexpected, err: err}
	}
	if text := exit.Error(); text != "" {
		fmt.Fprintf(std.err, "tlsroll: error: %s\n", text)
	}
	if exit.hint != "" {
		fmt.Fprintf(std.err, "tlsroll: hint: %s\n", exit.hint)
	}
	return exit.code
}

func newRoot(std stdio) *cobra.Command {
	root := &cobra.Command{
		Use:           "tlsroll",
		Short:         "Roll out a TLS change on a CDN as a canary, and roll it back by itself",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetIn(std.in)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.AddCommand(newDemo(std), newLab(std), newValidate(std), newPlan(std), newApply(std), newEvents(std), newStatus(std), newBacktest(std), newSimulate(std), newSchema(std), newExplain(std), newVersion(std))
	for _, c := range append(root.Commands(), root) {
		args := c.Args
		c.Args = func(cmd *cobra.Command, got []string) error {
			if args == nil {
				return nil
			}
			return usage(args(cmd, got))
		}
	}
	return root
}

// usage marks an error as the caller's.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: exitUsage, err: err, hint: "tlsroll help shows the commands, tlsroll COMMAND --help its flags"}
}

// outputFlag adds -o to a command and returns where its value goes.
func outputFlag(cmd *cobra.Command, values ...string) *string {
	o := cmd.Flags().StringP("output", "o", values[0], "output: "+strings.Join(values, ", "))
	check := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		for _, v := range values {
			if *o == v {
				if check != nil {
					return check(cmd, args)
				}
				return nil
			}
		}
		return usage(fmt.Errorf("output %q is not one of %s", *o, strings.Join(values, ", ")))
	}
	return o
}
