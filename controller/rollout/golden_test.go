package rollout_test

import (
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/sim"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/plans/examples"
	modelled "github.com/tlsroll/tlsroll/providers/lab/world"
)

var keep = flag.String("keep", "", "write the journal of a night under this name, to be replayed by every later version")

// R3: a journal that an earlier version wrote replays, record by record, to what it led to then.
func TestLawR3JournalsOfEarlierVersionsReplay(t *testing.T) {
	if *keep != "" {
		keepJournal(t, *keep)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "journals", "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no journals are kept: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			records, missing, err := readJournal(t, file).Records()
			if err != nil || len(missing) > 0 {
				t.Fatalf("rows of %v are missing, %v", missing, err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(file, ".jsonl.gz") + ".want")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), story(records)); diff != "" {
				t.Errorf("replayed otherwise than it was (-then +now):\n%s", diff)
			}
		})
	}
}

// story tells where a run went and what it asked for.
func story(records []rollout.Record) string {
	var b strings.Builder
	var run rollout.Run
	for _, rec := range records {
		before := run
		var due []rollout.Command
		run, due = rollout.Next(run, rec)
		if run.Phase() != before.Phase() || run.Step != before.Step {
			fmt.Fprintf(&b, "%d %s %s, step %d, %s\n", rec.Seq, rec.At.UTC().Format(time.RFC3339Nano), run.Phase(), run.Step, run.Live())
		}
		for _, c := range due {
			switch a := c.Action.(type) {
			case rollout.SetShare:
				fmt.Fprintf(&b, "%d   command %d: weights %s\n", rec.Seq, c.ID, a.Want)
			case rollout.SetTLS:
				fmt.Fprintf(&b, "%d   command %d: settings %s\n", rec.Seq, c.ID, a.Want.Enabled)
			case rollout.Notify:
				fmt.Fprintf(&b, "%d   command %d: %s %s\n", rec.Seq, c.ID, a.Urgency, a.Text)
			default:
			}
		}
	}
	fmt.Fprintf(&b, "%+v\n", *run.End)
	return b.String()
}

func readJournal(t *testing.T, file string) store.Journal {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	j, err := store.ReadExport(z)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// keepJournal writes a night that goes wrong, with people in it, and what it leads to.
func keepJournal(t *testing.T, name string) {
	t.Helper()
	text, _ := examples.Source(examples.Names()[0])
	p, problems := plans.Parse("plan", []byte(text))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	paused := false
	night, err := sim.Play(t.Context(), sim.New(p, newWorld(healthy(canarySteps)).state, time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC),
		sim.Options{Fault: modelled.Errors10, Seed: 4}), func(w *sim.World, r rollout.Run) {
		if r.Stage == rollout.StageProveTLS && !paused {
			paused = true
			w.Order(r.At.Add(time.Minute), rollout.PauseOrdered{Actor: "ann", Reason: "look at it"})
			w.Order(r.At.Add(3*time.Minute), rollout.ResumeOrdered{Actor: "ann"})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	j := store.Journal{Run: store.Run{ID: "dry-run", Domain: p.Domain, Name: p.Name, Keys: rollout.Keys(p), Started: night.Records[0].At, Ended: night.Run.End.Phase}, Rows: map[string]string{}}
	for _, rec := range night.Records {
		e, err := store.NewEntry(j.Head.Hash, 1, rec)
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := rec.Event.(rollout.MinutesArrived); ok {
			rows, digest, err := rollout.EncodeRows(m.Batch.Rows)
			if err != nil {
				t.Fatal(err)
			}
			j.Rows[digest] = string(rows)
		}
		j.Entries = append(j.Entries, e)
		j.Head = store.Entry{Seq: e.Seq, Hash: e.Hash}
		j.Run.Records = e.Seq
	}
	base := filepath.Join("testdata", "journals", name)
	if err := os.MkdirAll(filepath.Dir(base), 0o750); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(base + ".jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if err := store.WriteExport(z, j); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(base+".want", []byte(story(night.Records)), 0o600); err != nil {
		t.Fatal(err)
	}
}
