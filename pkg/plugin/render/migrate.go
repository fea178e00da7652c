package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/migrate"
)

var meaningColors = map[migrate.Meaning]color{migrate.Same: green, migrate.Nearest: yellow, migrate.None: red, migrate.NotNeeded: faint}

// Migration draws what each setting of another program becomes. Without -o wide it leaves out
// defaults that need no decision.
func Migration(r migrate.Result, o Options) string {
	var rows [][]cell
	left := 0
	for _, row := range r.Rows {
		if !row.Set && !row.Matters && !o.Wide {
			left++
			continue
		}
		value := row.Value
		switch {
		case value == "" && row.Set:
			value = "(empty)"
		case value == "":
			value = "-"
		case !row.Set && strings.HasPrefix(row.Setting, "-"):
			value += " (default)"
		}
		becomes := row.Becomes
		switch {
		case becomes == "":
			becomes = row.Note
		case row.Note != "":
			becomes += "; " + row.Note
		}
		rows = append(rows, []cell{{row.Setting, plain}, {string(row.Meaning), meaningColors[row.Meaning]}, {value, plain}, {becomes, plain}})
	}
	var b strings.Builder
	b.WriteString(o.titles(o.clusterRows()))
	b.WriteString(o.settings([]string{"SETTING", "MATCH", "VALUE", "BECOMES"}, rows))
	if left > 0 {
		o.hang(&b, "", 0, cell{fmt.Sprintf("not shown: %d flags with their defaults; `-o wide` shows all", left), plain})
	}
	for _, note := range r.Notes {
		b.WriteString("\n")
		o.hang(&b, "Note: ", 6, cell{note, plain})
	}
	return b.String()
}

// settings draws the table: as such where there is room, and else each setting in a paragraph.
func (o Options) settings(header []string, rows [][]cell) string {
	if o.Width == 0 || o.Width >= 130 {
		if o.Width > 0 {
			for _, row := range rows {
				row[2].text = o.cut(row[2].text, 32)
			}
		}
		return o.table(header, rows)
	}
	var b strings.Builder
	for _, row := range rows {
		name := row[0].text
		if row[2].text != "-" {
			name += " " + row[2].text
		}
		o.hang(&b, "", 2, cell{name, bold})
		o.hang(&b, "    "+o.paint(row[1].text, row[1].color)+strings.Repeat(" ", 12-len(row[1].text)), 16, row[3])
	}
	return b.String()
}

// SideBySide draws the windows of another program beside those of the schedules. Where all are
// the same, it draws the first few.
func SideBySide(program string, pairs []migrate.Pair, until time.Time, o Options) string {
	differ := 0
	for _, p := range pairs {
		if p.Differs() {
			differ++
		}
	}
	var b strings.Builder
	title := fmt.Sprintf("Windows of both until %s (%s): ", until.In(o.Zone).Format("2006-01-02"), o.Zone)
	switch {
	case len(pairs) == 0:
		b.WriteString(title + "neither opens\n")
		return b.String()
	case differ == 0:
		title += fmt.Sprintf("%d, all the same", len(pairs))
	default:
		title += fmt.Sprintf("%d, of which %d differ", len(pairs), differ)
	}
	o.hang(&b, "", 0, cell{title, bold})
	shown := pairs
	if few := 5; differ == 0 && len(pairs) > few && !o.Wide {
		shown = pairs[:few]
	}
	rows := make([][]cell, 0, len(shown))
	for _, p := range shown {
		verdict := cell{"same", green}
		if p.Differs() {
			verdict = cell{"differs", yellow}
		}
		rows = append(rows, []cell{{o.spans(p.Theirs), plain}, {o.spans(p.Ours), plain}, verdict})
	}
	columns := columnsOf([]string{strings.ToUpper(program), "KUBECTL-UPGRADE", ""}, rows)
	columns[1].leaves, columns[1].as = 1, "kubectl-upgrade: "
	b.WriteString(o.draw(table{columns: columns}))
	if n := len(pairs) - len(shown); n > 0 {
		o.hang(&b, "", 0, cell{fmt.Sprintf("not shown: %d more; `-o wide` shows all", n), plain})
	}
	return b.String()
}

// spans returns times such as "Fri 11-27 22:00 to Sat 11-28 00:00".
func (o Options) spans(spans []migrate.Span) string {
	if len(spans) == 0 {
		return "closed"
	}
	var parts []string
	for _, s := range spans {
		start, end := s.Start.In(o.Zone), s.End.In(o.Zone)
		if start.YearDay() == end.YearDay() {
			parts = append(parts, start.Format("Mon 01-02 15:04")+" to "+end.Format("15:04"))
			continue
		}
		parts = append(parts, start.Format("Mon 01-02 15:04")+" to "+end.Format("Mon 01-02 15:04"))
	}
	return strings.Join(parts, ", ")
}
