package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

var gfm = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{}, 100))),
)

// markdown returns the page for a Markdown file.
func (s *site) markdown(name string, source []byte) (*page, error) {
	p := &page{path: name, title: name}
	doc := gfm.Parser().Parse(text.NewReader(source))
	if name == index {
		p.menu = readMenu(doc, source)
	}
	names := anchors{}
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			p.add(n, names.unique(plain(n, source)), plain(n, source))
		case *ast.Link:
			n.Destination = s.rewrite(name, n.Destination)
		case *ast.Image:
			n.Destination = s.rewrite(name, n.Destination)
		case *ast.RawHTML:
			s.refuseHTML(name, string(n.Segments.Value(source)))
		case *ast.HTMLBlock:
			s.refuseHTML(name, string(n.Lines().Value(source)))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	p.sections = sections(doc, source, p.title)
	var out bytes.Buffer
	if err := gfm.Renderer().Render(&out, source, doc); err != nil {
		return nil, err
	}
	// a table may be wider than a phone, and the keyboard has to reach what scrolls; a cell
	// without text is no header
	p.body = strings.NewReplacer("<th></th>", "<td></td>", "<table>", `<div class="wide" tabindex="0"><table>`, "</table>", "</table></div>").Replace(out.String())
	return p, nil
}

// rewrite returns the link of the website for a link in a file.
func (s *site) rewrite(from string, to []byte) []byte {
	link, err := s.link(from, string(to))
	if err != nil {
		s.problems = append(s.problems, fmt.Errorf("%s links to %s: %w", from, to, err))
	}
	return []byte(link)
}

// refuseHTML allows comments alone: HTML is left out of a page.
func (s *site) refuseHTML(name, html string) {
	if !strings.HasPrefix(strings.TrimSpace(html), "<!--") {
		s.problems = append(s.problems, fmt.Errorf("%s has HTML, or a placeholder without backquotes, which the site leaves out: %s", name, html))
	}
}

// plain returns the text below a node.
func plain(n ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				out.Write(n.Segment.Value(source))
				if n.SoftLineBreak() {
					out.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				out.Write(n.Value)
			}
		case *ast.AutoLink:
			if entering {
				out.Write(n.Label(source))
			}
		case *ast.HTMLBlock:
		default:
			if entering && n.Type() == ast.TypeBlock && n.IsRaw() {
				out.Write(n.Lines().Value(source))
			}
			if !entering && n.Type() == ast.TypeBlock {
				out.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(out.String()), " ")
}
