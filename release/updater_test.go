package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestUpdater checks that Renovate finds each program that is run or installed at a version, which no go.mod has, and
// that it leaves out no module but the one that is old on purpose.
func TestUpdater(t *testing.T) {
	var config struct {
		IgnorePaths    []string
		CustomManagers []struct{ ManagerFilePatterns, MatchStrings []string }
	}
	text, err := os.ReadFile("../.github/renovate.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	if want := []string{"test/oldest/**"}; !slices.Equal(config.IgnorePaths, want) {
		t.Errorf("ignorePaths are %v, want %v", config.IgnorePaths, want)
	}
	manager := config.CustomManagers[0]
	matches := regexp.MustCompile(`^` + manager.MatchStrings[0] + `$`)
	pinned := regexp.MustCompile(`[\w.-]+\.[a-z]+/[\w./-]+@v\d[^\s"']*`)
	found := 0
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{".git", "bin", "dist", "testdata", "node_modules"}, d.Name()) {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || d.Name() != "Makefile" && !slices.Contains([]string{".sh", ".yaml", ".py"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		for _, tool := range pinned.FindAllString(string(text), -1) {
			found++
			file := strings.TrimPrefix(filepath.ToSlash(path), "../")
			if !slices.ContainsFunc(manager.ManagerFilePatterns, func(p string) bool { return regexp.MustCompile(strings.Trim(p, "/")).MatchString(file) }) {
				t.Errorf("%s has %s, and Renovate does not read this file", file, tool)
			}
			if match := matches.FindStringSubmatch(tool); match == nil || strings.Contains(match[1], "/cmd/") {
				t.Errorf("%s has %s, of which Renovate finds %q", file, tool, match)
			}
		}
		return err
	})
	if err != nil || found < 8 {
		t.Errorf("found %d programs: %v", found, err)
	}
}
