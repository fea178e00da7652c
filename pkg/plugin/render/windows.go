package render

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// WindowList is what `kubectl upgrade windows -o json` prints. Its shape is one
// that scripts may rely on; times are in UTC, to the second.
type WindowList struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Items      []Window `json:"items"`
}

// Window is one opening: from start (in) to end (out).
type Window struct {
	Start time.Time `json:"start"`
	// End is absent where no end is known.
	End *time.Time `json:"end,omitempty"`
	// Windows names the windows that it comes from, as schedule/window.
	Windows []string `json:"windows"`
}

// NewWindowList returns the openings in the shape for scripts.
func NewWindowList(openings []schedule.Opening) WindowList {
	list := WindowList{APIVersion: v1alpha1.GroupVersion.String(), Kind: "WindowList", Items: []Window{}}
	for _, o := range openings {
		w := Window{Start: o.Start.UTC().Truncate(time.Second), Windows: o.Windows}
		if !o.End.IsZero() {
			end := o.End.UTC().Truncate(time.Second)
			w.End = &end
		}
		list.Items = append(list.Items, w)
	}
	return list
}

// Windows draws a table of openings. One that began at o.Now or before is open already.
func Windows(openings []schedule.Opening, o Options) string {
	if len(openings) == 0 {
		return "No window opens.\n"
	}
	rows := make([][]cell, 0, len(openings))
	for _, opening := range openings {
		opens, ink := cell{o.day(opening.Start), plain}, plain
		if !opening.Start.After(o.Now) {
			opens, ink = cell{"open now", green}, green
		}
		closes, lasts := cell{"no end", plain}, "-"
		if !opening.End.IsZero() {
			closes.text, lasts = o.day(opening.End), duration.HumanDuration(opening.End.Sub(opening.Start))
		}
		closes.color = ink
		rows = append(rows, []cell{opens, closes, {lasts, plain}, {strings.Join(opening.Windows, ", "), plain}})
	}
	return o.table([]string{"OPENS", "CLOSES", "LASTS", "WINDOWS"}, rows)
}

// day returns a time with its weekday and zone.
func (o Options) day(t time.Time) string { return t.In(o.Zone).Format("Mon 2006-01-02 15:04 MST") }

// Freeze is one exclusion of a schedule that has no window.
type Freeze struct {
	Name        string
	From, Until time.Time
	Recurrence  string // From and Until are those of the first time
	Upgrades    []v1alpha1.UpgradeType
	Nodes       string // a selector; empty: every node
	By          string // what restores it from Git, or who requested it
	Reason      string
}

// Freezes draws a table of freezes.
func Freezes(freezes []Freeze, o Options) string {
	rows := make([][]cell, 0, len(freezes))
	for _, f := range freezes {
		upgrades := make([]string, len(f.Upgrades))
		for i, t := range f.Upgrades {
			upgrades[i] = string(t)
		}
		until := o.when(f.Until)
		if f.Recurrence != "" {
			until = f.Recurrence
		}
		rows = append(rows, []cell{
			{f.Name, plain}, {until, plain}, {orAll(strings.Join(upgrades, ",")), plain}, {orAll(f.Nodes), plain},
			{orDash(f.By), plain}, {orDash(f.Reason), plain},
		})
	}
	return o.table([]string{"FREEZE", "UNTIL", "UPGRADES", "NODES", "BY", "REASON"}, rows)
}

func orAll(text string) string {
	if text == "" {
		return "all"
	}
	return text
}

// When returns a time with its zone, and how far away it is.
func When(t time.Time, o Options) string { return o.when(t) }
