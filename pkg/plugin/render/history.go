package render

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// HistoryTable has a row for each upgrade.
func HistoryTable(items []view.Ended, o Options) string {
	if len(items) == 0 {
		if o.Cluster != "" {
			return "No upgrade has ended yet in " + o.Cluster + ".\n"
		}
		return "No upgrade has ended yet.\n"
	}
	if o.Wide {
		return o.named(wideHistory(items, o))
	}
	columns := []column{{title: "BEGAN"}, {title: "UPGRADE"}, {title: "FROM → TO", leaves: 2}, {title: "TOOK", leaves: 1, as: "took "}, {title: "OUTCOME"}}
	at, zone := o.minute, o.sameZone(items)
	if zone != "" {
		columns[0].title += " " + zone
		at = func(t *time.Time) string { return orDash(strings.TrimSuffix(o.minute(t), " "+zone)) }
	}
	for _, e := range items {
		way := orDash(strings.TrimPrefix(e.From+" → "+e.To, " → "))
		if e.To == "" {
			way = orDash(e.From)
		}
		outcome := string(e.Outcome)
		if e.Nodes.Total > 0 && (e.Outcome != v1alpha1.OutcomeSucceeded || e.Nodes.Done < e.Nodes.Total) {
			outcome += " " + endedDone(e)
		}
		for i, one := range []cell{{at(e.TriggerTime), plain}, {e.Name, plain}, {way, plain}, {endedTook(e), plain}, {outcome, endColor(e.Outcome)}} {
			columns[i].cells = append(columns[i].cells, one)
		}
	}
	return o.named(o.draw(table{columns: columns}))
}

// sameZone returns the abbreviation of the zone in which all of them began. Empty: the clock was set forward or back between.
func (o Options) sameZone(items []view.Ended) (zone string) {
	for _, e := range items {
		if e.TriggerTime == nil {
			continue
		}
		one := e.TriggerTime.In(o.Zone).Format("MST")
		if zone != "" && one != zone {
			return ""
		}
		zone = one
	}
	return zone
}

// wideHistory has all that is known of each upgrade.
func wideHistory(items []view.Ended, o Options) string {
	rows := make([][]cell, 0, len(items))
	for _, e := range items {
		rows = append(rows, []cell{{e.Name, plain}, {orDash(string(e.Type)), plain}, {orDash(e.From), plain}, {orDash(e.To), plain},
			{o.minute(e.TriggerTime), plain}, {endedTook(e), plain}, {endedDone(e), plain}, {string(e.Outcome), endColor(e.Outcome)}})
	}
	return o.table([]string{"UPGRADE", "TYPE", "FROM", "TO", "BEGAN", "TOOK", "NODES", "OUTCOME"}, rows)
}

