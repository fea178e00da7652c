package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
)

type heading struct {
	Level    int
	ID, Text string
}

// section is what a search finds: a heading with the text below it.
type section struct {
	Title   string `json:"t"`
	Heading string `json:"h,omitempty"`
	URL     string `json:"u"`
	Text    string `json:"x,omitempty"`
}

// add adds a heading to the page. The first of the first level is the page's title.
func (p *page) add(n *ast.Heading, id, text string) {
	n.SetAttributeString("id", []byte(id))
	if n.Level == 1 && len(p.headings) == 0 {
		p.title = text
	}
	p.headings = append(p.headings, heading{n.Level, id, text})
}

// anchors has the names of a page's headings so far, as code hosts make them.
type anchors map[string]int

// code hosts omit these from a name
var punctuation = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

func (a anchors) unique(text string) string {
	id := strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
	n := a[id]
	a[id]++
	if n > 0 {
		return fmt.Sprintf("%s-%d", id, n)
	}
	return id
}

// sections returns the document's sections.
func sections(doc ast.Node, source []byte, title string) []section {
	all := []section{{Title: title}}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			if h.Level > 1 {
				id, _ := h.AttributeString("id")
				all = append(all, section{Title: title, Heading: plain(h, source), URL: "#" + string(id.([]byte))})
			}
			continue
		}
		last := &all[len(all)-1]
		last.Text = strings.TrimSpace(last.Text + " " + plain(n, source))
	}
	return all
}
