// Package purity checks that the packages which decide do no I/O, read no clock and start no goroutine.
package purity

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pure are folders and files in pkg.
var pure = []string{
	"version", "schedule", "image/doc.go", "image/index.go", "image/name.go", "clusterstate", "rules",
	"cluster/plan", "cluster/preflight", "cluster/notice/wire", "cluster/notice/events.go", "cluster/notice/records.go", "cluster/notice/text.go", "node/machine", "node/whole", "node/verb", "node/guard/decide.go", "node/guard/problem.go", "plugin/request", "plugin/view", "plugin/report", "plugin/migrate", "plugin/doctor", "plugin/fleet",
}

// act are files in these folders that do not decide. They change objects of the cluster.
var act = []string{"plugin/migrate/changeover.go", "plugin/migrate/changeover_pause.go", "plugin/migrate/changeover_undo.go"}

// forbidden are imports that do I/O. An entry that ends in a slash includes all packages below.
var forbidden = []string{
	"k8s.io/client-go/", "k8s.io/client-go", "os", "os/", "net", "net/", "context", "log", "log/",
	"io", "io/", "sync", "syscall", "math/rand", "math/rand/v2", "crypto/rand",
}

// clock are the functions of package time that read the clock or wait.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

func TestPurePackages(t *testing.T) {
	for _, name := range pure {
		files := 0
		dir := filepath.Join("..", "..", "pkg", name)
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			if name, err := filepath.Rel(filepath.Join("..", "..", "pkg"), path); err != nil || slices.Contains(act, filepath.ToSlash(name)) {
				return err
			}
			files++
			for _, problem := range impurities(t, path) {
				t.Errorf("%s %s", path, problem)
			}
			return nil
		})
		if err != nil || files == 0 {
			t.Errorf("pkg/%s: %d files, %v", name, files, err)
		}
	}
}

// impurities returns the uses of forbidden imports and of the clock in a file.
func impurities(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	timeName := ""
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(forbidden, func(f string) bool {
			return imported == f || strings.HasSuffix(f, "/") && strings.HasPrefix(imported, f)
		}) {
			found = append(found, "imports "+imported)
		}
		if imported == "time" {
			timeName = "time"
			if spec.Name != nil {
				timeName = spec.Name.Name
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if name, ok := call.Fun.(*ast.Ident); ok && (name.Name == "print" || name.Name == "println") {
				found = append(found, "calls "+name.Name)
			}
		}
		if _, ok := n.(*ast.GoStmt); ok {
			found = append(found, "starts a goroutine")
		}
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := selector.X.(*ast.Ident); ok && timeName != "" && pkg.Name == timeName && slices.Contains(clock, selector.Sel.Name) {
			found = append(found, "uses time."+selector.Sel.Name)
		}
		return true
	})
	return found
}

// TestImpuritiesAreFound checks that the check finds impurities.
func TestImpuritiesAreFound(t *testing.T) {
	got := strings.Join(impurities(t, filepath.Join("testdata", "impure.go")), "; ")
	want := "imports net/http; imports os; imports k8s.io/client-go/rest; uses time.Now; calls println; starts a goroutine"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
