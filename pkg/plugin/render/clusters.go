package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
)

// clusterColumn is a column of a table of clusters.
type clusterColumn struct {
	title string
	cells []cell
	// leaves says in which order columns leave where there is no room: 1 first, 0 never. A column
	// that leaves and says nothing in any row is not drawn at all.
	leaves int
	// as is what stands before a cell in the last column once its column has left.
	as string
}

// details is what of a row has no room in a table of clusters.
type details int

const (
	detailsBelow details = iota // they have a line of their own below the row, whose sentence is cut
	detailsLeft                 // they are left out, and each row is one line
	detailsWhole                // the sentence is not cut
)

// clusterTable draws columns, the first of which has the cluster and the last a sentence. Without a
// terminal nothing is cut.
func (o Options) clusterTable(columns []clusterColumn, d details) string {
	columns = slices.DeleteFunc(slices.Clone(columns), func(c clusterColumn) bool {
		return c.leaves > 0 && !slices.ContainsFunc(c.cells, func(one cell) bool { return one.text != "-" })
	})
	if o.Width > 0 {
		columns[0].cells = o.shortened(columns[0].cells)
	}
	moved := make([][]string, len(columns[0].cells))
	for o.Width > 0 {
		leaving := -1
		for i, c := range columns {
			if c.leaves > 0 && (leaving < 0 || c.leaves < columns[leaving].leaves) {
				leaving = i
			}
		}
		if leaving < 0 || !o.tight(widthOf(columns)) {
			break
		}
		for i, one := range columns[leaving].cells {
			if one.text != "-" {
				moved[i] = append(moved[i], columns[leaving].as+one.text)
			}
		}
		columns = slices.Delete(columns, leaving, leaving+1)
	}
	last := len(columns) - 1
	header, rows := make([]string, len(columns)), make([][]cell, len(columns[0].cells))
	for i, c := range columns {
		header[i] = c.title
		for n, one := range c.cells {
			rows[n] = append(rows[n], one)
		}
	}
	if d == detailsWhole || o.Width == 0 {
		for n := range rows {
			slices.Reverse(moved[n])
			rows[n][last].text = strings.Join(append([]string{rows[n][last].text}, moved[n]...), "; ")
		}
		return o.table(header, rows)
	}
	room := max(o.Width-widthOf(columns), 1)
	for n := range rows {
		rows[n][last].text = o.cut(rows[n][last].text, room)
	}
	lines := strings.SplitAfter(o.table(header, rows), "\n")
	if d == detailsLeft {
		return strings.Join(lines, "")
	}
	var b strings.Builder
	b.WriteString(lines[0])
	for n := range rows {
		b.WriteString(lines[n+1])
		slices.Reverse(moved[n])
		if text := strings.Join(moved[n], ", "); text != "" {
			o.hang(&b, "    ", 4, cell{text, faint})
		}
	}
	return b.String()
}

// shortened returns the names of clusters, which may take a quarter of the width.
func (o Options) shortened(names []cell) (short []cell) {
	for _, one := range names {
		one.text = middle(one.text, max(o.Width/4, shortestName))
		short = append(short, one)
	}
	return short
}

// widthOf returns how wide the columns but the last are.
func widthOf(columns []clusterColumn) (width int) {
	for _, c := range columns[:len(columns)-1] {
		width += max(longest(c.cells), textWidth(c.title)) + len(gap)
	}
	return width
}

func longest(cells []cell) (width int) {
	for _, one := range cells {
		width = max(width, textWidth(one.text))
	}
	return width
}

// middle returns the name without its middle where it is too long: of names of clusters, beginnings
// are often equal.
func middle(name string, room int) string {
	if textWidth(name) <= room {
		return name
	}
	head := beginning(name, room/3)
	return head + "…" + end(name, room-textWidth(head)-1)
}

