package store

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tlsroll/tlsroll/controller/rollout"
)

const exportSchema = "tlsroll/journal/v1"

// The lines of an export: one exportHead, an Entry for each record, an exportRows for each digest in their order, one exportSum. Field names
// and their order are a contract with every export ever written; the first field tells what a line is.
type (
	exportHead struct {
		Schema string    `json:"schema"`
		Run    exportRun `json:"run"`
		Head   struct {
			Seq  uint64 `json:"seq"`
			Hash string `json:"hash"`
		} `json:"head"`
	}
	exportRun struct {
		ID      rollout.RunID `json:"id"`
		Domain  string        `json:"domain"`
		Name    string        `json:"name"`
		Keys    []string      `json:"keys"`
		Started time.Time     `json:"started"`
		Records uint64        `json:"records"`
		Ended   string        `json:"ended"`
	}
	exportRows struct {
		Digest string `json:"digest"`
		Body   string `json:"body"`
	}
	exportSum struct {
		SHA256 string `json:"sha256"` // of the bytes of all lines before
	}
)

// WriteExport writes a journal as JSON lines: what the run is, its records, the rows of its minutes, and a checksum of it all. It writes a
// damaged journal, too, as evidence; ReadExport refuses that.
func WriteExport(w io.Writer, j Journal) error {
	sum := sha256.New()
	all := io.MultiWriter(w, sum)
	if err := writeLine(all, headOf(j)); err != nil {
		return err
	}
	for _, e := range j.Entries {
		if !utf8.ValidString(e.Body) {
			return j.corrupt(e.Seq, "it is no text, so it cannot be exported as it is")
		}
		if err := writeLine(all, e); err != nil {
			return err
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(j.Rows)) {
		if !utf8.ValidString(j.Rows[digest]) {
			return fmt.Errorf("export run %s: rows %s are no text, so they cannot be exported as they are", j.Run.ID, digest)
		}
		if err := writeLine(all, exportRows{Digest: digest, Body: j.Rows[digest]}); err != nil {
			return err
		}
	}
	return writeLine(w, exportSum{SHA256: hex.EncodeToString(sum.Sum(nil))})
}

func headOf(j Journal) exportHead {
	h := exportHead{Schema: exportSchema, Run: exportRun{
		ID: j.Run.ID, Domain: j.Run.Domain, Name: j.Run.Name, Keys: j.Run.Keys, Started: j.Run.Started.UTC(), Records: j.Run.Records,
	}}
	if j.Run.Ended != 0 {
		h.Run.Ended = j.Run.Ended.String()
	}
	h.Head.Seq, h.Head.Hash = j.Head.Seq, j.Head.Hash
	return h
}

func writeLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// ReadExport reads what WriteExport wrote, and nothing else: a file that was torn or edited is refused with the line. What it returns is
// whole, but for rows that the journal had not.
func ReadExport(r io.Reader) (Journal, error) {
	x := exportReader{in: bufio.NewReader(r), sum: sha256.New(), j: Journal{Rows: map[string]string{}}}
	for !x.ended {
		if err := x.next(); err != nil {
			return Journal{}, fmt.Errorf("export, line %d: %w", x.line, err)
		}
	}
	if _, err := x.in.ReadByte(); !errors.Is(err, io.EOF) {
		return Journal{}, fmt.Errorf("export, line %d: something follows the end, or cannot be read: %w", x.line+1, err)
	}
	if _, _, err := x.j.Records(); err != nil {
		bad, _ := errors.AsType[*CorruptError](err)
		return Journal{}, fmt.Errorf("export, line %d: %w", bad.Seq+1, err)
	}
	return x.j, nil
}

type exportReader struct {
	in    *bufio.Reader
	sum   hash.Hash
	line  int
	last  string // digest of the last rows
	ended bool
	j     Journal
}

func (x *exportReader) next() error {
	x.line++
	line, err := x.in.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return errors.New("the file ends in the middle: it was torn, or is not written yet")
	}
	if err != nil {
		return err
	}
	switch what, _, _ := strings.Cut(string(line[:min(len(line), 12)]), ":"); {
	case x.line == 1:
		err = x.head(line)
	case what == `{"seq"`:
		err = x.entry(line)
	case what == `{"digest"`:
		err = x.rows(line)
	case what == `{"sha256"`:
		return x.end(line)
	default:
		err = errors.New("it is no record, no rows and no end of an export")
	}
	x.sum.Write(line)
	return err
}

func (x *exportReader) head(line []byte) error {
	var what struct{ Schema string }
	if err := json.Unmarshal(line, &what); err != nil || what.Schema != exportSchema {
		return fmt.Errorf("want the schema %s, got %q: it is another file, or of another release", exportSchema, what.Schema)
	}
	var h exportHead
	if err := exactly(line, &h); err != nil {
		return err
	}
	x.j.Run = Run{
		ID: h.Run.ID, Domain: h.Run.Domain, Name: h.Run.Name, Keys: h.Run.Keys, Started: h.Run.Started, Records: h.Run.Records, Ended: End(h.Run.Ended),
	}
	x.j.Head = Entry{Seq: h.Head.Seq, Hash: h.Head.Hash}
	return same(line, headOf(x.j))
}

func (x *exportReader) entry(line []byte) error {
	var e Entry
	if err := exactly(line, &e); err != nil {
		return err
	}
	if len(x.j.Rows) > 0 {
		return errors.New("a record stands after the rows")
	}
	x.j.Entries = append(x.j.Entries, e)
	return nil
}

func (x *exportReader) rows(line []byte) error {
	var r exportRows
	if err := exactly(line, &r); err != nil {
		return err
	}
	if len(x.j.Rows) > 0 && r.Digest <= x.last {
		return errors.New("rows stand twice, or not in the order of their digests")
	}
	if _, err := rollout.DecodeRows([]byte(r.Body), r.Digest); err != nil {
		return err
	}
	x.last, x.j.Rows[r.Digest] = r.Digest, r.Body
	return nil
}

func (x *exportReader) end(line []byte) error {
	x.ended = true
	if err := same(line, exportSum{SHA256: hex.EncodeToString(x.sum.Sum(nil))}); err != nil {
		return errors.New("the lines before are not those that were written: their checksum is another one")
	}
	return nil
}

// exactly reads a line that says nothing but v, the way it is written.
func exactly[T any](line []byte, v *T) error {
	if err := json.Unmarshal(line, v); err != nil {
		return err
	}
	return same(line, *v)
}

func same(line []byte, v any) error {
	var b bytes.Buffer
	if err := writeLine(&b, v); err != nil {
		return err
	}
	if !bytes.Equal(line, b.Bytes()) {
		return errors.New("it is not as it was written: somebody edited it")
	}
	return nil
}

// Expired returns the runs that may be removed when none is kept that started before an instant: those of them that have ended.
func Expired(runs []Run, before time.Time) []Run {
	var old []Run
	for _, r := range runs {
		if r.Ended != 0 && r.Started.Before(before) {
			old = append(old, r)
		}
	}
	return old
}
