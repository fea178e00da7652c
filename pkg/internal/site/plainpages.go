package main

import (
	"html"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// source returns the page that shows a file.
func source(name string, text []byte) *page {
	title := html.EscapeString(name)
	body := "<h1>" + title + "</h1>\n<pre tabindex=\"0\"><code>" + html.EscapeString(string(text)) + "</code></pre>\n"
	return &page{path: name, title: name, body: body}
}

// folder returns the page that lists a folder.
func (s *site) folder(name string) (*page, error) {
	entries, err := os.ReadDir(filepath.Join(s.root, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	var list strings.Builder
	list.WriteString("<h1>" + html.EscapeString(name) + "</h1>\n<ul>\n")
	for _, entry := range entries {
		link, err := s.link(name, path.Join(path.Base(name), entry.Name()))
		if err != nil {
			return nil, err
		}
		label := entry.Name()
		if path.Ext(label) == ".md" {
			label = s.firstHeading(path.Join(name, label))
		}
		list.WriteString(`<li><a href="` + html.EscapeString(link) + `">` + html.EscapeString(label) + "</a></li>\n")
	}
	return &page{path: name, title: name, body: list.String() + "</ul>\n"}, nil
}

// firstHeading returns the title of a Markdown file, or its name.
func (s *site) firstHeading(name string) string {
	text, _ := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
	if first, _, _ := strings.Cut(string(text), "\n"); strings.HasPrefix(first, "# ") {
		return strings.TrimPrefix(first, "# ")
	}
	return path.Base(name)
}
