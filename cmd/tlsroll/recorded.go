package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/guardrails/backtest"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/csvfile"
)

// record is where recorded minutes come from.
type record interface {
	// Rows returns every minute that was recorded of a source. Its errors name file and line.
	Rows(s plans.Source) ([]guardrails.Row, error)
	// Changes returns when the share asked of the primary changed, oldest first; none when that was not recorded.
	Changes() ([]backtest.Change, error)
}

// folder is a record of CSV files: SOURCE.csv for each source, and changes.csv if there is one.
type folder string

// Rows implements record.
func (f folder) Rows(s plans.Source) ([]guardrails.Row, error) {
	path := filepath.Join(string(f), s.Name+".csv")
	file, err := os.Open(path) //nolint:gosec // the user names the folder
	if err != nil {
		return nil, fmt.Errorf("read the recorded minutes: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	rows, err := csvfile.Decode(file, csvfile.Format{Name: path, Legs: s.Legs})
	if err != nil {
		return nil, fmt.Errorf("read the recorded minutes: %w", err)
	}
	return rows, nil
}

// Changes implements record.
func (f folder) Changes() (changes []backtest.Change, err error) {
	err = f.read("changes.csv", "at", []string{"at", "share", "verified"}, func(line []string, columns []int) error {
		c, err := changeOf(line, columns)
		if n := len(changes); err == nil && n > 0 && c.At.Before(changes[n-1].At) {
			err = errors.New("this change comes before the one above; write the oldest first")
		}
		changes = append(changes, c)
		return err
	})
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return changes, err
}

// read hands every line of a file to take, with the number of each cell's column among the known ones.
func (f folder) read(name, required string, known []string, take func(line []string, columns []int) error) error {
	path := filepath.Join(string(f), name)
	file, err := os.Open(path) //nolint:gosec // the user names the folder
	if err != nil {
		return fmt.Errorf("read the recorded minutes: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	in := csv.NewReader(bufio.NewReaderSize(file, 1<<16))
	in.ReuseRecord = true
	header, err := in.Read()
	if err != nil {
		return fmt.Errorf("%s:1: there is no header: %w", path, err)
	}
	columns, err := columnsOf(header, known, required)
	if err != nil {
		return fmt.Errorf("%s:1: %w", path, err)
	}
	for {
		line, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = take(line, columns)
		} else if p, ok := errors.AsType[*csv.ParseError](err); ok {
			return fmt.Errorf("%s:%d: %w", path, p.Line, p.Err)
		}
		if err != nil {
			at, _ := in.FieldPos(0)
			return fmt.Errorf("%s:%d: %w", path, at, err)
		}
	}
}

// columnsOf finds each cell of the header among the known names.
func columnsOf(header, known []string, required string) ([]int, error) {
	columns, seen := make([]int, len(header)), map[string]bool{}
	for i, name := range header {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		columns[i] = -1
		for k := range known {
			if known[k] == name {
				columns[i] = k
			}
		}
		switch {
		case columns[i] < 0:
			return nil, fmt.Errorf("there is no column %q; known are %s", name, strings.Join(known, ", "))
		case seen[name]:
			return nil, fmt.Errorf("column %q stands there twice", name)
		}
		seen[name] = true
	}
	if !seen[required] {
		return nil, fmt.Errorf("column %q is missing", required)
	}
	return columns, nil
}

// changeOf reads a line of changes.csv.
func changeOf(line []string, columns []int) (c backtest.Change, err error) {
	share := ""
	for i, cell := range line {
		switch columns[i] {
		case 0:
			c.At, err = instantOf(cell)
		case 1:
			share = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(cell), "%"))
		case 2:
			if cell != "" {
				c.Verified, err = instantOf(cell)
			}
		}
		if err != nil {
			return c, err
		}
	}
	n, err := strconv.ParseFloat(share, 64)
	if err != nil || !(n >= 0 && n <= 100) {
		return c, fmt.Errorf("share %q is not a percentage from 0 to 100", share)
	}
	c.Share = guardrails.Percent(n)
	if !c.Verified.IsZero() && c.Verified.Before(c.At) {
		return c, errors.New("the share is verified before it changed")
	}
	return c, nil
}

// instantOf reads RFC 3339 or Unix seconds.
func instantOf(s string) (time.Time, error) {
	if strings.Trim(s, "0123456789") == "" {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && n < 1<<36 {
			return time.Unix(n, 0).UTC(), nil
		}
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no instant; write 2021-06-24T18:00:00Z or Unix seconds", s)
	}
	return t.UTC(), nil
}
