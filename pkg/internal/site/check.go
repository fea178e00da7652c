package main

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/net/html"
)

// written is what a page has once it is written.
type written struct {
	ids   map[string]bool
	links []string
}

// check reads the pages that are in dir, and returns how many links lead to a file of the
// website, and which of them lead nowhere. Links to other hosts are not tried.
func check(dir string) (links int, problems []error) {
	pages := map[string]written{}
	files := map[string]bool{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		files[name] = true
		if path.Ext(name) != ".html" {
			return nil
		}
		p, duplicates, err := readPage(file)
		for _, id := range duplicates {
			problems = append(problems, fmt.Errorf("%s has two elements with id %q", name, id))
		}
		pages[name] = p
		return err
	})
	if err != nil {
		return 0, append(problems, err)
	}
	for name, p := range pages {
		for _, link := range p.links {
			to, err := url.Parse(link)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s links to %s: %w", name, link, err))
				continue
			}
			if to.Host != "" || to.Scheme != "" || strings.HasSuffix(to.Path, "../versions.html") {
				continue
			}
			links++
			target := name
			if to.Path != "" {
				target = path.Join(path.Dir(name), to.Path)
			}
			if !files[target] {
				problems = append(problems, fmt.Errorf("%s links to %s: there is no such file", name, link))
			} else if to.Fragment != "" && !pages[target].ids[to.Fragment] {
				problems = append(problems, fmt.Errorf("%s links to %s: the page has no such heading", name, link))
			}
		}
	}
	return links, problems
}

// readPage returns a page's ids and links, and the ids that it has twice.
func readPage(file string) (p written, duplicates []string, err error) {
	in, err := os.Open(file)
	if err != nil {
		return p, nil, err
	}
	defer in.Close()
	doc, err := html.Parse(in)
	if err != nil {
		return p, nil, err
	}
	p.ids = map[string]bool{}
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				if p.ids[a.Val] {
					duplicates = append(duplicates, a.Val)
				}
				p.ids[a.Val] = true
			case "href", "src":
				p.links = append(p.links, a.Val)
			}
		}
	}
	return p, duplicates, nil
}
