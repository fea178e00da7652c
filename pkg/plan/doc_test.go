package plan

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocNamesEachFile checks the file map in doc.go.
func TestDocNamesEachFile(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`[a-z0-9_*]+\.go`).FindAllString(string(doc), -1)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		matches := func(pattern string) bool { ok, _ := filepath.Match(pattern, file); return ok }
		if file != "doc.go" && !strings.HasSuffix(file, "_test.go") && !slices.ContainsFunc(named, matches) {
			t.Errorf("doc.go does not name %s", file)
		}
	}
	for _, pattern := range named {
		if found, _ := filepath.Glob(pattern); len(found) == 0 {
			t.Errorf("doc.go names %s, which does not exist", pattern)
		}
	}
}
