package render

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// HistoryTable has a row for each upgrade.
func HistoryTable(items []view.Ended, o Options) string {
	if len(items) == 0 {
		return "No upgrade has ended yet.\n"
	}
	rows := make([][]cell, 0, len(items))
	for _, e := range items {
		row := []cell{{e.Name, plain}, {orDash(string(e.Type)), plain}, {orDash(e.From), plain}, {orDash(e.To), plain},
			{o.minute(e.TriggerTime), plain}, {endedTook(e), plain}, {endedDone(e), plain}, {string(e.Outcome), endColor(e.Outcome)}}
		if o.narrow() {
			row = []cell{row[0], row[5], row[6], row[7]}
		}
		rows = append(rows, row)
	}
	header := []string{"UPGRADE", "TYPE", "FROM", "TO", "BEGAN", "TOOK", "NODES", "OUTCOME"}
	if o.narrow() {
		header = []string{"UPGRADE", "TOOK", "NODES", "OUTCOME"}
	}
	return o.table(header, rows)
}

// HistoryPage draws one upgrade node by node.
func HistoryPage(e view.Ended, o Options) string {
	lines := [][2]cell{
		titled("Upgrade:", cell{e.Name + ", " + path(view.Upgrade{Type: e.Type, From: e.From, To: e.To}), bold}),
		titled("Outcome:", cell{strings.TrimSuffix(string(e.Outcome)+": "+o.said(e.Message), ": "), endColor(e.Outcome)}),
		titled("Began:", cell{o.minute(e.TriggerTime), plain}),
		titled("Ended:", cell{o.minute(e.EndTime) + ", took " + endedTook(e), plain}),
		titled("Nodes:", cell{endedDone(e), plain}),
	}
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
	rows := make([][]cell, 0, len(e.Record))
	for _, r := range e.Record {
		began, took := "-", "-"
		if r.StartTime != nil {
			began = o.minute(&r.StartTime.Time)
			if r.EndTime != nil {
				took = duration.HumanDuration(r.EndTime.Sub(r.StartTime.Time))
			}
		}
		row := []cell{{r.Name, plain}, {orDash(r.From), plain}, {orDash(r.To), plain}, {began, plain}, {took, plain}, {strconv.Itoa(int(r.Attempts)), plain}, {ending(r), plain}}
		if o.narrow() {
			row = []cell{row[0], row[4], row[5], row[6]}
		}
		rows = append(rows, row)
	}
	header := []string{"NODE", "FROM", "TO", "BEGAN", "TOOK", "ATTEMPTS", "RESULT"}
	if o.narrow() {
		header = []string{"NODE", "TOOK", "ATTEMPTS", "RESULT"}
	}
	b.WriteString("\n" + o.table(header, rows))
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
	if outcome == v1alpha1.OutcomeSucceeded {
		return green
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
	text := o.table([]string{"MINOR", "NEWEST", "SUPPORT", "STAGED", "RUNS"}, rows)
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
