package fleet

import (
	"os"
	"regexp"
	"testing"
)

// TestFileOfPage reads the Fleet of docs/fleets.md.
func TestFileOfPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/fleets.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(apiVersion: [^`]*kind: Fleet\n[^`]*)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/fleets.md has no Fleet")
	}
	if f, err := ReadFile(block[1]); err != nil || len(f.StageNames()) != 2 {
		t.Errorf("got stages %q and %v, want two", f.StageNames(), err)
	}
}
