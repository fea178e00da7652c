package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"strings"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed site.css
	siteCSS []byte
	//go:embed search.js
	searchJS []byte

	layout = template.Must(template.New("page").Parse(pageHTML))
)

// view is what the layout shows.
type view struct {
	Title, Version, Up string
	Body               template.HTML
	Contents           []heading
	Menu               []menuView
	Home               bool
}

type menuView struct {
	Title string
	Links []linkView
}

type linkView struct {
	Title, URL string
	Current    bool
}

// write writes the website to dir.
func (s *site) write(dir string) error {
	for _, p := range s.pages {
		var out strings.Builder
		if err := layout.Execute(&out, s.view(p)); err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
		if err := writeFile(dir, outPath(p.path), []byte(out.String())); err != nil {
			return err
		}
	}
	for _, name := range s.images {
		image, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if err := writeFile(dir, outPath(name), image); err != nil {
			return err
		}
	}
	found, err := s.searchIndex()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"site.css": siteCSS, "search.js": searchJS, "index.js": found} {
		if err := writeFile(dir, name, content); err != nil {
			return err
		}
	}
	return nil
}

func (s *site) view(p *page) view {
	v := view{Title: p.title, Version: s.version, Up: up(outPath(p.path)), Body: template.HTML(p.body), Home: p.path == "README.md"} //nolint:gosec // rendered from the checkout, without HTML of its own
	for _, h := range p.headings {
		if h.Level == 2 {
			v.Contents = append(v.Contents, h)
		}
	}
	if len(v.Contents) < 3 {
		v.Contents = nil
	}
	for _, m := range s.menu() {
		shown := menuView{Title: m.Title}
		for _, name := range m.paths {
			name = s.readme(name)
			shown.Links = append(shown.Links, linkView{s.titles[name], relative(outPath(p.path), outPath(name)), name == p.path})
		}
		v.Menu = append(v.Menu, shown)
	}
	return v
}

// menu returns the menu, which is that of the index.
func (s *site) menu() []menu {
	for _, p := range s.pages {
		if p.path == index {
			return p.menu
		}
	}
	return nil
}

func writeFile(dir, name string, content []byte) error {
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // for a web server to read
		return err
	}
	return os.WriteFile(file, content, 0o644) //nolint:gosec // for a web server to read
}

// pathOf returns the path in the checkout of what a link in the index leads to.
func pathOf(link string) (name, fragment string) {
	link, fragment, _ = strings.Cut(link, "#")
	return path.Join(path.Dir(index), link), fragment
}
