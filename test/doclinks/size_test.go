package doclinks

import (
	"path/filepath"
	"strings"
	"testing"
)

// What readers get is bounded: README.md, CONTRIBUTING.md, CHANGELOG.md and docs. A feature raises
// these limits by what it adds, on purpose.
const (
	maxPages = 29
	maxWords = 44_200
)

// TestPagesAreFew counts the pages for readers, and their words as wc does.
func TestPagesAreFew(t *testing.T) {
	count, words := 0, 0
	for _, page := range pages(t) {
		name, err := filepath.Rel(root, page)
		if err != nil {
			t.Fatal(err)
		}
		if name != "README.md" && name != "CONTRIBUTING.md" && name != "CHANGELOG.md" && !strings.HasPrefix(name, "docs"+string(filepath.Separator)) {
			continue
		}
		count++
		words += len(strings.Fields(read(t, page)))
	}
	if count > maxPages || words > maxWords {
		t.Errorf("%d pages with %d words; the limits are %d and %d", count, words, maxPages, maxWords)
	}
}
