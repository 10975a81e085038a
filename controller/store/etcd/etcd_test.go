package etcd_test

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/etcd"
	"github.com/tlsroll/tlsroll/controller/store/storetest"
)

func TestConformance(t *testing.T) {
	var n atomic.Int64
	prefixes := map[store.Store]string{}
	storetest.Run(t, storetest.Backend{
		Open: func(t *testing.T) store.Store {
			prefix := fmt.Sprintf("/suite-%d/", n.Add(1))
			s := open(t, prefix)
			prefixes[s] = prefix
			return s
		},
		Reopen: func(t *testing.T, s store.Store) store.Store {
			if err := s.(*etcd.Store).Close(); err != nil {
				t.Fatal(err)
			}
			again := open(t, prefixes[s])
			prefixes[again] = prefixes[s]
			return again
		},
		Overwrite: func(t *testing.T, s store.Store, j store.Journal) { overwrite(t, prefixes[s], j) },
		TTL:       etcd.MinTTL,
	})
}

// overwrite changes what the cluster keeps of a run, as somebody with etcdctl would.
func overwrite(t *testing.T, prefix string, j store.Journal) {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: shared.endpoints})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // a test
	id := string(j.Run.ID)
	got, err := c.Get(t.Context(), prefix+"run/"+id)
	if err != nil || len(got.Kvs) != 1 {
		t.Fatalf("run %s: %v", id, err)
	}
	var run map[string]any
	if err := json.Unmarshal(got.Kvs[0].Value, &run); err != nil {
		t.Fatal(err)
	}
	run["seq"], run["hash"] = j.Head.Seq, j.Head.Hash
	put(t, c, prefix+"run/"+id, run)
	for _, p := range []string{"j/", "rows/"} {
		if _, err := c.Delete(t.Context(), prefix+p+id+"/", clientv3.WithPrefix()); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range j.Entries {
		put(t, c, fmt.Sprintf("%sj/%s/%020d", prefix, id, e.Seq), e)
	}
	for digest, body := range j.Rows {
		var b bytes.Buffer
		z, _ := flate.NewWriter(&b, flate.DefaultCompression)
		_, _ = z.Write([]byte(body))
		_ = z.Close()
		if _, err := c.Put(t.Context(), prefix+"rows/"+id+"/"+digest, b.String()); err != nil {
			t.Fatal(err)
		}
	}
}

func put(t *testing.T, c *clientv3.Client, key string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), key, string(data)); err != nil {
		t.Fatal(err)
	}
}

