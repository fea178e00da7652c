package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// cell is a text of one color.
type cell struct {
	text  string
	color color
}

const gap = "   "

// narrowest is the width below which a text of the last column gets a line of its own, and
// below is what stands before it there.
const (
	narrowest = 40
	below     = "    "
)

// shortestName is the least that is left of a node's name.
const shortestName = 12

// column is a column of a table.
type column struct {
	title string
	cells []cell
	// leaves says in which order columns move to the line below where there is no room: 1 first,
	// 0 never.
	leaves int
	// as is what stands before a cell there, and usual the text that is not worth a line.
	as, usual string
	// shortens reports whether the cells lose their middle where they take more than a quarter of the width.
	shortens bool
}

// table is columns, the last of which has what people read to its end. There is one way to be narrow:
// what has no room in its line is in the line below.
type table struct {
	columns []column
	// commands are drawn below their rows on a terminal, each in one line at its edge, so that it can be copied. Nil: no row has one.
	commands []string
	// once reports whether a text that several rows have is drawn once, below the table.
	once bool
	// oneLine reports whether each row has one line, as on a screen that is redrawn: what has no room
	// is left out, and the last text is cut.
	oneLine bool
}

// table draws rows under a header.
func (o Options) table(header []string, rows [][]cell) string {
	return o.draw(table{columns: columnsOf(header, rows)})
}

// columnsOf returns rows as columns that never leave.
func columnsOf(header []string, rows [][]cell) []column {
	columns := make([]column, len(header))
	for i, title := range header {
		columns[i].title = title
		for _, row := range rows {
			columns[i].cells = append(columns[i].cells, row[i])
		}
	}
	return columns
}

// draw draws a table. Without a terminal nothing is cut or moved.
func (o Options) draw(t table) string {
	columns := slices.Clone(t.columns)
	for i, c := range columns {
		if c.shortens && o.Width > 0 {
			columns[i].cells = o.shortened(c.cells)
		}
	}
	if !o.fits(columns) {
		columns = withoutEmpty(columns)
	}
	last := &columns[len(columns)-1]
	var notes []string
	if t.once && !o.fits(columns) {
		last.cells, notes = footnotes(last.cells)
	}
	moved := make([][]string, len(last.cells))
	for !o.fits(columns) {
		i := leaving(columns)
		if i < 0 || !t.oneLine && o.roomFor(columns) {
			break
		}
		for n, one := range columns[i].cells {
			if one.text != "-" && one.text != columns[i].usual {
				moved[n] = append(moved[n], columns[i].as+one.text)
			}
		}
		columns = slices.Delete(columns, i, i+1)
	}
	var b strings.Builder
	o.drawRows(&b, t, columns, moved)
	for i, note := range notes {
		if i == 0 {
			b.WriteString("\n")
		}
		o.hang(&b, fmt.Sprintf("[%d] ", i+1), 4, cell{note, plain})
	}
	return b.String()
}

// drawRows draws the header and the rows. moved are what of each row has left its line.
func (o Options) drawRows(b *strings.Builder, t table, columns []column, moved [][]string) {
	widths, left := o.widths(columns)
	last := columns[len(columns)-1]
	room, beside := o.Width-left, false
	for _, one := range last.cells {
		beside = beside || o.isBeside(t, one, room)
	}
	line := func(n int) string {
		var line strings.Builder
		for i, width := range widths {
			one := cell{columns[i].title, bold}
			if n >= 0 {
				one = columns[i].cells[n]
			}
			text := o.cut(one.text, width)
			line.WriteString(o.paint(text, one.color) + strings.Repeat(" ", width-textWidth(text)) + gap)
		}
		return line.String()
	}
	if title := (cell{last.title, bold}); beside && (o.Width == 0 || textWidth(title.text) <= room) {
		b.WriteString(strings.TrimRight(line(-1)+o.paint(title.text, title.color), " ") + "\n")
	} else {
		b.WriteString(strings.TrimRight(line(-1), " ") + "\n")
	}
	for n, one := range last.cells {
		slices.Reverse(moved[n])
		text := strings.Join(moved[n], ", ")
		switch {
		case t.oneLine && o.Width > 0:
			text, one.text = "", o.cut(one.text, max(room, 1))
			o.hang(b, line(n), left, one)
		case o.isBeside(t, one, room):
			o.hang(b, line(n), left, one)
		default:
			b.WriteString(strings.TrimRight(line(n), " ") + "\n")
			if one.text != "" && one.text != "-" {
				text = strings.TrimSuffix(one.text+"; "+text, "; ")
			}
		}
		if text != "" {
			o.hang(b, below, len(below), cell{text, one.color})
		}
		if t.commands != nil && t.commands[n] != "" {
			b.WriteString(o.paint(t.commands[n], plain) + "\n")
		}
	}
}

