package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/sqlite"
)

// standbyPause is how often a standby looks whether the store or the claim is free.
const standbyPause = time.Second

// openedStore is a store that somebody must close.
type openedStore interface {
	store.Store
	Close() error
}

// storeFlag adds --store to a command and returns where its value goes.
func storeFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("store", "", "journal: sqlite:PATH (default a file in the state directory)")
}

// storePath resolves --store: a path, or sqlite:PATH; the default is a file in the user's state directory.
func storePath(io stdio, flag string) (string, error) {
	if flag != "" {
		if kind, path, ok := strings.Cut(flag, ":"); ok && kind == "sqlite" {
			return strings.TrimPrefix(path, "//"), nil
		}
		if strings.Contains(flag, "://") {
			return "", usage(fmt.Errorf("store %q: this release keeps journals in a file: --store sqlite:PATH", flag))
		}
		return flag, nil
	}
	dir := io.getenv("XDG_STATE_HOME")
	if dir == "" {
		home := io.getenv("HOME")
		if home == "" {
			return "", usage(errors.New("neither XDG_STATE_HOME nor HOME is set: name the store with --store PATH"))
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "tlsroll", "journal.db"), nil
}

// openStore opens the store for writing. A file that another process writes to is a precondition that failed; a standby waits for it.
func openStore(ctx context.Context, path string, standby func(string)) (openedStore, error) {
	for told := false; ; told = true {
		s, err := sqlite.Open(ctx, path)
		locked, ok := errors.AsType[*sqlite.LockedError](err)
		switch {
		case err == nil:
			return s, nil
		case !ok:
			return nil, err
		case standby == nil:
			return nil, &exitError{code: exitPrecondition, err: err}
		}
		if !told {
			standby("standing by: the store is in use by " + locked.Holder)
		}
		if err := pause(ctx, standbyPause); err != nil {
			return nil, err
		}
	}
}

// readStore opens the store for reading.
func readStore(ctx context.Context, path string) (openedStore, error) {
	s, err := sqlite.OpenReadOnly(ctx, path)
	if err != nil {
		return nil, &exitError{code: exitPrecondition, err: err, hint: "nothing was run with this store yet, or --store names another file"}
	}
	return s, nil
}

// pause waits on the wall clock.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
