package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store"
	"github.com/tlsroll/tlsroll/controller/store/storetest"
	"github.com/tlsroll/tlsroll/guardrails"
)

func export(t testing.TB, j store.Journal) string {
	t.Helper()
	var b strings.Builder
	if err := store.WriteExport(&b, j); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAnExportComesBackByteForByte(t *testing.T) {
	ended := storetest.Journal(9)
	ended.Run.Ended, ended.Run.Keys, ended.Run.Name = rollout.RolledBackUnverified, []string{"domain:看", "<&>\u2028"}, "a \"name\"\n"
	noRows := storetest.Journal(9)
	clear(noRows.Rows)
	manyRows := storetest.Journal(9)
	for n := range 8 {
		body, digest, err := rollout.EncodeRows([]guardrails.Row{{Platform: "ios", Minute: guardrails.Minute(n)}})
		if err != nil {
			t.Fatal(err)
		}
		manyRows.Rows[digest] = string(body)
	}
	for _, j := range []store.Journal{storetest.Journal(1), storetest.Journal(2), storetest.Journal(300), ended, noRows, manyRows} {
		text := export(t, j)
		got, err := store.ReadExport(iotest.OneByteReader(strings.NewReader(text)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(j, got); diff != "" {
			t.Errorf("journal mismatch (-want +got):\n%s", diff)
		}
		if again := export(t, got); again != text {
			t.Errorf("text mismatch (-want +got):\n%s", cmp.Diff(text, again))
		}
		if lines := strings.Count(text, "\n"); lines != 2+len(j.Entries)+len(j.Rows) || !strings.HasPrefix(text, `{"schema":"tlsroll/journal/v1","run":{"id":"run",`) {
			t.Errorf("%d lines, beginning %.80s", lines, text)
		}
	}
}

// Whatever byte of an export is changed, left out or doubled, and wherever it ends, it is refused with a line.
func TestAnExportThatWasTouchedIsRefused(t *testing.T) {
	text := export(t, storetest.Journal(3))
	refuse := func(what, changed string) {
		t.Helper()
		j, err := store.ReadExport(strings.NewReader(changed))
		if changed != text && (err == nil || !strings.HasPrefix(err.Error(), "export, line ") || j.Entries != nil) {
			t.Errorf("%s: want it refused with a line, got %d records, %v", what, len(j.Entries), err)
		}
	}
	for i := range len(text) {
		refuse(fmt.Sprint("torn at ", i), text[:i])
		refuse(fmt.Sprint("without byte ", i), text[:i]+text[i+1:])
		refuse(fmt.Sprint("twice byte ", i), text[:i+1]+text[i:])
		for _, c := range []byte{'0', '"', 0xff} {
			refuse(fmt.Sprintf("byte %d turned %q", i, c), text[:i]+string([]byte{c})+text[i+1:])
		}
	}
	refuse("something after the end", text+"\n")
	refuse("twice", text+text)
	refuse("lines of another system", strings.ReplaceAll(text, "\n", "\r\n"))
}

func TestAnExportSaysWhatIsWrongWhere(t *testing.T) {
	lines := strings.SplitAfter(export(t, storetest.Journal(9)), "\n") // head, records 1 to 9, rows, sum, ""
	without := func(i int) string { return strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "") }
	edited := func(i int, old, words string) string {
		if !strings.Contains(lines[i], old) {
			t.Fatalf("line %d has no %q: %s", i+1, old, lines[i])
		}
		return strings.Join(lines[:i], "") + strings.Replace(lines[i], old, words, 1) + strings.Join(lines[i+1:], "")
	}
	tests := []struct{ name, text, want string }{
		{"nothing", "", "line 1: the file ends in the middle"},
		{"another file", "hello\n", "line 1: want the schema tlsroll/journal/v1"},
		{"a newer release", edited(0, "/v1", "/v2"), `line 1: want the schema tlsroll/journal/v1, got "tlsroll/journal/v2"`},
		{"an end that is none", edited(0, `"ended":""`, `"ended":"Soon"`), "line 1: it is not as it was written"},
		{"another domain", edited(0, "cdn.example.com", "www.example.com"), "line 12: the lines before are not those that were written"},
		{"torn between lines", strings.Join(lines[:5], ""), "line 6: the file ends in the middle"},
		{"a space more", edited(4, `"seq":4`, `"seq": 4`), "line 5: it is not as it was written"},
		{"a key more", edited(4, `"epoch":1`, `"epoch":1,"note":"x"`), "line 5: it is not as it was written"},
		{"no JSON", edited(4, `{"seq":4,`, `{"seq":4;`), "line 5: invalid character"},
		{"another line", edited(4, `{"seq":4`, `{"sea":4`), "line 5: it is no record"},
		{"rows with another number", edited(10, "100", "101"), "line 11: rows are not those"},
		{"rows before a record", strings.Join(lines[:9], "") + lines[10] + lines[9] + lines[11], "line 11: a record stands after the rows"},
		{"rows twice", strings.Join(lines[:11], "") + lines[10] + lines[11], "line 12: rows stand twice"},
		{"a record less", without(4), "line 11: the lines before are not those"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := store.ReadExport(strings.NewReader(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q, got %v", test.want, err)
			}
		})
	}
}

// Damage can be exported, to be looked at, but is not taken for a journal.
func TestTheExportOfADamagedJournalIsRefused(t *testing.T) {
	for _, d := range storetest.Damages() {
		j := storetest.Journal(9)
		d.Do(&j)
		_, err := store.ReadExport(strings.NewReader(export(t, j)))
		if err == nil || !strings.Contains(err.Error(), d.Why) || !strings.HasPrefix(err.Error(), "export, line ") {
			t.Errorf("%s: want %q and a line, got %v", d.Name, d.Why, err)
		}
	}
	for _, change := range []func(j *store.Journal){
		func(j *store.Journal) { j.Entries[3].Body = "\xff" },
		func(j *store.Journal) { j.Rows["x"] = "\xff" },
	} {
		j := storetest.Journal(9)
		change(&j)
		if err := store.WriteExport(&strings.Builder{}, j); err == nil || !strings.Contains(err.Error(), "no text") {
			t.Errorf("what is no text: got %v", err)
		}
	}
}

func TestAnExportPassesOnErrors(t *testing.T) {
	broken := errors.New("broken")
	if _, err := store.ReadExport(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("reading: want the reader's error, got %v", err)
	}
	if err := store.WriteExport(failAfter{new(int), 3, broken}, storetest.Journal(9)); !errors.Is(err, broken) {
		t.Errorf("writing: want the writer's error, got %v", err)
	}
}

type failAfter struct {
	n    *int
	most int
	err  error
}

func (f failAfter) Write(p []byte) (int, error) {
	*f.n++
	if *f.n > f.most {
		return 0, f.err
	}
	return len(p), nil
}

func FuzzReadExport(f *testing.F) {
	for _, n := range []int{1, 3, 9} {
		text := export(f, storetest.Journal(n))
		f.Add([]byte(text))
		f.Add([]byte(strings.Replace(text, "a", "b", 1)))
		f.Add([]byte(text[:len(text)/2]))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := store.ReadExport(bytes.NewReader(data))
		if err != nil {
			return
		}
		if again := export(t, j); again != string(data) {
			t.Errorf("accepted, but written as (-read +written):\n%s", cmp.Diff(string(data), again))
		}
		if _, _, err := j.Records(); err != nil {
			t.Errorf("accepted, but damaged: %v", err)
		}
	})
}

func TestExpiredRunsAreOldAndEnded(t *testing.T) {
	at := time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC)
	runs := []store.Run{
		{ID: "old and ended", Started: at.Add(-1), Ended: rollout.Halted},
		{ID: "old and going on", Started: at.Add(-time.Hour)},
		{ID: "ended on the day", Started: at, Ended: rollout.Succeeded},
		{ID: "oldest", Started: at.AddDate(-1, 0, 0), Ended: rollout.Succeeded},
	}
	if diff := cmp.Diff([]store.Run{runs[0], runs[3]}, store.Expired(runs, at)); diff != "" {
		t.Errorf("runs mismatch (-want +got):\n%s", diff)
	}
}
