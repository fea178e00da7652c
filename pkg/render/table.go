package render

import (
	"strings"
	"unicode/utf8"
)

// cell is a text of one color.
type cell struct {
	text  string
	color color
}

const gap = "   "

// narrowest is the width below which a last column gets lines of its own.
const narrowest = 30

// table draws rows under a header. All columns but the last are as wide as
// they must be; the last takes what is left of the width and breaks between
// words, or moves to lines of its own where too little is left.
func (o Options) table(header []string, rows [][]cell) string {
	all := make([][]cell, 0, len(rows)+1)
	head := make([]cell, len(header))
	for i, title := range header {
		head[i] = cell{title, bold}
	}
	all = append(append(all, head), rows...)

	last := len(header) - 1
	widths := make([]int, last)
	left := 0
	for i := range widths {
		for _, row := range all {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
		left += widths[i] + len(gap)
	}
	below := o.Width > 0 && o.Width-left < narrowest
	var b strings.Builder
	for n, row := range all {
		var line strings.Builder
		for i, width := range widths {
			line.WriteString(o.paint(row[i].text, row[i].color))
			line.WriteString(strings.Repeat(" ", width-utf8.RuneCountInString(row[i].text)) + gap)
		}
		switch {
		case !below:
			o.hang(&b, line.String(), left, row[last])
		case n == 0:
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		default:
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
			if row[last].text != "" {
				o.hang(&b, "    ", 4, row[last])
			}
		}
	}
	return b.String()
}

// hang writes the cell after start, and its further lines below its first.
func (o Options) hang(b *strings.Builder, start string, indent int, c cell) {
	room := 0
	if o.Width > 0 {
		room = max(o.Width-indent, 1)
	}
	for i, line := range wrap(c.text, room) {
		if i > 0 {
			start = strings.Repeat(" ", indent)
		}
		b.WriteString(strings.TrimRight(start+o.paint(line, c.color), " ") + "\n")
	}
}

// wrap breaks text between words into lines of at most room runes. A word
// that is longer stands alone. There is always a line.
func wrap(text string, room int) []string {
	if room <= 0 || utf8.RuneCountInString(text) <= room {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= room:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
