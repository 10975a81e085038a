package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/plans"
)

func newValidate(io stdio) *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "validate FILE…",
		Short: "Check plans, offline and without credentials",
		Args:  cobra.MinimumNArgs(1),
	}
	output := outputFlag(cmd, "text", "json")
	cmd.Flags().BoolVar(&strict, "strict", false, "take warnings for errors")
	cmd.RunE = func(_ *cobra.Command, args []string) error { return runValidate(io, args, *output, strict) }
	return cmd
}

func runValidate(io stdio, files []string, output string, strict bool) error {
	out := view.Validation{Schema: "tlsroll/validation.v1", Valid: true}
	for _, file := range files {
		source, err := readPlan(io, file)
		if err != nil {
			return err
		}
		p, problems := plans.Parse(file, source)
		bad := problems.HasErrors() || strict && len(problems) > 0
		out.Valid = out.Valid && !bad
		out.Add(file, p, problems)
		if output == "text" {
			fmt.Fprint(io.err, problems.Render(source))
			if !bad {
				fmt.Fprintf(io.out, "%s: ok, %s\n", file, plans.Digest(p))
			}
		}
	}
	if output == "json" {
		e := json.NewEncoder(io.out)
		e.SetIndent("", "  ")
		if err := e.Encode(out); err != nil {
			return err
		}
	}
	if !out.Valid {
		return &exitError{code: exitInvalid}
	}
	return nil
}
