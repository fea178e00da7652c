package render

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

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
	return o.named(o.table([]string{"OPENS", "CLOSES", "LASTS", "WINDOWS"}, rows))
}

// day returns a time with its weekday and zone.
func (o Options) day(t time.Time) string { return t.In(o.Zone).Format("Mon 2006-01-02 15:04 MST") }

// Freezes draws a table of freezes.
func Freezes(freezes []view.Freeze, o Options) string {
	rows := make([][]cell, 0, len(freezes))
	for _, f := range freezes {
		until := o.when(f.Until)
		if f.Recurrence != "" {
			until = f.Recurrence
		}
		rows = append(rows, []cell{
			{f.Name, plain}, {until, plain}, {view.TypesText(f.Upgrades), plain}, {orAll(f.Nodes), plain},
			{orDash(f.By), plain}, {orDash(f.Reason), plain},
		})
	}
	return o.table([]string{"FREEZE", "UNTIL", "UPGRADES", "NODES", "BY", "REASON"}, rows)
}

// FreezeLasts returns until when a freeze lasts, or when it recurs.
func FreezeLasts(f view.Freeze, o Options) string {
	if f.Recurrence != "" {
		return "which recurs (" + f.Recurrence + ")"
	}
	return "until " + o.when(f.Until)
}

func orAll(text string) string {
	if text == "" {
		return "all"
	}
	return text
}

// When returns a time with its zone, and how far away it is.
func When(t time.Time, o Options) string { return o.when(t) }
