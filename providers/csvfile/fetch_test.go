package csvfile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/csvfile"
	"github.com/tlsroll/tlsroll/providers/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "pl4nted9SecretXYZ"

// write puts a text into a new file and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rum.csv")
	overwrite(t, path, text)
	return path
}

func overwrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}

func fetch(t *testing.T, path string) ([]guardrails.Row, error) {
	t.Helper()
	return csvfile.New(plans.Source{Path: path}).Fetch(t.Context(), first, first+9)
}

func wantKind(t *testing.T, err error, kind providers.Kind, text string) {
	t.Helper()
	if _, ok := errors.AsType[*providers.Error](err); !ok || providers.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("error is %T (%v), want a *providers.Error of kind %v that says %q", err, err, kind, text)
	}
}

// A file has no other side that could refuse, throttle, stall or cut: what it can do wrong is here and below.
func TestConforms(t *testing.T) {
	providertest.TestMetrics(t, func(t *testing.T, _ time.Duration) providertest.MetricsHarness {
		t.Helper()
		var file strings.Builder
		file.WriteString("minute,platform,cdn,requests,errors\n")
		var want []guardrails.Row
		for i := range guardrails.Minute(6) {
			fmt.Fprintf(&file, "%d,ios,primary,%d,1\n", (first - 1 + i).Start().Unix(), 10+i)
			if i > 0 && i < 5 {
				want = append(want, guardrails.Row{Platform: "ios", Leg: guardrails.Primary, Minute: first - 1 + i, Counts: guardrails.Counts{
					Requests: float64(10 + i), Errors: 1, Has: guardrails.HasRequests | guardrails.HasErrors,
				}})
			}
		}
		good := file.String()
		path := write(t, good)
		return providertest.MetricsHarness{
			Side: providertest.Side{
				Secrets:   func() []string { return []string{secret} },
				Misbehave: func(f providertest.Fault) { misbehave(t, path, good, f) },
				Requests:  func() int { return 0 },
				Writes:    func() []providers.Call { return nil },
				Skip: []providertest.Fault{
					providertest.PermissionDenied, providertest.TooManyCalls, providertest.Unavailable, providertest.AppliedThenUnavailable,
					providertest.WebPage, providertest.NumericCode, providertest.Stalled, providertest.Cut, providertest.CutBody, providertest.Redirected,
				},
			},
			Metrics: csvfile.New(plans.Source{Path: path}), From: first, To: first + 3, Want: want,
		}
	})
}

func misbehave(t *testing.T, path, good string, f providertest.Fault) {
	switch f {
	case providertest.EmptyAnswer:
		overwrite(t, path, "")
	case providertest.BrokenJSON:
		overwrite(t, path, good+"{\"key\": "+secret+"}\n"+secret+",ios,primary,1,1\n")
	case providertest.Oversized:
		if err := os.Truncate(path, csvfile.MaxFile+1); err != nil {
			t.Error(err)
		}
	default:
		overwrite(t, path, good)
	}
}

// A line that is being written is not judged, even when it looks whole: its last number may not be.
func TestALineCountsWhenItsLineFeedIsThere(t *testing.T) {
	head := "minute,requests,errors\n" + fmt.Sprintf("%d,100,1\n", first.Start().Unix())
	want := []guardrails.Row{{Leg: guardrails.Primary, Minute: first, Counts: guardrails.Counts{Requests: 100, Errors: 1, Has: guardrails.HasRequests | guardrails.HasErrors}}}
	line := fmt.Sprintf("%d,100,1234", (first + 1).Start().Unix())
	for i := range len(line) + 1 {
		got, err := fetch(t, write(t, head+line[:i]))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: error %v, rows (-want +got):\n%s", line[:i], err, diff)
		}
	}
	if got, err := fetch(t, write(t, head+line+"\n")); err != nil || len(got) != 2 || got[1].Counts.Errors != 1234 {
		t.Errorf("rows %+v, error %v, want two", got, err)
	}
	if got, err := fetch(t, write(t, head+strings.Repeat(" ", 10_000))); err != nil || len(got) != 1 {
		t.Errorf("behind a long unfinished line: rows %+v, error %v, want one", got, err)
	}
}

