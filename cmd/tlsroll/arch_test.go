package main_test

import (
	"bufio"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tlsroll/tlsroll/"

// law is the import law: a package may import from the module what stands here, and nothing else. A name ending in /* stands for every
// package below. Commands import everything; nothing imports them.
var law = map[string][]string{
	"guardrails":                 {},
	"guardrails/backtest":        {"guardrails"},
	"plans":                      {"guardrails"},
	"plans/examples":             {},
	"providers":                  {"plans", "guardrails"},
	"providers/providertest":     {"providers", "plans", "guardrails"},
	"providers/retry":            {"providers", "plans", "guardrails"},
	"providers/alicloud":         {"providers", "plans", "guardrails"},
	"providers/qiniu":            {"providers", "plans", "guardrails"},
	"providers/prometheus":       {"providers", "plans", "guardrails"},
	"providers/csvfile":          {"providers", "plans", "guardrails"},
	"providers/jsonhttp":         {"providers", "plans", "guardrails"},
	"providers/tlsprobe":         {"providers", "plans", "guardrails"},
	"providers/resolve":          {"providers", "plans", "guardrails"},
	"providers/lab/world":        {"providers", "plans", "guardrails"},
	"providers/lab":              {"providers", "plans", "plans/examples", "guardrails", "providers/lab/world"},
	"controller/rollout":         {"plans", "guardrails"},
	"controller/rollout/mutant":  {},
	"controller/store":           {"controller/rollout"},
	"controller/store/storetest": {"controller/store", "controller/rollout", "plans", "guardrails"},
	"controller/store/sqlite":    {"controller/store", "controller/rollout", "plans"},
	"controller/store/etcd":      {"controller/store", "controller/rollout"},
	"controller/engine":          {"controller/rollout", "controller/store", "providers", "plans", "guardrails"},
	"controller/schedule":        {"plans"},
	"controller/sim":             {"controller/engine", "controller/rollout", "plans", "guardrails", "providers/lab/world"},
	"cmd/tlsroll/view":           {"controller/rollout", "controller/sim", "plans", "guardrails", "guardrails/backtest"},
	"cmd/tlsroll":                {"*"},
}

// pure packages decide; they may not reach for a clock, a file, a socket or another goroutine.
var pure = []string{"guardrails", "guardrails/backtest", "plans", "controller/rollout"}

var impure = []string{"os", "os/exec", "net", "net/http", "io/fs", "sync", "log", "log/slog", "context", "math/rand", "math/rand/v2", "crypto/rand"}

var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

type source struct {
	pkg, path string
	test      bool
}

func sources(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	var out []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin"):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go"):
			rel, err := filepath.Rel(root, filepath.Dir(path))
			out = append(out, source{pkg: filepath.ToSlash(rel), path: path, test: strings.HasSuffix(path, "_test.go")})
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("found only %d Go files: the walk is wrong", len(out))
	}
	return out
}

func TestImportsGoDownward(t *testing.T) {
	for _, s := range sources(t) {
		allowed, known := law[s.pkg]
		if !known {
			t.Errorf("%s: package %s is not in the import law; add it with what it may import", s.path, s.pkg)
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), s.path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			if !s.test && slices.Contains(pure, s.pkg) && slices.Contains(impure, path) {
				t.Errorf("%s: the pure package %s imports %s", s.path, s.pkg, path)
			}
			own, inside := strings.CutPrefix(path, module)
			if !inside || s.test || slices.Contains(allowed, "*") || slices.Contains(allowed, own) {
				continue
			}
			t.Errorf("%s: %s may not import %s", s.path, s.pkg, own)
		}
	}
}

func TestPurePackagesHaveNoClock(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || !slices.Contains(pure, s.pkg) {
			continue
		}
		text, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range clocks {
			if strings.Contains(string(text), "time."+c+"(") {
				t.Errorf("%s calls time.%s: time is an argument here", s.path, c)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	comments := map[string]int{}
	for _, s := range sources(t) {
		f, err := parser.ParseFile(token.NewFileSet(), s.path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		if _, seen := comments[s.pkg]; !seen {
			comments[s.pkg] = 0
		}
		if f.Doc != nil && !s.test {
			comments[s.pkg]++
		}
	}
	for pkg, n := range comments {
		if n != 1 {
			t.Errorf("package %s has %d package comments, want 1", pkg, n)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	const limit = 500
	for _, s := range sources(t) {
		f, err := os.Open(s.path)
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for in := bufio.NewScanner(f); in.Scan(); {
			lines++
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if lines > limit {
			t.Errorf("%s has %d lines, the limit is %d: split it by subject", s.path, lines, limit)
		}
	}
}

func TestNothingElseAtTheRoot(t *testing.T) {
	want := []string{"CHANGELOG.md", "LICENSE", "Makefile", "README.md", "cmd", "controller", "go.mod", "go.sum", "guardrails", "plans", "providers"}
	ignored := []string{"bin", "tlsroll"} // what builds leave, and git ignores
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(ignored, e.Name()) && !slices.Contains(want, e.Name()) {
			t.Errorf("%s stands at the root", e.Name())
		}
	}
}
