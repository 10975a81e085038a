package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
)

// deed is one call of one holder that the store accepted. Began and ended count the events of the whole history.
type deed struct {
	what         string
	began, ended int
	holder       string
	epoch        int64
	lapsed       bool
	seq          uint64
	body         string
}

// field is what holders fight over, and what happened on it, in an order that everybody agrees on.
type field struct {
	s    store.Store
	run  rollout.RunID
	keys []string
	ttl  time.Duration

	mu    sync.Mutex
	clock int
	deeds []deed
	want  int // appends that end it
}

func (f *field) tick() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock++
	return f.clock
}

func (f *field) done(d deed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock++
	d.ended = f.clock
	f.deeds = append(f.deeds, d)
	if d.what == "append" {
		f.want--
	}
}

func (f *field) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.want <= 0
}

// history lets holders fight over keys with claims that run out: four of them over one key and one run, on four fields at once. Each of them
// claims, appends, renews, and then gives up, dies, or does not know that it has given up and tries to go on. Whatever happens, what the store
// accepted has an order that is right.
func history(t *testing.T, b Backend) {
	s := b.Open(t)
	var wg sync.WaitGroup
	var fields [4]*field
	for i := range fields {
		id := rollout.RunID(fmt.Sprint("run-", i))
		fields[i] = &field{s: s, run: id, keys: []string{fmt.Sprint("domain:", i)}, ttl: b.TTL, want: 60}
		fill(t, s, claim(t, s, "nobody", "elsewhere"), id, Records(1)...)
		for k := range 4 {
			dice := rand.New(rand.NewPCG(uint64(i), uint64(k))) //nolint:gosec // dice, no secret
			h := &holder{field: fields[i], name: fmt.Sprint("holder-", k), dice: dice}
			wg.Go(func() {
				if err := h.live(t.Context()); err != nil {
					t.Errorf("%s: %v", h.name, err)
				}
			})
		}
	}
	wg.Wait()
	for _, f := range fields {
		j, err := s.Load(t.Context(), f.run)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := j.Records(); err != nil {
			t.Error(err)
		}
		for _, problem := range slices.Concat(oneHolder(f.deeds), noneLate(f.deeds), inTheJournal(f.deeds, j)) {
			t.Errorf("%s: %s", f.run, problem)
		}
	}
}

// holder is one who fights. Its dice are its own, so what it does is its own, too; when is left to chance.
type holder struct {
	*field
	name string
	dice *rand.Rand
}

func (h *holder) live(ctx context.Context) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !h.over() {
		began := h.tick()
		c, err := h.s.Claim(ctx, h.keys, h.name, h.ttl)
		if _, held := errors.AsType[*store.HeldError](err); held {
			<-tick.C
			continue
		}
		if err != nil {
			return err
		}
		h.done(deed{what: "claim", began: began, holder: c.Holder, epoch: c.Epoch, lapsed: c.Lapsed})
		if err := h.act(ctx, c); err != nil && !errors.Is(err, store.ErrFenced) {
			return err
		}
	}
	return nil
}

// act does as one does who has a claim, until it is lost or given up. One time in twenty it dies, so that the claim has to run out.
func (h *holder) act(ctx context.Context, c store.Claim) error {
	for !h.over() {
		began := h.tick()
		switch n := h.dice.IntN(20); {
		case n == 0:
			return nil
		case n < 6:
			if err := h.s.Release(ctx, c); err != nil {
				return err
			}
			h.done(deed{what: "release", began: began, holder: c.Holder, epoch: c.Epoch})
			if h.dice.IntN(2) == 0 {
				return nil
			} // else it does not know that it has given up
		case n < 10:
			if err := h.s.Renew(ctx, c, h.ttl); err != nil {
				return err
			}
			h.done(deed{what: "renew", began: began, holder: c.Holder, epoch: c.Epoch})
		default:
			if err := h.append(ctx, c, began); err != nil && !errors.Is(err, store.ErrOrder) {
				return err
			}
		}
	}
	return nil
}