// isBeside reports whether the last cell of a row stands in its line.
func (o Options) isBeside(t table, one cell, room int) bool {
	return o.Width == 0 || t.oneLine || room >= narrowest || one.text != "" && textWidth(one.text) <= room
}

// fits reports whether each row has room in one line.
func (o Options) fits(columns []column) bool {
	return o.Width == 0 || widthOf(columns)+columns[len(columns)-1].longest() <= o.Width
}

// roomFor reports whether the columns have room, with the last one in the line below where that is long.
func (o Options) roomFor(columns []column) bool {
	last := columns[len(columns)-1].longest()
	return widthOf(columns)-len(gap) <= o.Width && (last > narrowest/2 || widthOf(columns)+last <= o.Width)
}

// withoutEmpty returns the columns without those that may leave and say nothing in any row.
func withoutEmpty(columns []column) []column {
	return slices.DeleteFunc(columns, func(c column) bool {
		return c.leaves > 0 && !slices.ContainsFunc(c.cells, func(one cell) bool { return one.text != "-" })
	})
}

// leaving returns the column that leaves next; -1: none does.
func leaving(columns []column) int {
	next := -1
	for i, c := range columns {
		if c.leaves > 0 && (next < 0 || c.leaves < columns[next].leaves) {
			next = i
		}
	}
	return next
}

// widths returns how wide each column but the last is, and where the last begins. Of a node's name the
// beginning is enough where there is no room; other texts have to be read to their end.
func (o Options) widths(columns []column) (widths []int, left int) {
	for _, c := range columns[:len(columns)-1] {
		widths = append(widths, c.width())
	}
	left = widthOf(columns)
	name := slices.IndexFunc(columns[:len(widths)], func(c column) bool { return c.title == "NODE" })
	if missing := left - len(gap) - o.Width; o.Width > 0 && name >= 0 && missing > 0 {
		least := min(widths[name], shortestName)
		left -= widths[name] - max(widths[name]-missing, least)
		widths[name] = max(widths[name]-missing, least)
	}
	return widths, left
}

// widthOf returns how wide the columns but the last are.
func widthOf(columns []column) (width int) {
	for _, c := range columns[:len(columns)-1] {
		width += c.width() + len(gap)
	}
	return width
}

func (c column) width() int { return max(textWidth(c.title), c.longest()) }

func (c column) longest() (width int) {
	for _, one := range c.cells {
		width = max(width, textWidth(one.text))
	}
	return width
}

// footnotes replaces the texts that several cells have by their code and a number, such as
// "NotItsTurn [1]", and returns the rest of them.
func footnotes(cells []cell) (numbered []cell, notes []string) {
	numbered = slices.Clone(cells)
	times, numbers := map[string]int{}, map[string]int{}
	for _, one := range cells {
		times[one.text]++
	}
	for i, one := range cells {
		if times[one.text] < 2 || textWidth(one.text) <= narrowest/2 {
			continue
		}
		code, note, has := strings.Cut(one.text, ": ")
		if !has || strings.Contains(code, " ") {
			code, note = "", one.text
		}
		if numbers[one.text] == 0 {
			notes = append(notes, note)
			numbers[one.text] = len(notes)
		}
		numbered[i].text = strings.TrimSpace(fmt.Sprintf("%s [%d]", code, numbers[one.text]))
	}
	return numbered, notes
}

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

// words returns the words of a text. A command between back quotes is one word where it fits into a line: a part of it
// cannot be copied.
func words(text string, room int) (list []string) {
	parts := strings.Split(text, "`")
	for i := 1; i < len(parts)-1; i += 2 {
		if textWidth(parts[i])+3 <= room { // with its quotes, and a full stop
			parts[i] = strings.ReplaceAll(parts[i], " ", "\x00")
		}
	}
	for word := range strings.FieldsSeq(strings.Join(parts, "`")) {
		list = append(list, strings.ReplaceAll(word, "\x00", " "))
	}
	return list
}

// Wrap breaks text between words into lines of at most room columns, as wrap does.
func Wrap(text string, room int) []string { return wrap(text, room) }

// wrap breaks text between words into lines of at most room columns. A longer word gets a
// line of its own. There is always a line.
func wrap(text string, room int) []string {
	if room <= 0 || textWidth(text) <= room {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range words(text, room) {
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
