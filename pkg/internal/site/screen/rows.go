package main

import (
	"fmt"
	"html"
	"strings"

	"github.com/hinshun/vt10x"
)

// The size of a character.
const (
	charWidth  = 8.0
	lineHeight = 18.0
)

const bold = 1 << 2 // vt10x does not export its bits of Glyph.Mode

// class returns the style of a character; empty: the usual one.
func class(g vt10x.Glyph) string {
	var names []string
	if g.FG.ANSI() {
		names = append(names, fmt.Sprintf("c%d", g.FG%8)) // a bold color is one of the bright eight
	}
	if g.Mode&bold != 0 {
		names = append(names, "b")
	}
	return strings.Join(names, " ")
}

// rowsOf returns the lines that the terminal shows, as SVG.
func rowsOf(terminal vt10x.Terminal) []string {
	columns, lines := terminal.Size()
	rows := make([]string, lines)
	for y := range rows {
		var row strings.Builder
		for x := 0; x < columns; {
			first := terminal.Cell(x, y)
			end, text := x, ""
			for ; end < columns && class(terminal.Cell(end, y)) == class(first); end++ {
				if r := terminal.Cell(end, y).Char; r != 0 {
					text += string(r)
				} else {
					text += " "
				}
			}
			row.WriteString(span(x, text, class(first)))
			x = end
		}
		rows[y] = row.String()
	}
	return rows
}

// span returns a piece of a line that has one style. textLength keeps columns straight in every
// font.
func span(x int, text, class string) string {
	trimmed := strings.TrimRight(text, " ")
	indent := len(trimmed) - len(strings.TrimLeft(trimmed, " "))
	if trimmed = trimmed[indent:]; trimmed == "" {
		return ""
	}
	attributes := ""
	if class != "" {
		attributes = ` class="` + class + `"`
	}
	length := float64(len([]rune(trimmed))) * charWidth
	return fmt.Sprintf(`<text x="%g" textLength="%g"%s>%s</text>`, float64(x+indent)*charWidth, length, attributes, html.EscapeString(trimmed))
}
