package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
)

func newVersion(io stdio) *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs}
	output := outputFlag(cmd, "text", "json")
	cmd.RunE = func(*cobra.Command, []string) error {
		if *output == "json" {
			return json.NewEncoder(io.out).Encode(view.Build())
		}
		b := view.Build()
		fmt.Fprintf(io.out, "tlsroll %s %s %s\n", b.Version, b.Revision, b.Go)
		return nil
	}
	return cmd
}