// A member dies in the middle of appends, the leader too: what was acknowledged is there, whole and in order.
func TestAMemberDies(t *testing.T) {
	for _, who := range []string{"the leader", "a follower"} {
		t.Run(who, func(t *testing.T) {
			s := open(t, "/dies-"+strings.ReplaceAll(who, " ", "-")+"/")
			c, err := s.Claim(t.Context(), []string{"domain:x"}, "a", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			victim := shared.leader()
			if who == "a follower" {
				victim = (victim + 1) % len(shared.members)
			}
			records := storetest.Records(60)
			for i, rec := range records {
				if i == 20 {
					shared.kill(victim)
				}
				if i == 40 {
					shared.restart(t, victim)
				}
				for err = s.Append(t.Context(), c, "run", rec); err != nil; err = s.Append(t.Context(), c, "run", rec) {
					if errors.Is(err, store.ErrOrder) || errors.Is(err, store.ErrFenced) || t.Context().Err() != nil {
						t.Fatal(err)
					}
				}
			}
			got, err := store.Read(t.Context(), s, "run")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(records, got); diff != "" {
				t.Errorf("records mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// A controller that stops renewing loses its claim, and what it writes when it wakes up is refused.
func TestAFrozenControllerIsFenced(t *testing.T) {
	s, other := open(t, "/frozen/"), open(t, "/frozen/")
	c, err := s.Claim(t.Context(), []string{"domain:x", "record:y"}, "a", etcd.MinTTL)
	if err != nil {
		t.Fatal(err)
	}
	records := storetest.Records(3)
	if err := s.Append(t.Context(), c, "run", records[0]); err != nil {
		t.Fatal(err)
	}
	next := takeOver(t, other, c)
	if err := s.Append(t.Context(), c, "run", records[1]); !errors.Is(err, store.ErrFenced) {
		t.Errorf("an append of the frozen one: %v", err)
	}
	if err := s.Renew(t.Context(), c, time.Minute); !errors.Is(err, store.ErrFenced) {
		t.Errorf("a renewal of the frozen one: %v", err)
	}
	if err := other.Append(t.Context(), next, "run", records[1]); err != nil {
		t.Errorf("an append of the new one: %v", err)
	}
}

// A record whose answer is lost is there; its writer, who cannot know, appends it again, and it is there once.
func TestAnAnswerThatIsLost(t *testing.T) {
	p := startProxy(t, shared.endpoints[0])
	s := openAt(t, "/lost/", p.address())
	c, err := s.Claim(t.Context(), []string{"domain:x"}, "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	records := storetest.Records(3)
	if err := s.Append(t.Context(), c, "run", records[0]); err != nil {
		t.Fatal(err)
	}
	direct := open(t, "/lost/")
	p.set(asked)
	if err := s.Append(t.Context(), c, "run", records[1]); err == nil || errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrOrder) {
		t.Fatalf("an append without an answer: %v", err)
	}
	if got, err := store.Read(t.Context(), direct, "run"); err != nil || len(got) != 2 {
		t.Fatalf("the record should be there although nobody was told: %d, %v", len(got), err)
	}
	p.set(all)
	for _, rec := range records[1:] {
		for err = s.Append(t.Context(), c, "run", rec); err != nil; err = s.Append(t.Context(), c, "run", rec) {
			if errors.Is(err, store.ErrOrder) || errors.Is(err, store.ErrFenced) || t.Context().Err() != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := store.Read(t.Context(), direct, "run")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(records, got); diff != "" {
		t.Errorf("records mismatch (-want +got):\n%s", diff)
	}
}

// A controller that is cut off for longer than its claim can neither write nor renew; another one takes over, and it stays fenced when it is
// back.
func TestAControllerThatIsCutOff(t *testing.T) {
	p := startProxy(t, shared.endpoints[1])
	s, other := openAt(t, "/cut/", p.address()), open(t, "/cut/")
	c, err := s.Claim(t.Context(), []string{"domain:x"}, "a", etcd.MinTTL)
	if err != nil {
		t.Fatal(err)
	}
	records := storetest.Records(3)
	if err := s.Append(t.Context(), c, "run", records[0]); err != nil {
		t.Fatal(err)
	}
	p.set(nothing)
	for name, err := range map[string]error{"append": s.Append(t.Context(), c, "run", records[1]), "renew": s.Renew(t.Context(), c, time.Minute)} {
		if err == nil {
			t.Errorf("%s of one that is cut off was accepted", name)
		}
	}
	next := takeOver(t, other, c)
	if err := other.Append(t.Context(), next, "run", records[1]); err != nil {
		t.Fatal(err)
	}
	p.set(all)
	for err = s.Append(t.Context(), c, "run", records[2]); !errors.Is(err, store.ErrFenced); err = s.Append(t.Context(), c, "run", records[2]) {
		if err == nil || t.Context().Err() != nil {
			t.Fatalf("an append of one that is back: %v", err)
		}
	}
	if got, err := store.Read(t.Context(), other, "run"); err != nil || len(got) != 2 {
		t.Errorf("want the two records of those who might, got %d, %v", len(got), err)
	}
}

// takeOver claims what somebody else has as soon as it runs out.
func takeOver(t *testing.T, s *etcd.Store, c store.Claim) store.Claim {
	t.Helper()
	for {
		next, err := s.Claim(t.Context(), c.Keys, "b", time.Minute)
		if _, held := errors.AsType[*store.HeldError](err); held {
			continue
		}
		if err != nil || !next.Lapsed || next.Epoch <= c.Epoch {
			t.Fatalf("the takeover: %+v, %v", next, err)
		}
		return next
	}
}

func TestAClusterThatDoesNotAnswerIsNamed(t *testing.T) {
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	_, err = etcd.Open(t.Context(), etcd.Options{Endpoints: []string{"127.0.0.1:" + port}})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:"+port) {
		t.Errorf("want an error that names the member, got %v", err)
	}
}
