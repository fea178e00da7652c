package sim

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// page has the table of bugs, between two comments.
const page = root + "/lab/results/simulator.md"

var table = regexp.MustCompile(`(?s)(\| --- \| --- \| --- \|\n)(.*)(<!-- end -->)`)

// writeBug writes a bug's row into the page, in the order of bugs.
func writeBug(t *testing.T, name, row string) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	was, rows := string(table.FindSubmatch(text)[2]), ""
	for _, b := range bugs {
		if b.name == name {
			rows += row + "\n"
			continue
		}
		for line := range strings.Lines(was) {
			if strings.HasPrefix(line, "| "+b.name+" |") {
				rows += line
			}
		}
	}
	text = table.ReplaceAll(text, []byte("${1}"+rows+"${3}"))
	if err := os.WriteFile(page, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
