package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
)

func newEvents(io stdio) *cobra.Command {
	var verify, again bool
	cmd := &cobra.Command{
		Use:   "events [RUN]",
		Short: "Print a run's journal; without a run, the latest one's",
		Args:  cobra.MaximumNArgs(1),
	}
	output, at := outputFlag(cmd, "lines", "json"), storeFlag(cmd)
	cmd.Flags().BoolVar(&verify, "verify", false, "only check numbers, hash chain and digests")
	cmd.Flags().BoolVar(&again, "rejudge", false, "judge the stored minutes again and compare with what was decided")
	cmd.MarkFlagsMutuallyExclusive("verify", "rejudge")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if again {
			return rejudge(cmd.Context(), io, *at, args, *output)
		}
		records, err := readRun(cmd.Context(), io, *at, args)
		switch {
		case err != nil:
			return err
		case verify:
			fmt.Fprintf(io.out, "%d records, hash chain and digests are whole\n", len(records))
			return nil
		case *output == "json":
			return view.EventsJSON(io.out, records)
		}
		return view.Events(io.out, records)
	}
	return cmd
}

func newStatus(io stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show where a run is: its steps, the four weights, its guardrails; without a run, the latest one",
		Args:  cobra.MaximumNArgs(1),
	}
	output, at := outputFlag(cmd, "text", "json"), storeFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		records, err := readRun(cmd.Context(), io, *at, args)
		if err != nil {
			return err
		}
		run := rollout.Replay(records)
		if *output == "json" {
			return view.RunJSON(io.out, run)
		}
		path, err := storePath(io, *at)
		if err != nil {
			return err
		}
		writer, err := writerOf(cmd.Context(), io, path, run)
		if err != nil {
			return err
		}
		return view.Status(io.out, run, writer)
	}
	return cmd
}

// readRun reads the run that is named, or the latest.
func readRun(ctx context.Context, io stdio, at string, args []string) ([]rollout.Record, error) {
	s, id, err := openRun(ctx, io, at, args)
	if err != nil {
		return nil, err
	}
	defer s.Close() //nolint:errcheck // only read
	records, err := store.Read(ctx, s, id)
	return records, unknownRun(err)
}

// openRun opens the store and finds the run that is named, or the latest. The caller closes the store.
func openRun(ctx context.Context, io stdio, at string, args []string) (s openedStore, id rollout.RunID, err error) {
	path, err := storePath(io, at)
	if err != nil {
		return nil, "", err
	}
	if s, err = readStore(ctx, io, path); err != nil {
		return nil, "", err
	}
	if len(args) > 0 {
		return s, rollout.RunID(args[0]), nil
	}
	runs, err := s.List(ctx)
	if err == nil && len(runs) == 0 {
		err = &exitError{code: exitPrecondition, err: errors.New("the store " + path + " holds no run")}
	}
	if err != nil {
		return nil, "", errors.Join(err, s.Close())
	}
	return s, runs[0].ID, nil
}

// unknownRun says what to do when there is no such run.
func unknownRun(err error) error {
	if errors.Is(err, store.ErrNoRun) {
		return &exitError{code: exitInvalid, err: err, hint: "tlsroll status without a name shows the latest run"}
	}
	return err
}
