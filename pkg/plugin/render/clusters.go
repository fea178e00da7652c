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

// shortened returns the names of clusters, which may take a quarter of the width.
func (o Options) shortened(names []cell) (short []cell) {
	for _, one := range names {
		one.text = middle(one.text, max(o.Width/4, shortestName))
		short = append(short, one)
	}
	return short
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
	foot := clustersFoot(s, o)
	if o.Rows == 0 {
		return o.draw(table{columns: clusterColumns(s.Items, o)}) + "\n" + foot
	}
	room := max(o.Rows-strings.Count(foot, "\n")-2, 1) // the header, and an empty line
	rows := s.Items
	if len(rows) > room {
		rows = important(rows, max(room-1, 1))
		foot = o.cut(fmt.Sprintf("… and %d clusters more that need nobody as much", len(s.Items)-len(rows)), o.Width) + "\n\n" + foot
	} else {
		foot = "\n" + foot
	}
	return o.draw(table{columns: clusterColumns(rows, o), oneLine: true}) + foot
}

// manyClusters is how many rows are counted for people.
const manyClusters = 10

// clustersFoot returns the lines below the table. The last says what to do, but on a screen that is redrawn, where nothing
// can be typed.
func clustersFoot(s fleet.Status, o Options) string {
	var lines []string
	sum := s.Summary
	sentence, command := s.Attention()
	switch counts := sum.Words(); {
	case o.Rows > 0:
		lines = Paragraph(strings.TrimSuffix(counts+"; "+sentence, "; ")+".", o)
	case sum.Answered < sum.Clusters, sum.Clusters > manyClusters, o.Wide:
		lines = Paragraph(counts+".", o)
	}
	if same := fleet.Same(s.Items); same != "" {
		lines = append(lines, Paragraph(same+".", o)...)
	}
	if sentence == "" && sum.Answered == sum.Clusters && o.Rows == 0 {
		lines = append(lines, fmt.Sprintf("None of %s needs a person.", fleet.Count(sum.Clusters)))
	}
	if sentence != "" && o.Rows == 0 {
		lines = append(lines, o.next(sentence, command)...)
	}
	return strings.Join(append(lines, ""), "\n")
}

// next returns the lines of a sentence with the command to type next, which is in one line.
func (o Options) next(sentence, command string) []string {
	if o.Width > 0 && textWidth(sentence)+2+textWidth(command) > o.Width {
		return append(Paragraph(sentence+":", o), o.paint(command, plain))
	}
	return []string{o.paint(sentence+": "+command, plain)}
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
func clusterColumns(rows []fleet.Row, o Options) []column {
	if o.Wide {
		return wideClusterColumns(rows, o)
	}
	columns := []column{
		{title: "CLUSTER", shortens: true}, {title: "STAGE", leaves: 2, as: "stage "},
		{title: "RUNS", leaves: 4, as: "runs "}, {title: "NEXT", leaves: 3, as: "next "}, {title: "DONE", leaves: 1, as: "done "},
		{title: "STATE"}, {},
	}
	staged := false
	for _, r := range rows {
		staged = staged || r.Stage != "" && r.Stage != r.Context
		state, sentence := o.clusterState(r)
		for i, one := range []cell{
			{r.Context, plain}, {orDash(r.Stage), plain}, {versionsOf(r, false), plain}, {orDash(r.Next()), plain}, {progressOf(r.Upgrade), plain}, state, sentence,
		} {
			columns[i].cells = append(columns[i].cells, one)
		}
	}
	if !staged {
		columns = slices.Delete(columns, 1, 2)
	}
	return columns
}

// clusterState returns the state of a cluster, and a sentence about it. Of one that went silent it also says
// how old the rest is.
func (o Options) clusterState(r fleet.Row) (state, sentence cell) {
	word, text := r.Words(func(t time.Time) string { return o.short(&t) })
	paint := plain
	switch {
	case r.State == fleet.StateSilent, r.State == fleet.StateFailed:
		paint = red
	case r.NeedsPerson:
		paint = yellow
	case r.State == fleet.StateActive:
		paint = cyan
	}
	text = o.said(text)
	if r.State == fleet.StateSilent && r.AsOf != nil {
		text += "; this is " + o.age(r.AsOf) + " old"
	}
	return cell{word, paint}, cell{text, paint}
}

// wideClusterColumns returns all that is known of each cluster.
func wideClusterColumns(rows []fleet.Row, o Options) []column {
	columns := []column{
		{title: "CLUSTER", shortens: true}, {title: "STAGE", leaves: 3, as: "stage "}, {title: "VERSION"}, {title: "BEHIND", leaves: 4, as: "behind for "}, {title: "UPGRADE", leaves: 6},
		{title: "DONE", leaves: 5, as: "done "}, {title: "WINDOW " + o.zoneName(), leaves: 2, as: "window "}, {title: "FOLLOWS", leaves: 1, as: "follows "},
		{title: "NODES"}, {title: "SERVER"}, {title: "WHY"},
	}
	for _, r := range rows {
		for i, one := range []cell{
			{r.Context, plain}, {orDash(r.Stage), plain}, {versionsOf(r, true), plain}, {o.behindFor(r.Behind), plain}, upgradeCell(r),
			{progressOf(r.Upgrade), plain}, {o.windowOf(r.Window), plain}, {o.followsOf(r.Follows), plain},
			{managedOf(r), plain}, {orDash(r.Server), plain}, o.clusterWhy(r),
		} {
			columns[i].cells = append(columns[i].cells, one)
		}
	}
	return withoutEmpty(columns)
}

// versionsOf returns the versions of a cluster's kubelets, with what runs another one, or may.
func versionsOf(r fleet.Row, all bool) string {
	var names []string
	for _, one := range r.Versions {
		name := one.Version
		if all && len(r.Versions) > 1 {
			name = fmt.Sprintf("%s (%d)", one.Version, one.Nodes)
		}
		names = append(names, name)
	}
	text := strings.Join(names, ", ")
	if len(names) > 2 && !all {
		text = names[0] + "…" + names[len(names)-1]
	}
	var notes []string
	if len(r.APIServers) > 0 {
		notes = append(notes, "apiserver "+strings.Join(r.APIServers, ", "))
	}
	if r.Unmanaged > 0 {
		notes = append(notes, managedOf(r))
	}
	if len(notes) > 0 {
		text = strings.TrimSpace(text + " (" + strings.Join(notes, "; ") + ")")
	}
	return orDash(text)
}

// managedOf returns how many nodes of a cluster are managed; those that the policy leaves out may run anything.
func managedOf(r fleet.Row) string {
	nodes := 0
	for _, one := range r.Versions {
		nodes += one.Nodes
	}
	if r.Unmanaged == 0 {
		return orDash(strings.TrimPrefix(fmt.Sprint(nodes), "0"))
	}
	return fmt.Sprintf("%d of %d nodes", nodes, nodes+r.Unmanaged)
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
		paint = plain
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