// Clusters draws a row for each cluster, and the summary below. Rows limits the lines, as a terminal that
// is redrawn does; 0: no limit.
func Clusters(s fleet.Status, o Options) string {
	foot := strings.Join(Paragraph(s.Summary.Words()+".", o), "\n") + "\n"
	if same := fleet.Same(s.Items); same != "" {
		foot += strings.Join(Paragraph(same+".", o), "\n") + "\n"
	}
	if o.Rows == 0 {
		d := detailsBelow
		if o.Wide {
			d = detailsWhole
		}
		return o.clusterTable(clusterColumns(s.Items, o), d) + "\n" + foot
	}
	room := max(o.Rows-strings.Count(foot, "\n")-2, 1) // the header, and an empty line
	rows := s.Items
	if len(rows) > room {
		rows = important(rows, max(room-1, 1))
		foot = o.cut(fmt.Sprintf("… and %d clusters more that need nobody as much", len(s.Items)-len(rows)), o.Width) + "\n\n" + foot
	} else {
		foot = "\n" + foot
	}
	return o.clusterTable(clusterColumns(rows, o), detailsLeft) + foot
}

// important returns so many rows, those that people have to see first, in their order.
func important(rows []fleet.Row, room int) (chosen []fleet.Row) {
	urgency := func(r fleet.Row) int {
		switch {
		case r.State == fleet.StateFailed:
			return 0
		case r.NeedsPerson:
			return 1
		case r.State == fleet.StateActive:
			return 2
		case r.State == fleet.StateWaiting:
			return 3
		case r.Behind != nil:
			return 4
		}
		return 5
	}
	for level := 0; level <= 5; level++ {
		for _, r := range rows {
			if urgency(r) == level && len(chosen) < room {
				chosen = append(chosen, r)
			}
		}
	}
	place := map[string]int{}
	for i, r := range rows {
		place[r.Context] = i
	}
	slices.SortFunc(chosen, func(a, b fleet.Row) int { return place[a.Context] - place[b.Context] })
	return chosen
}

// clusterColumns returns the columns of `kubectl upgrade fleet status`.
func clusterColumns(rows []fleet.Row, o Options) []clusterColumn {
	columns := []clusterColumn{
		{title: "CLUSTER"}, {title: "STAGE", leaves: 3, as: "stage "}, {title: "VERSION"}, {title: "BEHIND", leaves: 4, as: "behind for "}, {title: "UPGRADE", leaves: 6},
		{title: "DONE", leaves: 5, as: "done "}, {title: "WINDOW " + o.zoneName(), leaves: 2, as: "window "}, {title: "FOLLOWS", leaves: 1, as: "follows "}, {title: "WHY"},
	}
	if o.Wide {
		columns = slices.Insert(columns, 8, clusterColumn{title: "NODES"}, clusterColumn{title: "SERVER"})
	}
	for _, r := range rows {
		cells := []cell{
			{r.Context, plain}, {orDash(r.Stage), plain}, {versionsOf(r, o.Wide), plain}, {o.behindFor(r.Behind), yellow}, upgradeCell(r),
			{progressOf(r.Upgrade), plain}, {o.windowOf(r.Window), plain}, {o.followsOf(r.Follows), plain},
		}
		if o.Wide {
			nodes := 0
			for _, one := range r.Versions {
				nodes += one.Nodes
			}
			cells = append(cells, cell{orDash(strings.TrimPrefix(fmt.Sprint(nodes), "0")), plain}, cell{orDash(r.Server), plain})
		}
		for i, one := range append(cells, o.clusterWhy(r)) {
			columns[i].cells = append(columns[i].cells, one)
		}
	}
	return columns
}

// versionsOf returns the versions of a cluster's kubelets.
func versionsOf(r fleet.Row, all bool) string {
	var names []string
	for _, one := range r.Versions {
		name := one.Version
		if all && len(r.Versions) > 1 {
			name = fmt.Sprintf("%s (%d)", one.Version, one.Nodes)
		}
		names = append(names, name)
	}
	if len(names) > 2 && !all {
		return names[0] + "…" + names[len(names)-1]
	}
	return orDash(strings.Join(names, ", "))
}

