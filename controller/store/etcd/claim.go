package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/tlsroll/tlsroll/controller/store"
)

// heldValue is what a claim's key holds, and epochValue what outlives it.
type (
	heldValue struct {
		Key    string `json:"key"`
		Holder string `json:"holder"`
		Epoch  int64  `json:"epoch"`
		Since  int64  `json:"since"` // milliseconds of Unix time
	}
	epochValue struct {
		Epoch    int64 `json:"epoch"`
		Released bool  `json:"released"`
	}
)

// standing is a claim's key as the cluster has it now.
type standing struct {
	heldValue
	raw      string // "" when nobody holds it
	revision int64
	lease    clientv3.LeaseID
	last     epochValue
	lastRev  int64
}

var errMoved = errors.New("the claim changed while it was being taken")

// Claim takes every key or none. A lease counts whole seconds, so a claim may last up to one longer than it was asked for.
func (s *Store) Claim(ctx context.Context, keys []string, holder string, ttl time.Duration) (store.Claim, error) {
	c := store.Claim{Keys: slices.Clone(keys), Holder: holder}
	err := store.CheckTerms(keys, ttl, MinTTL)
	if err == nil {
		for err = errMoved; errors.Is(err, errMoved); {
			err = s.try(ctx, &c, ttl)
		}
	}
	if err != nil {
		return store.Claim{}, fmt.Errorf("claim %v: %w", keys, err)
	}
	return c, nil
}

// try takes the keys as they are now.
func (s *Store) try(ctx context.Context, c *store.Claim, ttl time.Duration) error {
	now, err := s.standings(ctx, c.Keys)
	if err != nil {
		return err
	}
	c.Epoch, c.Lapsed = 0, false
	for _, k := range now {
		if k.raw != "" && k.Holder != c.Holder {
			return s.heldBy(ctx, k)
		}
		c.Epoch = max(c.Epoch, k.last.Epoch+1)
		c.Lapsed = c.Lapsed || k.last.Epoch > 0 && !k.last.Released
	}
	lease, err := s.grant(ctx, ttl)
	if err != nil {
		return err
	}
	when, then := s.taking(*c, now, lease)
	got, err := s.commit(ctx, when, then)
	if err == nil && !got.Succeeded {
		err = errMoved
	}
	if err != nil {
		return errors.Join(err, s.revoke(ctx, lease))
	}
	return nil
}

func (s *Store) taking(c store.Claim, now []standing, lease clientv3.LeaseID) (when []clientv3.Cmp, then []clientv3.Op) {
	since := time.Now().UnixMilli()
	for i, key := range c.Keys {
		when = append(when, clientv3.Compare(clientv3.ModRevision(s.claimKey(key)), "=", now[i].revision),
			clientv3.Compare(clientv3.ModRevision(s.epochKey(key)), "=", now[i].lastRev))
		then = append(then, clientv3.OpPut(s.claimKey(key), encode(heldValue{key, c.Holder, c.Epoch, since}), clientv3.WithLease(lease)),
			clientv3.OpPut(s.epochKey(key), encode(epochValue{Epoch: c.Epoch})))
	}
	return when, then
}

func (s *Store) grant(ctx context.Context, ttl time.Duration) (clientv3.LeaseID, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	l, err := s.client.Grant(ctx, int64(math.Ceil(ttl.Seconds())))
	if err != nil {
		return 0, err
	}
	return l.ID, nil
}

// revoke ends a lease that is of no use. One that cannot be ended runs out.
func (s *Store) revoke(ctx context.Context, lease clientv3.LeaseID) error {
	ctx, cancel := limited(context.WithoutCancel(ctx))
	defer cancel()
	_, err := s.client.Revoke(ctx, lease)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	return err
}

// standings reads the keys of a claim at one revision.
func (s *Store) standings(ctx context.Context, keys []string) ([]standing, error) {
	var ops []clientv3.Op
	for _, key := range keys {
		ops = append(ops, clientv3.OpGet(s.claimKey(key)), clientv3.OpGet(s.epochKey(key)))
	}
	got, err := s.commit(ctx, nil, ops)
	if err != nil {
		return nil, err
	}
	all := make([]standing, len(keys))
	for i := range keys {
		for _, kv := range got.Responses[2*i].GetResponseRange().Kvs {
			all[i].raw, all[i].revision, all[i].lease = string(kv.Value), kv.ModRevision, clientv3.LeaseID(kv.Lease)
			if err := json.Unmarshal(kv.Value, &all[i].heldValue); err != nil {
				return nil, fmt.Errorf("claim on %s: %w", keys[i], err)
			}
		}
		for _, kv := range got.Responses[2*i+1].GetResponseRange().Kvs {
			all[i].lastRev = kv.ModRevision
			if err := json.Unmarshal(kv.Value, &all[i].last); err != nil {
				return nil, fmt.Errorf("epoch of %s: %w", keys[i], err)
			}
		}
	}
	return all, nil
}

