// Package etcd keeps journals and claims in an etcd cluster, for several controllers on several machines.
//
// # Laws
//
//   - A claim is keys on a lease. The lease is kept alive by Renew alone, never in the background: what stops renewing, because it died or
//     because it stands still, loses the claim.
//   - Every write is one transaction that also compares the claim's keys and the run's head. A lease that ran out, an older epoch and a
//     second writer are refused by the cluster, whatever the controller believes.
//   - An epoch is a durable counter beside the lease, raised in the transaction that takes the claim.
//
// # Choices
//
// The design keeps the rows of minutes out of etcd. They are in it here, compressed: a run cannot be replayed by another controller
// without them, because what it decided and the numbers of its commands follow from them. The canary of rollout's testdata, which goes back
// after an hour, takes 0.5 MB: 337 records and 152 batches of minutes, which compression makes an eighth. A cluster with the default quota
// of 2 GiB holds some thousands of such runs; remove what is old.
//
// Servers before 3.5.14 are refused: 3.5.0 to 3.5.2 could come apart, and a single member before it could lose a write.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/tlsroll/tlsroll/controller/store"
)

const (
	defaultPrefix  = "/tlsroll/"
	requestTimeout = 3 * time.Second
	dialTimeout    = 5 * time.Second
	// MinTTL is the shortest claim: etcd counts whole seconds, and a lease must outlast an election.
	MinTTL = 2 * time.Second
)

// Options say where the cluster is. Endpoints are required.
type Options struct {
	Endpoints []string // host:port or URLs
	Prefix    string   // of every key; default /tlsroll/
	Client    clientv3.Config
}

// Store is a cluster. See [github.com/tlsroll/tlsroll/controller/store.Store].
type Store struct {
	client *clientv3.Client
	prefix string
	known  known
}

var _ store.Store = (*Store)(nil)

// Open connects to a cluster. It fails when no member answers, or when one is too old to be trusted.
func Open(ctx context.Context, o Options) (*Store, error) {
	cfg := o.Client
	cfg.Endpoints, cfg.Logger = o.Endpoints, zap.NewNop()
	if cfg.DialTimeout == 0 {
		cfg.DialTimeout = dialTimeout
	}
	client, err := clientv3.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to etcd %s: %w", strings.Join(o.Endpoints, ", "), err)
	}
	s := &Store{client: client, prefix: o.Prefix}
	if s.prefix == "" {
		s.prefix = defaultPrefix
	}
	if err := s.checkVersions(ctx, o.Endpoints); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return s, nil
}

// Close ends the connection. Claims stay until they run out.
func (s *Store) Close() error { return s.client.Close() }

// checkVersions asks every member that answers; one must.
func (s *Store) checkVersions(ctx context.Context, endpoints []string) error {
	var errs []error
	for _, e := range endpoints {
		limited, cancel := context.WithTimeout(ctx, requestTimeout)
		status, err := s.client.Status(limited, e)
		cancel()
		if err != nil {
			errs = append(errs, fmt.Errorf("etcd member %s: %w", e, err))
			continue
		}
		if !atLeast(status.Version, 3, 5, 14) {
			return fmt.Errorf("etcd member %s is version %s; before 3.5.14 etcd could lose or mix up data: upgrade it", e, status.Version)
		}
	}
	if len(errs) == len(endpoints) {
		return errors.Join(errs...)
	}
	return nil
}

func atLeast(version string, want ...int) bool {
	parts := strings.Split(version, ".")
	for i, w := range want {
		n := 0
		if i < len(parts) {
			n, _ = strconv.Atoi(parts[i]) // what is no number counts as 0, and is too old
		}
		if n != w {
			return n > w
		}
	}
	return true
}

// The keys. Names are escaped, so that one cannot reach into another's.

func (s *Store) claimKey(key string) string { return s.prefix + "claim/" + url.PathEscape(key) }
func (s *Store) epochKey(key string) string { return s.prefix + "epoch/" + url.PathEscape(key) }
func (s *Store) runKey(id string) string    { return s.prefix + "run/" + url.PathEscape(id) }
func (s *Store) entries(id string) string   { return s.prefix + "j/" + url.PathEscape(id) + "/" }
func (s *Store) rows(id string) string      { return s.prefix + "rows/" + url.PathEscape(id) + "/" }

func (s *Store) entryKey(id string, seq uint64) string {
	return fmt.Sprintf("%s%020d", s.entries(id), seq)
}

// limited bounds one request.
func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, requestTimeout)
}

// commit makes a transaction.
func (s *Store) commit(ctx context.Context, when []clientv3.Cmp, then []clientv3.Op) (*clientv3.TxnResponse, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	return s.client.Txn(ctx).If(when...).Then(then...).Commit()
}
