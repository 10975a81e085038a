package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
)

// Damage is something that may happen to Journal(9), which has rows at record 3, and where and how it is found.
type Damage struct {
	Name string
	Do   func(j *store.Journal)
	Seq  uint64
	Why  string // part of what is said
}

const (
	chain    = "the hash chain is broken"
	misplace = "a record is missing or misplaced"
	end      = "the end is not the one that was written"
)

// Damages is what has to be found in any journal, wherever it is kept.
func Damages() []Damage {
	return slices.Concat(changed(), removed(), added(), moved(), otherRows())
}

func changed() []Damage {
	var list []Damage
	for i := range 9 {
		seq := uint64(i) + 1
		list = append(list,
			Damage{fmt.Sprintf("record %d with another time", seq), func(j *store.Journal) { edit(j, i, ":00:", ":01:") }, seq, chain},
			Damage{fmt.Sprintf("record %d torn", seq), func(j *store.Journal) { j.Entries[i].Body = j.Entries[i].Body[:20] }, seq, chain},
			Damage{fmt.Sprintf("record %d with another hash", seq), func(j *store.Journal) { j.Entries[i].Hash = j.Entries[(i+1)%9].Hash }, seq, chain},
			Damage{fmt.Sprintf("record %d with another hash before it", seq), func(j *store.Journal) { j.Entries[i].Prev = j.Entries[i].Hash }, seq, chain},
		)
		forged := Damage{fmt.Sprintf("record %d with another time and its hash", seq), func(j *store.Journal) {
			edit(j, i, ":00:", ":01:")
			j.Entries[i] = j.Entries[i].After(j.Entries[i].Prev)
		}, seq + 1, chain}
		if i == 8 {
			forged.Seq, forged.Why = 9, end
		}
		list = append(list, forged)
	}
	return append(list,
		Damage{"a record of a newer release", func(j *store.Journal) { edit(j, 4, "timer_fired", "new_event"); relink(j) }, 5, "newer tlsroll"},
		Damage{"no record but text", func(j *store.Journal) { j.Entries[4].Body = "text"; relink(j) }, 5, "decode"},
		Damage{"a head with another hash", func(j *store.Journal) { j.Head.Hash = j.Entries[7].Hash }, 9, end},
		Damage{"no head", func(j *store.Journal) { j.Head = store.Entry{} }, 1, end},
	)
}

func removed() []Damage {
	return []Damage{
		{"the first record removed", func(j *store.Journal) { j.Entries = j.Entries[1:] }, 1, misplace},
		{"a middle record removed", func(j *store.Journal) { j.Entries = slices.Delete(j.Entries, 4, 5) }, 5, misplace},
		{"the last record removed", func(j *store.Journal) { j.Entries = j.Entries[:8] }, 9, end},
		{"the last record and its number removed", func(j *store.Journal) { j.Entries, j.Head.Seq = j.Entries[:8], 8 }, 8, end},
		{"all records removed", func(j *store.Journal) { j.Entries = nil }, 1, "its records are gone"},
		{"all records and the head removed", func(j *store.Journal) { j.Entries, j.Head = nil, store.Entry{} }, 1, "its records are gone"},
		{"the first record removed, the others moved up", func(j *store.Journal) { j.Entries = j.Entries[1:]; renumber(j) }, 1, chain},
		{"a middle record removed, the others moved up", func(j *store.Journal) { j.Entries = slices.Delete(j.Entries, 4, 5); renumber(j) }, 5, chain},
		{"a middle record removed, the others moved up and linked", func(j *store.Journal) {
			j.Entries = slices.Delete(j.Entries, 4, 5)
			renumber(j)
			relink(j)
		}, 5, misplace},
	}
}

func added() []Damage {
	more := func(j *store.Journal) {
		next := Journal(10).Entries[9]
		j.Entries = append(j.Entries, next.After(j.Head.Hash))
	}
	return []Damage{
		{"a record added at the end", more, 10, end},
		{"a record added at the end, and its number", func(j *store.Journal) { more(j); j.Head.Seq = 10 }, 10, end},
		{"a record added in the middle", func(j *store.Journal) { j.Entries = slices.Insert(j.Entries, 4, j.Entries[3]); renumber(j) }, 5, chain},
		{"a record added before the first", func(j *store.Journal) { j.Entries = slices.Insert(j.Entries, 0, j.Entries[0]); renumber(j) }, 2, chain},
		{"a record numbered 0", func(j *store.Journal) {
			zero := j.Entries[0]
			zero.Seq = 0
			j.Entries = slices.Insert(j.Entries, 0, zero)
		}, 1, misplace},
	}
}

func moved() []Damage {
	swap := func(a, b int) func(j *store.Journal) {
		return func(j *store.Journal) {
			j.Entries[a], j.Entries[b] = j.Entries[b], j.Entries[a]
			renumber(j)
		}
	}
	return []Damage{
		{"the first two records swapped", swap(0, 1), 1, chain},
		{"two middle records swapped", swap(3, 5), 4, chain},
		{"the last two records swapped", swap(7, 8), 8, chain},
		{"two middle records swapped and linked", func(j *store.Journal) { swap(3, 5)(j); relink(j) }, 4, misplace},
	}
}

