package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tlsroll/tlsroll/plans"
)

func newSchema(io stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a plan (draft-07, for editors)",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.out.Write(plans.Schema())
			return err
		},
	}
}

func newExplain(io stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "explain KEY",
		Short: "Say what a key of a plan means, as dns.zero or steps.shift.bake",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, ok := plans.Explain(args[0])
			if !ok {
				return &exitError{code: exitInvalid, err: errors.New("a plan has no key " + args[0]), hint: "tlsroll schema lists them all"}
			}
			fmt.Fprintln(io.out, text)
			return nil
		},
	}
}
