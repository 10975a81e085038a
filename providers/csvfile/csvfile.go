// Package csvfile reads minutes from a CSV file: one that another program appends to, or one that was recorded. Backtests read the
// same format with [Decode], which is pure.
//
// The format. UTF-8, with or without a byte order mark; lines end in LF or CRLF; cells are separated by commas and quoted as in
// RFC 4180; blanks around a cell do not count, empty lines neither. The first line names the columns, in any order:
//
//	minute      required: the start of the minute, as 2021-06-25T02:00:00+08:00 or in seconds since 1970; a whole minute
//	platform    the platform; without the column platforms are not told apart
//	cdn         primary or backup, or a value of the plan's legs; without the column every row is the primary's
//	requests, errors, total_ms, tls_ms, tls, bytes, tls13, status_2xx, status_4xx, status_5xx
//	            sums over the minute, as decimal numbers; at least one of the columns; an empty cell is an absent number, which is not zero
//
// Laws, beside those of package providers:
//
//   - A cell that is no number (NaN, an infinity, a negative number, a word) makes its minute unknown. It is never dropped, and never zero.
//   - Anything else that is wrong refuses the whole file, with line and column of each problem: what cannot be read as a whole is not
//     read in part. So are rows that lie further apart than a minute: they are sums over longer times.
//   - Two rows for one minute are both kept: [guardrails.Table.Merge] makes the minute unknown when they differ.
//   - Of a live file the last line counts when its line feed is there. A file that changes while it is read is read again.
//   - Status shares need all three classes: a minute that has but some of them has none.
//   - Errors repeat no cell but what looks like a time or a word of a few letters: the path may lead to a file that was not meant.
package csvfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

const (
	name = "csvfile"

	// maxFile bounds a file, in bytes: half a year of four series takes about 80 MiB. It is read whole for every answer.
	maxFile = 128 << 20
)

// Source is one source of a plan. Its methods may be called by several goroutines.
type Source struct {
	path   string
	format Format
	reread func() // called between reading the file and looking whether it changed; nil but in tests
}

var _ providers.Metrics = (*Source)(nil)

// New returns the source. The file need not be there yet. A relative path starts at the working directory of each Fetch.
func New(s plans.Source) *Source {
	return &Source{path: s.Path, format: Format{Name: s.Path, Legs: s.Legs}}
}

// Fetch implements providers.Metrics. The error is Missing when there is no file; Transient when the file is empty or changed
// while it was read; Denied when it may not be read; Invalid when it is not what the package comment describes.
func (s *Source) Fetch(ctx context.Context, from, to guardrails.Minute) ([]guardrails.Row, error) {
	if ctx.Err() != nil {
		return nil, s.failure(providers.Transient, ctx.Err())
	}
	f, before, err := s.open()
	if err != nil {
		return nil, s.classify(ctx, err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	end, err := wholeLines(f, before.Size())
	if err != nil {
		return nil, s.classify(ctx, err)
	}
	if end == 0 {
		return nil, s.failure(providers.Transient, errors.New("the file has no whole line yet"))
	}
	rows, err := s.format.decode(&watched{ctx, io.NewSectionReader(f, 0, end)}, func(m guardrails.Minute) bool { return m >= from && m <= to })
	if s.reread != nil {
		s.reread()
	}
	after, statErr := f.Stat()
	switch {
	case ctx.Err() == nil && (statErr != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime())):
		return nil, s.failure(providers.Transient, errors.New("the file changed while it was read"))
	case err != nil:
		return nil, s.classify(ctx, err)
	}
	return rows, nil
}

// open opens the file when it is one that ends. What is no file is not opened: a named pipe would wait for its writer.
func (s *Source) open() (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(s.path)
	switch {
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, errors.New("this is no file but a " + kindOf(info.Mode()))
	case info.Size() > maxFile:
		return nil, nil, fmt.Errorf("the file is longer than %d MiB: start a new one", maxFile>>20)
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

func kindOf(m fs.FileMode) string {
	if m.IsDir() {
		return "directory"
	}
	return "device or pipe"
}

func (s *Source) failure(kind providers.Kind, err error) *providers.Error {
	return &providers.Error{Provider: name, Op: "read " + s.path, Kind: kind, Err: err}
}

// classify gives an error its kind. A path error is stripped of the path, which is in the operation.
func (s *Source) classify(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return s.failure(providers.Transient, ctx.Err())
	}
	if ps, ok := errors.AsType[Problems](err); ok {
		return s.failure(providers.Invalid, errors.New(ps.brief()))
	}
	kind := providers.Invalid
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		kind, err = providers.Transient, p.Err
	}
	e := s.failure(kind, err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind = providers.Missing
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Action = providers.Denied, "permission to read the file"
	}
	return e
}

// watched ends a read when ctx ends.
type watched struct {
	ctx context.Context //nolint:containedctx // io.Reader has no parameter for it; the value lives for one Fetch
	r   io.Reader
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.r.Read(p)
}

// wholeLines returns how many bytes of a file of that size its whole lines take, with their line feeds.
func wholeLines(r io.ReaderAt, size int64) (int64, error) {
	block := make([]byte, 4096)
	for end := size; end > 0; {
		start := max(end-int64(len(block)), 0)
		n, err := r.ReadAt(block[:end-start], start)
		if err != nil && (!errors.Is(err, io.EOF) || int64(n) < end-start) {
			return 0, fmt.Errorf("look for the last line: %w", err)
		}
		for i := n - 1; i >= 0; i-- {
			if block[i] == '\n' {
				return start + int64(i) + 1, nil
			}
		}
		end = start
	}
	return 0, nil
}