func (h *holder) append(ctx context.Context, c store.Claim, began int) error {
	j, err := h.s.Load(ctx, h.run)
	if err != nil {
		return err
	}
	rec := rollout.Record{Seq: j.Run.Records + 1, At: Records(1)[0].At.Add(time.Duration(began)), Event: rollout.AbortOrdered{Actor: h.name}}
	e, err := store.NewEntry(j.Head.Hash, c.Epoch, rec)
	if err != nil {
		return err
	}
	h.done(deed{what: "read", began: began, holder: c.Holder, epoch: c.Epoch, seq: j.Run.Records})
	began = h.tick()
	if err := h.s.Append(ctx, c, h.run, rec); err != nil {
		return err
	}
	h.done(deed{what: "append", began: began, holder: c.Holder, epoch: c.Epoch, seq: rec.Seq, body: e.Body})
	return nil
}

// oneHolder: no epoch is given twice, and a claim is lapsed unless the one before it was released.
func oneHolder(deeds []deed) (problems []string) {
	var claims []deed
	released := map[int64]int{} // when the release began
	for _, d := range deeds {
		switch d.what {
		case "claim":
			claims = append(claims, d)
		case "release":
			if at, ok := released[d.epoch]; !ok || d.began < at {
				released[d.epoch] = d.began
			}
		}
	}
	slices.SortFunc(claims, func(a, b deed) int { return cmp.Compare(a.epoch, b.epoch) })
	for i, c := range claims[1:] {
		before := claims[i]
		if c.epoch == before.epoch {
			problems = append(problems, fmt.Sprintf("epoch %d was given to %s and to %s", c.epoch, before.holder, c.holder))
		}
		if at, ok := released[before.epoch]; !c.lapsed && (!ok || at > c.ended) {
			problems = append(problems, fmt.Sprintf("claim %+v follows one that was not released, %+v, and is not lapsed", c, before))
		}
	}
	return problems
}

// noneLate: nothing that began after a claim was granted was accepted under an older one.
func noneLate(deeds []deed) (problems []string) {
	for _, d := range deeds {
		if d.what != "append" && d.what != "renew" {
			continue
		}
		for _, c := range deeds {
			if c.what == "claim" && c.epoch > d.epoch && c.ended < d.began {
				problems = append(problems, fmt.Sprintf("%+v was accepted after %+v", d, c))
			}
		}
	}
	return problems
}

// inTheJournal: what was accepted is there, once, and the epochs never go back. Whoever read the journal under his claim has seen all that
// there will ever be of older ones: a record that came after it would be one that he does not know of.
func inTheJournal(deeds []deed, j store.Journal) (problems []string) {
	accepted := map[uint64]deed{}
	for _, d := range deeds {
		if d.what == "append" {
			accepted[d.seq] = d
		}
	}
	for i, e := range j.Entries {
		if d, ok := accepted[e.Seq]; i > 0 && (!ok || d.body != e.Body || d.epoch != e.Epoch) {
			problems = append(problems, fmt.Sprintf("the journal has %+v, accepted was %+v", e, d))
		}
		if i > 1 && e.Epoch < j.Entries[i-1].Epoch {
			problems = append(problems, fmt.Sprintf("record %d was accepted under epoch %d after one of epoch %d", e.Seq, e.Epoch, j.Entries[i-1].Epoch))
		}
	}
	for _, d := range deeds {
		if d.what != "read" || d.seq >= uint64(len(j.Entries)) {
			continue
		}
		if next := j.Entries[d.seq]; next.Epoch < d.epoch {
			problems = append(problems, fmt.Sprintf("%+v was the last word of older epochs, but record %d was accepted after it under epoch %d", d, next.Seq, next.Epoch))
		}
	}
	if len(accepted)+1 != len(j.Entries) {
		problems = append(problems, fmt.Sprintf("%d records were accepted, %d are there", len(accepted)+1, len(j.Entries)))
	}
	return problems
}
