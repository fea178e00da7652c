//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPassedCases checks which cases are not run again. It needs no cluster.
func TestPassedCases(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	row := func(id, happened, promises, comment string) string {
		return "| `" + id + "` | " + happened + " | – | 1s | " + promises + " " + comment + " |\n"
	}
	this := buildComment(t)
	text := row("kept", "x", "kept", this) + row("of-another-build", "x", "kept", "<!-- build 0123456789ab -->") + row("of-no-build", "x", "kept", "") +
		row("failed", "**failed**: x", "kept", this) + row("broken", "x", "**broken**: y", this)
	if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RELIABILITY", page)
	if passed := passedCases(t); len(passed) != 1 || !passed["kept"] {
		t.Errorf("%v have passed, want the first alone", passed)
	}
	t.Setenv("FAULT_FORCE", "1")
	if passed := passedCases(t); len(passed) != 0 {
		t.Errorf("%v are left out although all are to be run", passed)
	}
}
