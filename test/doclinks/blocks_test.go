package doclinks

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fence matches the beginning of a block of commands, and its first line.
var fence = regexp.MustCompile("(?m)^```((?:sh|bash|shell|console)[^\n]*)\n([^\n]*)$")

// runners are what runs the blocks of pages.
var runners = map[string]string{
	"docs/fleets.md":    "pkg/plugin/cli/testdata/script/fleets.txtar",
	"docs/commands.md":  "pkg/plugin/cli/testdata/script/commands.txtar",
	"docs/images.md":    "pkg/cluster/source/mirrorpage_test.go",
	"docs/rollback.md":  "lab/scenario/restore.go",
	"docs/schedules.md": "pkg/plugin/cli/schedulespage_test.go",
	"docs/play.md":      "test/play/page_test.go",
	"docs/runbooks.md":  "lab/e2e/runbooks_test.go",
}

// TestBlocksSayWhetherTheyAreRun checks that a block of commands which no test runs says so, as
// CONTRIBUTING.md explains.
func TestBlocksSayWhetherTheyAreRun(t *testing.T) {
	run := map[string]int{}
	for _, page := range pages(t) {
		name, err := filepath.Rel(root, page)
		if err != nil {
			t.Fatal(err)
		}
		runner := runners[name]
		for _, block := range fence.FindAllStringSubmatch(read(t, page), -1) {
			switch info, first := block[1], block[2]; {
			case info == "console" && name != "docs/runbooks.md", info == "sh example":
			case info == "console run" && runner != "":
				run[runner]++
			case info == "sh" && runner != "":
				run[runner]++
				if title, ok := strings.CutPrefix(first, "# "); !ok || !strings.Contains(read(t, filepath.Join(root, runner)), title) {
					t.Errorf("%s: no test runs the block of sh that begins with %q: write `sh example`", name, first)
				}
			default:
				t.Errorf("%s: the block %q that begins with %q has to be `sh`, `sh example`, `console` or `console run`, and needs its test in the table runners if it is run", name, info, first)
			}
		}
	}
	for page, runner := range runners {
		if run[runner] == 0 {
			t.Errorf("%s: no block is run by %s", page, runner)
		}
	}
}

// pages returns all Markdown files that are pages.
func pages(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		hidden := err == nil && entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root
		if err != nil || hidden || entry.Name() == "testdata" || path == filepath.Join(root, "bin") { // it may have the former version
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			all = append(all, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
