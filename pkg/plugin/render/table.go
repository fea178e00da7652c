package render

import (
	"cmp"
	"slices"
	"strings"
)

// cell is a text of one color.
type cell struct {
	text  string
	color color
}

const gap = "   "

// narrowest is the width below which a last column gets lines of its own.
const narrowest = 30

// shortestName is the least that is left of a node's name.
const shortestName = 12

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
	widths, left := measure(all)
	longest := 0
	for _, row := range all {
		longest = max(longest, textWidth(row[last].text))
	}
	below := o.tight(left) && left+longest > o.Width
	if name := slices.Index(header, "NODE"); below && name >= 0 && left-len(gap) > o.Width {
		// The beginning of a name is enough; other texts have to be read to their end.
		widths[name] = max(widths[name]-(left-len(gap)-o.Width), shortestName)
	}
	var b strings.Builder
	for n, row := range all {
		var line strings.Builder
		for i, width := range widths {
			text := o.cut(row[i].text, width)
			line.WriteString(o.paint(text, row[i].color))
			line.WriteString(strings.Repeat(" ", width-textWidth(text)) + gap)
		}
		switch {
		case !below:
			o.hang(&b, line.String(), left, row[last])
		case n == 0:
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		default:
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
			if row[last].text != "" && row[last].text != "-" {
				o.hang(&b, "    ", 4, row[last])
			}
		}
	}
	return b.String()
}

// measure returns how wide each column but the last must be, and their sum.
func measure(rows [][]cell) (widths []int, left int) {
	widths = make([]int, len(rows[0])-1)
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], textWidth(row[i].text))
		}
		left += widths[i] + len(gap)
	}
	return widths, left
}

// tight reports whether too little room is left for a last column.
func (o Options) tight(left int) bool { return o.Width > 0 && o.Width-left < narrowest }

// hang writes the cell after start, and its other lines below the first.
func (o Options) hang(b *strings.Builder, start string, indent int, c cell) {
	room := 0
	if o.Width > 0 {
		room = max(o.Width-indent, 1)
	}
	for i, line := range fold(wrap(c.text, room), room) {
		if i > 0 {
			start = strings.Repeat(" ", indent)
		}
		b.WriteString(strings.TrimRight(start+o.paint(line, c.color), " ") + "\n")
	}
}

// fold breaks lines that are too long because they have no space: a terminal would
// continue them at its left edge.
func fold(lines []string, room int) []string {
	var short []string
	for _, line := range lines {
		for room > 0 && textWidth(line) > room {
			head := cmp.Or(beginning(line, room), letters(line)[0])
			if head == line {
				break // one letter, which fits nowhere
			}
			short, line = append(short, head), line[len(head):]
		}
		short = append(short, line)
	}
	return short
}

// wrap breaks text between words into lines of at most room columns. A longer word gets a
// line of its own. There is always a line.
func wrap(text string, room int) []string {
	if room <= 0 || textWidth(text) <= room {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case textWidth(line)+1+textWidth(word) <= room:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
