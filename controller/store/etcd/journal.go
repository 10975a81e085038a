package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
)

const (
	entriesAPage = 1000 // of 300 to 600 bytes
	rowsAPage    = 50   // of a few thousand
)

// runValue is what a run's key holds.
type runValue struct {
	ID      rollout.RunID `json:"id"`
	Domain  string        `json:"domain"`
	Name    string        `json:"name"`
	Keys    []string      `json:"keys"`
	Started time.Time     `json:"started"`
	Seq     uint64        `json:"seq"`
	Hash    string        `json:"hash"`
	Ended   string        `json:"ended"`
}

func (r runValue) run() store.Run {
	return store.Run{ID: r.ID, Domain: r.Domain, Name: r.Name, Keys: r.Keys, Started: r.Started, Records: r.Seq, Ended: store.End(r.Ended)}
}

// Append makes a record durable, with the rows of its minutes and the run's new head, in one transaction.
func (s *Store) Append(ctx context.Context, c store.Claim, id rollout.RunID, rec rollout.Record) error {
	if err := s.append(ctx, c, id, rec); err != nil {
		return fmt.Errorf("append record %d of run %s: %w", rec.Seq, id, err)
	}
	return nil
}

// append makes one request when what it knows of the claim and of the run is still so, and looks again when the cluster says that it is not.
func (s *Store) append(ctx context.Context, c store.Claim, id rollout.RunID, rec rollout.Record) error {
	rows, err := s.rowsOf(id, rec)
	if err != nil {
		return err
	}
	for known := true; ; known = false {
		if !known {
			s.forget(c, id)
		}
		when, err := s.fence(ctx, c)
		if err != nil {
			return err
		}
		run, revision, err := s.head(ctx, id)
		if err != nil && !errors.Is(err, store.ErrNoRun) {
			return err
		}
		e, err := store.NewEntry(run.Hash, c.Epoch, rec)
		switch {
		case err != nil:
			return err
		case rec.Seq != run.Seq+1 && known:
			continue // it may be somebody else's that is not known here
		case rec.Seq != run.Seq+1:
			return s.again(ctx, id, e, run.Seq)
		case rec.Seq == 1:
			r, err := store.Begin(c, id, rec)
			if err != nil {
				return err
			}
			run = runValue{ID: id, Domain: r.Domain, Name: r.Name, Keys: r.Keys, Started: r.Started}
		}
		run.Seq, run.Hash = e.Seq, e.Hash
		when = append(when, clientv3.Compare(clientv3.ModRevision(s.runKey(string(id))), "=", revision))
		then := []clientv3.Op{clientv3.OpPut(s.entryKey(string(id), e.Seq), encode(e)), clientv3.OpPut(s.runKey(string(id)), encode(run))}
		got, err := s.commit(ctx, when, append(then, rows...))
		if err != nil {
			s.forget(c, id) // nobody knows what is there now
			return err
		}
		if got.Succeeded {
			s.remember(id, run, got.Header.Revision)
			return nil
		}
	}
}

// again accepts a record that is there already: whoever lost the answer to its first Append may not know that.
func (s *Store) again(ctx context.Context, id rollout.RunID, e store.Entry, last uint64) error {
	short, cancel := limited(ctx)
	defer cancel()
	got, err := s.client.Get(short, s.entryKey(string(id), e.Seq))
	if err != nil {
		return err
	}
	for _, kv := range got.Kvs {
		var there store.Entry
		if err := json.Unmarshal(kv.Value, &there); err == nil && there.Body == e.Body {
			return nil
		}
	}
	return fmt.Errorf("%w: the last is %d", store.ErrOrder, last)
}

// rowsOf puts a record's minutes beside it.
func (s *Store) rowsOf(id rollout.RunID, rec rollout.Record) ([]clientv3.Op, error) {
	digest, packed, err := store.Rows(rec)
	if err != nil || digest == "" {
		return nil, err
	}
	return []clientv3.Op{clientv3.OpPut(s.rows(string(id))+digest, string(packed))}, nil
}

// run reads a run's key, and at which revision it was written.
func (s *Store) run(ctx context.Context, id rollout.RunID) (r runValue, revision int64, err error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	got, err := s.client.Get(ctx, s.runKey(string(id)))
	if err != nil {
		return r, 0, err
	}
	for _, kv := range got.Kvs {
		err := json.Unmarshal(kv.Value, &r)
		return r, kv.ModRevision, err
	}
	return r, 0, store.ErrNoRun
}

// Finish notes under a claim that a run has ended.
func (s *Store) Finish(ctx context.Context, c store.Claim, id rollout.RunID, end rollout.Phase) error {
	if err := s.finish(ctx, c, id, end); err != nil {
		return fmt.Errorf("finish run %s: %w", id, err)
	}
	return nil
}