func otherRows() []Damage {
	put := func(change func(body string) string) func(j *store.Journal) {
		return func(j *store.Journal) {
			for digest, body := range j.Rows {
				j.Rows[digest] = change(body)
			}
		}
	}
	return []Damage{
		{"rows with another number", put(func(body string) string { return strings.Replace(body, "100", "101", 1) }), 3, "rows are not those"},
		{"rows torn", put(func(body string) string { return body[:len(body)-1] }), 3, "rows are not those"},
		{"no text for rows", put(func(string) string { return "" }), 3, "rows are not those"},
	}
}

// edit changes the text of an entry, which must have the old words in it, and leaves its hash.
func edit(j *store.Journal, i int, old, words string) {
	body := strings.Replace(j.Entries[i].Body, old, words, 1)
	if body == j.Entries[i].Body {
		panic(fmt.Sprintf("storetest: %q is not in record %d, %s", old, i+1, body))
	}
	j.Entries[i].Body = body
}

// renumber puts entries into the places in which they stand.
func renumber(j *store.Journal) {
	for i := range j.Entries {
		j.Entries[i].Seq = uint64(i) + 1
	}
}

// relink makes a chain of what is there, and its head, as somebody does who knows how.
func relink(j *store.Journal) {
	prev := ""
	for i := range j.Entries {
		j.Entries[i] = j.Entries[i].After(prev)
		prev = j.Entries[i].Hash
	}
	j.Head = store.Entry{Seq: uint64(len(j.Entries)), Hash: prev}
}

// damage puts every damage below the interface of one store, with a whole journal between them: if that reads well, the hook works.
func damage(t *testing.T, b Backend) {
	s := b.Open(t)
	fill(t, s, claim(t, s, "a", "domain:x"), "run", Records(9)...)
	whole, err := s.Load(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range Damages() {
		j := whole
		j.Entries, j.Rows = slices.Clone(whole.Entries), maps.Clone(whole.Rows)
		d.Do(&j)
		b.Overwrite(t, s, j)
		s = b.Reopen(t, s)
		_, err := store.Read(t.Context(), s, "run")
		bad, ok := errors.AsType[*store.CorruptError](err)
		if !ok || bad.Run != "run" || bad.Seq != d.Seq || !strings.Contains(bad.Why, d.Why) {
			t.Errorf("%s: want it found at record %d (%s), got %v", d.Name, d.Seq, d.Why, err)
		}
		b.Overwrite(t, s, whole)
		kept(t, s, "run", Records(9)...)
	}
}

func gone(t *testing.T, b Backend) {
	s := b.Open(t)
	recs := []rollout.Record{Records(1)[0], minutes(t, 2, 1), minutes(t, 3, 2), minutes(t, 4, 1)}
	fill(t, s, claim(t, s, "a", "domain:x"), "run", recs...)
	j, err := s.Load(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	delete(j.Rows, recs[1].Event.(rollout.MinutesArrived).Digest)
	b.Overwrite(t, s, j)
	_, err = store.Read(t.Context(), s, "run")
	if bad, ok := errors.AsType[*store.CorruptError](err); !ok || bad.Seq != 2 || !strings.Contains(bad.Why, "rows are gone") {
		t.Errorf("want the rows of record 2 gone, got %v", err)
	}
	if j, err = s.Load(t.Context(), "run"); err != nil {
		t.Fatal(err)
	}
	got, missing, err := j.Records()
	if err != nil || len(got) != 4 || !slices.Equal(missing, []uint64{2, 4}) {
		t.Fatalf("want four records, and the rows of 2 and 4 missing, got %d, %v, %v", len(got), missing, err)
	}
	if diff := cmp.Diff(recs[2], got[2]); diff != "" {
		t.Errorf("record 3 has its rows: mismatch (-want +got):\n%s", diff)
	}
	if m := got[1].Event.(rollout.MinutesArrived); len(m.Batch.Rows) > 0 || m.Digest != recs[1].Event.(rollout.MinutesArrived).Digest {
		t.Errorf("record 2 has no rows but its digest: got %+v", m)
	}
}

func neighbours(t *testing.T, b Backend) {
	s := b.Open(t)
	c := claim(t, s, "a", "domain:x")
	for _, id := range []rollout.RunID{"one", "run", "two"} {
		fill(t, s, c, id, Records(9)...)
	}
	j, err := s.Load(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	j.Entries, j.Head = nil, store.Entry{}
	b.Overwrite(t, s, j)
	if runs, err := s.List(t.Context()); err != nil || len(runs) != 3 {
		t.Errorf("want all three runs listed, got %+v, %v", runs, err)
	}
	for _, id := range []rollout.RunID{"one", "two"} {
		fill(t, s, c, id, Records(10)[9])
		kept(t, s, id, Records(10)...)
	}
}