// HistoryPage draws one upgrade node by node.
func HistoryPage(e view.Ended, o Options) string {
	lines := append(o.clusterRows(),
		titled("Upgrade:", cell{e.Name + ", " + path(view.Upgrade{Type: e.Type, From: e.From, To: e.To}), bold}),
		titled("Outcome:", cell{strings.TrimSuffix(string(e.Outcome)+": "+o.said(e.Message), ": "), endColor(e.Outcome)}),
		titled("Began:", cell{o.minute(e.TriggerTime), plain}),
		titled("Ended:", cell{o.minute(e.EndTime) + ", took " + endedTook(e), plain}),
		titled("Nodes:", cell{endedDone(e), plain}),
	)
	if e.RequestedBy != "" {
		lines = append(lines, titled("Requested:", cell{"by " + e.RequestedBy, plain}))
	}
	lines = append(lines, requestRows(e.Comment)...)
	for _, line := range peopleLines(e.People) {
		lines = append(lines, titled("", cell{line, plain}))
	}
	if e.RetryOf != nil {
		lines = append(lines, titled("Retry of:", cell{e.RetryOf.Name, plain}))
	}
	lines = append(lines, ignoredRows(e.IgnoreChecks, e.IgnoreGates)...)
	for _, image := range e.Digests {
		lines = append(lines, titled("Image:", cell{fmt.Sprintf("%s, %s", image.Architecture, image.Digest), plain}))
	}
	if s := e.EtcdSnapshot; s != nil {
		lines = append(lines, titled("Snapshot:", cell{fmt.Sprintf("of etcd, on %s: %s, %s", s.Node, s.Path, s.Digest), plain}))
	}
	if len(e.Record) == 0 {
		return o.titles(lines)
	}
	var b strings.Builder
	b.WriteString(o.titles(lines))
	columns := []column{
		{title: "NODE"}, {title: "FROM", leaves: 3, as: "from "}, {title: "TO", leaves: 2, as: "to "}, {title: "BEGAN", leaves: 1, as: "began "},
		{title: "TOOK", leaves: 4, as: "took "}, {title: "ATTEMPTS"}, {title: "RESULT"},
	}
	for _, r := range e.Record {
		began, took := "-", "-"
		if r.StartTime != nil {
			began = o.minute(&r.StartTime.Time)
			if r.EndTime != nil {
				took = duration.HumanDuration(r.EndTime.Sub(r.StartTime.Time))
			}
		}
		for i, one := range []cell{
			{r.Name, plain}, {orDash(r.From), plain}, {orDash(r.To), plain}, {began, plain}, {took, plain},
			{orDash(strings.TrimPrefix(strconv.Itoa(int(r.Attempts)), "0")), plain}, {ending(r), plain},
		} {
			columns[i].cells = append(columns[i].cells, one)
		}
	}
	b.WriteString("\n" + o.draw(table{columns: columns}))
	if int(e.Nodes.Total) > len(e.Record) {
		o.hang(&b, "", 0, cell{fmt.Sprintf("The record holds %d of %d nodes.", len(e.Record), e.Nodes.Total), plain})
	}
	return b.String()
}

// ending returns how the upgrade of the node ended.
func ending(r v1alpha1.NodeRecord) string {
	switch {
	case r.Reason != "":
		return string(r.Reason)
	case r.StartTime == nil:
		return "not started"
	}
	return "done"
}

func endedTook(e view.Ended) string {
	if e.TriggerTime == nil || e.EndTime == nil {
		return "-"
	}
	return duration.HumanDuration(e.EndTime.Sub(*e.TriggerTime))
}

func endedDone(e view.Ended) string { return fmt.Sprintf("%d/%d", e.Nodes.Done, e.Nodes.Total) }

func endColor(outcome v1alpha1.Outcome) color {
	switch outcome {
	case v1alpha1.OutcomeSucceeded:
		return green
	case v1alpha1.OutcomeCanceled:
		return plain
	}
	return red
}

// Releases draws a table of minors.
func Releases(items []view.Minor, o Options) string {
	if len(items) == 0 {
		return "No images are available, and no agent has reported.\n"
	}
	rows := make([][]cell, 0, len(items))
	for _, r := range items {
		newest := orDash(r.Newest)
		if r.PartlyOffered != "" {
			newest += fmt.Sprintf(" (some architectures: %s)", r.PartlyOffered)
		}
		rows = append(rows, []cell{{r.Minor, plain}, {newest, plain}, supportCell(r), {counts(r.Staged), plain}, {counts(r.Runs), cyan}})
	}
	text := o.named(o.table([]string{"MINOR", "NEWEST", "SUPPORT", "STAGED", "RUNS"}, rows))
	var blocked []v1alpha1.BlockedVersion
	for _, r := range items {
		blocked = append(blocked, r.Blocked...)
	}
	if len(blocked) == 0 {
		return text
	}
	return text + "\n" + o.titles(blockedRows(blocked))
}

func supportCell(r view.Minor) cell {
	switch r.Support {
	case version.Supported:
		return cell{"until " + r.SupportEnds, plain}
	case version.SupportEnded:
		return cell{strings.TrimSpace("ended " + r.SupportEnds), red}
	}
	return cell{"not known", plain}
}

func counts(list []view.Count) string {
	parts := make([]string, len(list))
	for i, c := range list {
		nodes := "nodes"
		if c.Nodes == 1 {
			nodes = "node"
		}
		parts[i] = fmt.Sprintf("%s on %d %s", c.Version, c.Nodes, nodes)
	}
	return orDash(strings.Join(parts, ", "))
}
