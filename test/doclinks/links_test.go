package doclinks

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	// GitHub omits these from an anchor
	punctuation = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func TestLinksAreValid(t *testing.T) {
	links := 0
	for _, path := range pages(t) {
		page := read(t, path)
		for _, match := range link.FindAllStringSubmatch(page, -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			links++
			check(t, path, page, match[1])
		}
	}
	if links < 60 {
		t.Errorf("got only %d links: the pattern may be wrong", links)
	}
}

// check fails the test if a link's target, as path/file.md#heading, does not exist.
func check(t *testing.T, path, page, target string) {
	t.Helper()
	file, anchor := splitAnchor(target)
	if file != "" {
		file = filepath.Join(filepath.Dir(path), file)
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s links to %s: %v", path, target, err)
			return
		}
		if anchor != "" {
			page = read(t, file)
		}
	}
	if anchor != "" && !anchors(page)[anchor] {
		t.Errorf("%s links to %s: the heading does not exist", path, target)
	}
}

// splitAnchor splits path/file.md#heading.
func splitAnchor(target string) (file, anchor string) {
	file, anchor, _ = strings.Cut(target, "#")
	return file, anchor
}

func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(page, -1) {
		text := punctuation.ReplaceAllString(strings.ToLower(match[1]), "")
		found[strings.ReplaceAll(text, " ", "-")] = true
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
