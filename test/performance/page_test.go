package performance

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write lab/results/performance.md anew, as after a note in a section was changed")

// TestPage checks that lab/results/performance.md is made of the recorded sections.
func TestPage(t *testing.T) {
	want, err := Page("../../lab/results/performance")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("../../lab/results/performance.md", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("../../lab/results/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the page is not made of its sections; each `make bench…` target writes both (-want +got):\n%s", diff)
	}
}

func TestRecord(t *testing.T) {
	book := Book{t.TempDir()}
	if last := book.Last(t, "b"); last.Title != "" {
		t.Errorf("before it was recorded: %+v", last)
	}
	book.Record(t, Section{Name: "b", Order: 1, Title: "Second", Text: "Text.", Notes: []string{"It is slow."}, Tables: []Table{
		{Text: "Above.", Columns: []string{"figure", "goal"}, Rows: [][]string{{"1 s", "2 s"}}},
	}})
	book.Record(t, Section{Name: "c", Title: "First", Text: "Text."})
	if last := book.Last(t, "b"); last.Title != "Second" {
		t.Errorf("recorded: %+v", last)
	}
	page, err := os.ReadFile(filepath.Join(book.results, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	measured := regexp.MustCompile(`\nMeasured on \d{4}-\d\d-\d\d at commit \w+(-dirty)?, on [^\n]+\n`)
	if n := len(measured.FindAllString(string(page), -1)); n != 2 {
		t.Errorf("%d of 2 sections say when, of what and on which machine they were measured:\n%s", n, page)
	}
	page = measured.ReplaceAll(page, nil)
	want := "\n## First\nText.\n\n## Second\nText.\n\nAbove.\n\n| figure | goal |\n| --- | --- |\n| 1 s | 2 s |\n\n- It is slow.\n"
	if _, sections, _ := strings.Cut(string(page), "for a cluster.\n"); sections != want {
		t.Errorf("-want +got:\n%s", cmp.Diff(want, sections))
	}
	if err := os.Rename(book.file("c"), book.file("d")); err != nil {
		t.Fatal(err)
	}
	if _, err := Page(filepath.Join(book.results, "performance")); err == nil {
		t.Error("a section in another section's file is accepted")
	}
}
