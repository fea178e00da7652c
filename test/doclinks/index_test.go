package doclinks

import (
	"path/filepath"
	"testing"
)

// TestIndexHasEachPage checks that docs/README.md links to every page of docs.
func TestIndexHasEachPage(t *testing.T) {
	listed := map[string]bool{"README.md": true}
	for _, match := range link.FindAllStringSubmatch(read(t, filepath.Join(root, "docs", "README.md")), -1) {
		file, _ := splitAnchor(match[1])
		listed[file] = true
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("found only %d pages: %v", len(pages), err)
	}
	for _, page := range pages {
		if !listed[filepath.Base(page)] {
			t.Errorf("docs/README.md does not list %s", filepath.Base(page))
		}
	}
}