// behindFor returns for how long a cluster has lacked a patch.
func (o Options) behindFor(b *fleet.Behind) string {
	if b == nil {
		return "-"
	}
	return duration.HumanDuration(max(o.Now.Sub(b.Since), 0))
}

func upgradeCell(r fleet.Row) cell {
	if r.Upgrade == nil {
		return cell{"-", plain}
	}
	text, paint := r.Upgrade.Name, cyan
	if r.Upgrade.Outcome != "" {
		text += " " + string(r.Upgrade.Outcome)
	}
	switch r.State {
	case fleet.StateFailed:
		paint = red
	case fleet.StateWaiting:
		paint = yellow
	}
	return cell{text, paint}
}

func progressOf(u *fleet.Upgrade) string {
	if u == nil {
		return "-"
	}
	return orDash(u.Progress)
}

// windowOf returns when a window opens, or until when one is open.
func (o Options) windowOf(w *fleet.Opening) string {
	switch {
	case w == nil:
		return "-"
	case w.Start.After(o.Now):
		return o.short(&w.Start)
	case w.End == nil:
		return "open"
	}
	return "open to " + o.short(w.End)
}

// followsOf returns the clusters that are followed, each with what it waits for.
func (o Options) followsOf(list []fleet.Follow) string {
	var parts []string
	for _, f := range list {
		name := cmp.Or(f.Context, f.Gate)
		switch {
		case f.Until != nil:
			name += " to " + o.short(f.Until)
		case f.Reason != "" && f.Message != "":
			name += ": " + string(f.Reason)
		case f.State == v1alpha1.GateUnknown:
			name += ": not known"
		case f.Message != "":
			name += ": waits"
		}
		parts = append(parts, name)
	}
	return orDash(strings.Join(parts, ", "))
}

// clusterWhy returns the one reason of a cluster. Of one that went silent it also says how old the rest is.
func (o Options) clusterWhy(r fleet.Row) cell {
	text, paint := o.why(r.Reason, r.Message, r.Until), plain
	if r.State == fleet.StateSilent && r.AsOf != nil {
		text += "; this is " + o.age(r.AsOf) + " old"
	}
	switch {
	case r.State == fleet.StateSilent, r.State == fleet.StateFailed:
		paint = red
	case r.NeedsPerson:
		paint = yellow
	}
	return cell{orDash(text), paint}
}

// ClusterTrouble draws why a cluster that was named is not shown in full.
func ClusterTrouble(r fleet.Row, o Options) string {
	return o.titles([][2]cell{titled("Problem:", cell{o.why(r.Reason, r.Message, nil), red})})
}

// ClusterChanges returns a line for each cluster whose row says something new. before is by context.
func ClusterChanges(before map[string]fleet.Row, rows []fleet.Row, now time.Time) (lines []string) {
	o := Options{Now: now, Zone: time.UTC}
	for _, r := range rows {
		old, known := before[r.Context]
		line := clusterLine(r, o)
		if known && line == clusterLine(old, o) || r.Repeated {
			continue
		}
		lines = append(lines, now.UTC().Format(time.RFC3339)+" "+r.Context+" "+line)
	}
	return lines
}

// clusterLine returns a row without what passes by itself, such as ages.
func clusterLine(r fleet.Row, o Options) string {
	text := string(r.State)
	if r.Version != "" {
		text += " " + versionsOf(r, true)
	}
	if u := r.Upgrade; u != nil {
		text += fmt.Sprintf(", upgrade %s %s", u.Name, cmp.Or(string(u.Outcome), u.Progress))
	}
	r.AsOf, r.Until = nil, nil
	if why := o.clusterWhy(r).text; why != "-" {
		text = strings.TrimSpace(text) + ", " + why
	}
	return text
}
