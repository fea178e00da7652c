// Package filemap checks the maps of files in the documentation of large packages.
package filemap

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestDocNamesEachFile(t *testing.T) {
	for _, name := range []string{"plan", "agent"} {
		dir := filepath.Join("..", "..", name)
		doc, err := os.ReadFile(filepath.Join(dir, "doc.go"))
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile(`[A-Za-z0-9_*]+\.go\b`).FindAllString(string(doc), -1)
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			file := filepath.Base(path)
			matches := func(pattern string) bool { ok, _ := filepath.Match(pattern, file); return ok }
			if file != "doc.go" && !strings.HasSuffix(file, "_test.go") && !slices.ContainsFunc(named, matches) {
				t.Errorf("pkg/%s/doc.go does not name %s", name, file)
			}
		}
		for _, pattern := range named {
			if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) == 0 {
				t.Errorf("pkg/%s/doc.go names %s, which does not exist", name, pattern)
			}
		}
	}
}
