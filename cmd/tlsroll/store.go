package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/spf13/cobra"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/etcd"
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
	return cmd.Flags().String("store", "", "journal: sqlite:PATH, or etcd://HOST:PORT,…/PREFIX?ca=FILE&cert=FILE&key=FILE (default a file in the state directory)")
}

// storePath resolves --store: a path, sqlite:PATH or an etcd URL; the default is a file in the user's state directory.
func storePath(io stdio, flag string) (string, error) {
	if flag != "" {
		if kind, path, ok := strings.Cut(flag, ":"); ok && kind == "sqlite" {
			return strings.TrimPrefix(path, "//"), nil
		}
		if strings.Contains(flag, "://") && !isCluster(flag) {
			return "", usage(fmt.Errorf("store %q: a journal is kept in a file, --store sqlite:PATH, or in etcd, --store etcd://HOST:PORT", flag))
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

func isCluster(where string) bool { return strings.HasPrefix(where, "etcd://") }

// openCluster connects to etcd. User and password come from the environment.
func openCluster(ctx context.Context, io stdio, text string) (openedStore, error) {
	o, err := etcd.ParseURL(text)
	if err != nil {
		return nil, usage(err)
	}
	o.Client.Username, o.Client.Password = io.getenv("TLSROLL_ETCD_USER"), io.getenv("TLSROLL_ETCD_PASSWORD")
	s, err := etcd.Open(ctx, o)
	if err != nil {
		return nil, &exitError{code: exitPrecondition, err: err, hint: "the cluster must answer before anything is touched"}
	}
	return s, nil
}

// openStore opens the store for writing. A file that another process writes to is a precondition that failed; a standby waits for it.
func openStore(ctx context.Context, io stdio, path string, standby func(string)) (openedStore, error) {
	if isCluster(path) {
		return openCluster(ctx, io, path)
	}
	return await(ctx, standby, func() (openedStore, string, error) {
		s, err := sqlite.Open(ctx, path)
		locked, ok := errors.AsType[*sqlite.LockedError](err)
		if !ok {
			return s, "", err
		}
		return nil, "the store is in use by " + locked.Holder, &exitError{code: exitPrecondition, err: err, hint: standbyHint}
	})
}

const standbyHint = "wait for it, or start with --standby, which goes on when it stops or dies"

// await tries until nobody is in the way, once a second, and tells standby who is when that changes. Without standby it tries once.
func await[T any](ctx context.Context, standby func(string), try func() (got T, inTheWay string, err error)) (T, error) {
	told := ""
	return backoff.Retry(ctx, func() (T, error) {
		got, inTheWay, err := try()
		switch {
		case err == nil:
			return got, nil
		case inTheWay == "" || standby == nil:
			return got, backoff.Permanent(err)
		case inTheWay != told:
			told = inTheWay
			standby("standing by: " + inTheWay)
		}
		return got, err
	}, backoff.WithBackOff(backoff.NewConstantBackOff(standbyPause)), backoff.WithMaxElapsedTime(0))
}

// readStore opens the store for reading.
func readStore(ctx context.Context, io stdio, path string) (openedStore, error) {
	if isCluster(path) {
		return openCluster(ctx, io, path)
	}
	s, err := sqlite.OpenReadOnly(ctx, path)
	if err != nil {
		return nil, &exitError{code: exitPrecondition, err: err, hint: "nothing was run with this store yet, or --store names another file"}
	}
	return s, nil
}

// writerOf names the process that works on a run; "" when there is none.
func writerOf(ctx context.Context, io stdio, path string, run rollout.Run) (string, error) {
	if !isCluster(path) {
		return sqlite.Writer(path)
	}
	s, err := readStore(ctx, io, path)
	if err != nil {
		return "", err
	}
	defer s.Close() //nolint:errcheck // only read
	held, err := s.Claims(ctx)
	for _, h := range held {
		if run.Plan != nil && slices.Contains(rollout.Keys(run.Plan), h.Key) {
			return h.Holder, nil
		}
	}
	return "", err
}