func (s *Store) heldBy(ctx context.Context, k standing) error {
	return &store.HeldError{Held: s.told(ctx, k.heldValue, k.lease)}
}

// told is a claim in the contract's words.
func (s *Store) told(ctx context.Context, h heldValue, lease clientv3.LeaseID) store.Held {
	ctx, cancel := limited(ctx)
	defer cancel()
	held := store.Held{Key: h.Key, Holder: h.Holder, Epoch: h.Epoch, Since: time.UnixMilli(h.Since), Until: time.Now()}
	if l, err := s.client.TimeToLive(ctx, lease); err == nil && l.TTL > 0 {
		held.Until = time.Now().Add(time.Duration(l.TTL) * time.Second)
	}
	return held
}

// stand returns what must be compared so that a write counts only while the claim stands, or ErrFenced when it does not.
func (s *Store) stand(ctx context.Context, c store.Claim) ([]clientv3.Cmp, []standing, error) {
	if len(c.Keys) == 0 {
		return nil, nil, store.ErrFenced
	}
	now, err := s.standings(ctx, c.Keys)
	if err != nil {
		return nil, nil, err
	}
	var when []clientv3.Cmp
	for i, k := range now {
		if k.raw == "" || k.Holder != c.Holder || k.Epoch != c.Epoch {
			return nil, nil, store.ErrFenced
		}
		when = append(when, clientv3.Compare(clientv3.Value(s.claimKey(c.Keys[i])), "=", k.raw))
	}
	return when, now, nil
}

// Renew extends a claim that still stands.
func (s *Store) Renew(ctx context.Context, c store.Claim, ttl time.Duration) error {
	if err := s.renew(ctx, c, ttl); err != nil {
		return fmt.Errorf("renew claim %v: %w", c.Keys, err)
	}
	return nil
}

func (s *Store) renew(ctx context.Context, c store.Claim, ttl time.Duration) error {
	when, now, err := s.stand(ctx, c)
	if err != nil {
		return err
	}
	if err := store.CheckTerms(c.Keys, ttl, MinTTL); err != nil {
		return err
	}
	old := now[0].lease
	if s.keep(ctx, old, ttl) {
		return nil
	}
	lease, err := s.grant(ctx, ttl) // the lease is of another length, or is just running out
	if err != nil {
		return err
	}
	var then []clientv3.Op
	for i, key := range c.Keys {
		then = append(then, clientv3.OpPut(s.claimKey(key), now[i].raw, clientv3.WithLease(lease)))
	}
	got, err := s.commit(ctx, when, then)
	if err == nil && !got.Succeeded {
		err = store.ErrFenced
	}
	if err != nil {
		return errors.Join(err, s.revoke(ctx, lease))
	}
	return s.revoke(ctx, old)
}

// keep extends a lease of the right length.
func (s *Store) keep(ctx context.Context, lease clientv3.LeaseID, ttl time.Duration) bool {
	ctx, cancel := limited(ctx)
	defer cancel()
	l, err := s.client.KeepAliveOnce(ctx, lease)
	return err == nil && l.TTL == int64(math.Ceil(ttl.Seconds()))
}

// Release gives a claim up. The epoch stays, so that it never goes back.
func (s *Store) Release(ctx context.Context, c store.Claim) error {
	when, now, err := s.stand(ctx, c)
	if errors.Is(err, store.ErrFenced) {
		return nil
	}
	if err == nil {
		var then []clientv3.Op
		for _, key := range c.Keys {
			then = append(then, clientv3.OpDelete(s.claimKey(key)), clientv3.OpPut(s.epochKey(key), encode(epochValue{Epoch: c.Epoch, Released: true})))
		}
		_, err = s.commit(ctx, when, then) // a claim that was lost meanwhile is not an error
	}
	if err == nil {
		err = s.revoke(ctx, now[0].lease)
	}
	if err != nil {
		return fmt.Errorf("release claim %v: %w", c.Keys, err)
	}
	return nil
}

// Claims returns what is held now, sorted by key.
func (s *Store) Claims(ctx context.Context) ([]store.Held, error) {
	short, cancel := limited(ctx)
	defer cancel()
	got, err := s.client.Get(short, s.prefix+"claim/", clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	var all []store.Held
	for _, kv := range got.Kvs {
		var h heldValue
		if err := json.Unmarshal(kv.Value, &h); err != nil {
			return nil, fmt.Errorf("list claims: %s: %w", kv.Key, err)
		}
		all = append(all, s.told(ctx, h, clientv3.LeaseID(kv.Lease)))
	}
	slices.SortFunc(all, func(a, b store.Held) int { return strings.Compare(a.Key, b.Key) })
	return all, nil
}

// encode writes one of our own values, which always can be written.
func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("etcd: %#v cannot be written as JSON: %v", v, err))
	}
	return string(data)
}
