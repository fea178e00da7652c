// Package performance keeps lab/results/performance.md: each benchmark, of the product and of the
// lab, records a section of it as lab/results/performance/NAME.json, and the page is made of all
// sections.
package performance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Section is what a benchmark has measured last.
type Section struct {
	// Name is that of its file; sections are in the order of Order and Name.
	Name  string
	Order int
	Title string
	// Commit, Date and Load say of which tree the figures are, when they were measured, and the machine's load averages of the last
	// 1, 5 and 15 minutes at the end. Record sets them.
	Commit, Date, Load string `json:",omitempty"`
	// Measures are the folders whose changes may change the figures: `make bench-stale`.
	Measures []string `json:",omitempty"`
	// Text says what was measured, with what, with which settings and how, in Markdown.
	Text   string
	Tables []Table
	// Notes follow the tables: goals that are missed, and why.
	Notes []string
	// Data is the benchmark's own, from which it can make the section again together with
	// what it measures later.
	Data json.RawMessage `json:",omitempty"`
}

// Table is a table of figures. A cell is Markdown.
type Table struct {
	// Text stands above the table.
	Text    string
	Columns []string
	Rows    [][]string
}

const intro = `# Performance

<!-- Made of the sections in lab/results/performance, which the benchmarks record. -->

What was measured, each figure with the command that measures it again and with what it was measured. Goals that are missed are in the tables, with why below them. [docs/compatibility.md](../../docs/compatibility.md#speed) says what this means for a cluster.
`

// Sections returns the sections in a folder, in the order of the page.
func Sections(folder string) (sections []Section, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		s, err := read(file)
		if err != nil {
			return nil, err
		}
		sections = append(sections, s)
	}
	slices.SortFunc(sections, func(a, b Section) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), strings.Compare(a.Name, b.Name))
	})
	return sections, nil
}

// Page returns the page that is made of the sections in a folder.
func Page(folder string) (string, error) {
	sections, err := Sections(folder)
	if err != nil {
		return "", err
	}
	page := intro
	for _, s := range sections {
		page += s.markdown()
	}
	return page, nil
}

func read(file string) (s Section, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("reading %s: %w", file, err)
	}
	if want := s.Name + ".json"; filepath.Base(file) != want {
		return s, fmt.Errorf("%s has the section %q, which belongs into %s", file, s.Name, want)
	}
	return s, nil
}

func (s Section) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n%s\n", s.Title, strings.TrimSpace(s.Text))
	if s.Commit != "" {
		fmt.Fprintf(&b, "\nMeasured on %s at commit %s, %s.\n", s.Date, s.Commit, cmp.Or(s.Load, "on two cores whose load was not noted"))
	}
	for _, t := range s.Tables {
		b.WriteString("\n")
		if t.Text != "" {
			fmt.Fprintf(&b, "%s\n\n", t.Text)
		}
		line(&b, t.Columns)
		line(&b, slices.Repeat([]string{"---"}, len(t.Columns)))
		for _, row := range t.Rows {
			line(&b, row)
		}
	}
	if len(s.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, note := range s.Notes {
		fmt.Fprintf(&b, "- %s\n", note)
	}
	return b.String()
}

func line(b *strings.Builder, cells []string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}