func (s *Store) finish(ctx context.Context, c store.Claim, id rollout.RunID, end rollout.Phase) error {
	if err := store.CheckEnd(end); err != nil {
		return err
	}
	for {
		when, _, err := s.stand(ctx, c)
		if err != nil {
			return err
		}
		run, revision, err := s.run(ctx, id)
		if err != nil {
			return err
		}
		run.Ended = end.String()
		when = append(when, clientv3.Compare(clientv3.ModRevision(s.runKey(string(id))), "=", revision))
		s.forget(c, id) // its key is written anew
		got, err := s.commit(ctx, when, []clientv3.Op{clientv3.OpPut(s.runKey(string(id)), encode(run))})
		if err != nil || got.Succeeded {
			return err
		}
	}
}

// Load returns a run's journal as it is kept, at one revision.
func (s *Store) Load(ctx context.Context, id rollout.RunID) (store.Journal, error) {
	j, err := s.load(ctx, id)
	if err != nil {
		return j, fmt.Errorf("read run %s: %w", id, err)
	}
	return j, nil
}

func (s *Store) load(ctx context.Context, id rollout.RunID) (store.Journal, error) {
	short, cancel := limited(ctx)
	defer cancel()
	got, err := s.client.Get(short, s.runKey(string(id)))
	if err != nil {
		return store.Journal{}, err
	}
	if len(got.Kvs) == 0 {
		return store.Journal{}, store.ErrNoRun
	}
	var r runValue
	if err := json.Unmarshal(got.Kvs[0].Value, &r); err != nil {
		return store.Journal{}, err
	}
	j := store.Journal{Run: r.run(), Head: store.Entry{Seq: r.Seq, Hash: r.Hash}, Rows: map[string]string{}}
	err = s.each(ctx, s.entries(string(id)), got.Header.Revision, entriesAPage, func(_ string, value []byte) error {
		var e store.Entry
		err := json.Unmarshal(value, &e)
		j.Entries = append(j.Entries, e)
		return err
	})
	if err != nil {
		return j, err
	}
	err = s.each(ctx, s.rows(string(id)), got.Header.Revision, rowsAPage, func(digest string, value []byte) error {
		j.Rows[digest] = store.UnpackRows(value)
		return nil
	})
	return j, err
}

// each calls f for every key under a prefix at a revision, in their order, with what follows the prefix.
func (s *Store) each(ctx context.Context, prefix string, revision, page int64, f func(name string, value []byte) error) error {
	for from := prefix; ; {
		short, cancel := limited(ctx)
		got, err := s.client.Get(short, from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)), clientv3.WithRev(revision), clientv3.WithLimit(page))
		cancel()
		if err != nil {
			return err
		}
		for _, kv := range got.Kvs {
			if err := f(strings.TrimPrefix(string(kv.Key), prefix), kv.Value); err != nil {
				return fmt.Errorf("%s: %w", kv.Key, err)
			}
			from = string(kv.Key) + "\x00"
		}
		if !got.More {
			return nil
		}
	}
}

// List returns every run, newest first.
func (s *Store) List(ctx context.Context) ([]store.Run, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	got, err := s.client.Get(ctx, s.prefix+"run/", clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortDescend))
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var all []store.Run
	for _, kv := range got.Kvs {
		var r runValue
		if err := json.Unmarshal(kv.Value, &r); err != nil {
			return nil, fmt.Errorf("list runs: %s: %w", kv.Key, err)
		}
		all = append(all, r.run())
	}
	return all, nil
}

// Unfinished returns the runs that Finish was not told of, newest first.
func (s *Store) Unfinished(ctx context.Context, keys ...string) ([]store.Run, error) {
	all, err := s.List(ctx)
	return slices.DeleteFunc(all, func(r store.Run) bool { return r.Ended != 0 || len(keys) > 0 && !r.Shares(keys) }), err
}

// Remove deletes a run that has ended, with everything that belongs to it.
func (s *Store) Remove(ctx context.Context, id rollout.RunID) error {
	run, revision, err := s.run(ctx, id)
	if err == nil && run.Ended == "" {
		err = store.ErrUnfinished
	}
	if err == nil {
		_, err = s.commit(ctx, []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(s.runKey(string(id))), "=", revision)}, []clientv3.Op{
			clientv3.OpDelete(s.runKey(string(id))),
			clientv3.OpDelete(s.entries(string(id)), clientv3.WithPrefix()), clientv3.OpDelete(s.rows(string(id)), clientv3.WithPrefix()),
		})
	}
	if err != nil {
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	return nil
}
