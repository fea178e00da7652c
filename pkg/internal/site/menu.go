package main

import (
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
)

// index is the page that lists the others by question: the website's menu, too.
const index = "docs/README.md"

// menu is a section of the menu.
type menu struct {
	Title     string
	paths     []string
	questions []section
}

// readMenu returns the sections of the index, with the pages that each is the first to link to.
func readMenu(doc ast.Node, source []byte) (all []menu) {
	listed := map[string]bool{}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				all = append(all, menu{Title: plain(n, source)})
			}
		case *extension.Table:
			last := &all[len(all)-1]
			for row := n.FirstChild().NextSibling(); row != nil; row = row.NextSibling() {
				last.add(row, source, listed)
			}
		}
	}
	return all
}

// add adds the pages of a row, which is a question and links.
func (m *menu) add(row ast.Node, source []byte, listed map[string]bool) {
	question := plain(row.FirstChild(), source)
	_ = ast.Walk(row, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		link, ok := n.(*ast.Link)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		to := string(link.Destination)
		m.questions = append(m.questions, section{Title: question, URL: to})
		if to, _, _ = strings.Cut(to, "#"); to != "" && !listed[to] {
			listed[to] = true
			m.paths = append(m.paths, path.Join(path.Dir(index), to))
		}
		return ast.WalkContinue, nil
	})
}