func TestFilesThatAreNotReady(t *testing.T) {
	_, err := fetch(t, filepath.Join(t.TempDir(), "none.csv"))
	wantKind(t, err, providers.Missing, "none.csv: no such file")
	_, err = fetch(t, write(t, ""))
	wantKind(t, err, providers.Transient, "no whole line yet")
	_, err = fetch(t, write(t, "minute,req"))
	wantKind(t, err, providers.Transient, "no whole line yet")
	_, err = fetch(t, t.TempDir())
	wantKind(t, err, providers.Invalid, "no file but a directory")
	_, err = fetch(t, os.DevNull)
	wantKind(t, err, providers.Invalid, "no file but a device or pipe")
	_, err = fetch(t, write(t, "minute,requests\n61,1\n62,1\n"))
	wantKind(t, err, providers.Invalid, `rum.csv:2: column minute: this is not the start of a minute ("61") (and 1 more)`)
	if got, err := fetch(t, write(t, "minute,requests\n")); err != nil || len(got) != 0 {
		t.Errorf("a file without rows: %+v, %v", got, err)
	}
}

func TestAFileThatChangesIsReadAgain(t *testing.T) {
	const text = "minute,requests\n1624557600,1\n"
	for name, change := range map[string]func(path string) error{
		"grows": func(path string) error { return os.WriteFile(path, []byte(text+"1624557660,2\n"), 0o600) },
		"grows within a tick of the clock": func(path string) error {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(path, []byte(text+"1624557660,2\n"), 0o600), os.Chtimes(path, time.Time{}, info.ModTime()))
		},
		"shrinks":      func(path string) error { return os.Truncate(path, 5) },
		"is rewritten": func(path string) error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) },
	} {
		path := write(t, text)
		s := csvfile.New(plans.Source{Path: path})
		s.BeforeTheSecondLook(func() {
			if err := change(path); err != nil {
				t.Error(err)
			}
		})
		rows, err := s.Fetch(t.Context(), first, first)
		wantKind(t, err, providers.Transient, "the file changed while it was read")
		if rows != nil {
			t.Errorf("%s: rows %+v", name, rows)
		}
	}
}

func TestKindsOfTheSystemsErrors(t *testing.T) {
	s := csvfile.New(plans.Source{Path: "rum.csv"})
	for _, test := range []struct {
		err  error
		kind providers.Kind
		text string
	}{
		{&fs.PathError{Op: "open", Path: "rum.csv", Err: fs.ErrPermission}, providers.Denied, "needs permission to read the file"},
		{&fs.PathError{Op: "stat", Path: "rum.csv", Err: fs.ErrNotExist}, providers.Missing, "csvfile: read rum.csv: file does not exist"},
		{fmt.Errorf("look: %w", &fs.PathError{Op: "read", Path: "rum.csv", Err: errors.New("input/output error")}), providers.Transient, "input/output error"},
	} {
		wantKind(t, s.Classify(t.Context(), test.err), test.kind, test.text)
	}
}

// ctx also ends a reading that has begun.
func TestAReadingEndsWithCtx(t *testing.T) {
	path := write(t, nights())
	s := csvfile.New(plans.Source{Path: path})
	ctx := &countdown{Context: t.Context(), left: 3}
	rows, err := s.Fetch(ctx, first, first+9)
	wantKind(t, err, providers.Transient, context.Canceled.Error())
	if !errors.Is(err, context.Canceled) || rows != nil {
		t.Errorf("rows %d, error %v", len(rows), err)
	}
}

// countdown is a context that ends after its end was asked for a few times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	c.left--
	if c.left < 0 {
		return context.Canceled
	}
	return nil
}
