package render

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// History is what `kubectl upgrade history -o json` prints: upgrades that have
// ended, the oldest first. Its shape is one that scripts may rely on; times are
// in UTC, to the second.
type History struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Items      []Ended `json:"items"`
}

// Ended is an upgrade that has ended.
type Ended struct {
	// Object is the object it was read from, as kubectl names it.
	Object         string               `json:"-"`
	Name           string               `json:"name"`
	Type           v1alpha1.UpgradeType `json:"type,omitempty"`
	From           string               `json:"from,omitempty"`
	To             string               `json:"to,omitempty"`
	TriggerTime    *time.Time           `json:"triggerTime,omitempty"`
	CompletionTime *time.Time           `json:"completionTime,omitempty"`
	Outcome        v1alpha1.Outcome     `json:"outcome"`
	Reason         v1alpha1.Reason      `json:"reason,omitempty"`
	Message        string               `json:"message,omitempty"`
	Nodes          v1alpha1.NodeCounts  `json:"nodes"`
	// RequestedBy is the user who requested it, or the policy. Empty: that is not known.
	RequestedBy string `json:"requestedBy,omitempty"`
	People
	// RetryOf is the failed upgrade whose place it took.
	RetryOf      string                  `json:"retryOf,omitempty"`
	IgnoreChecks []v1alpha1.IgnoredCheck `json:"ignoreChecks,omitempty"`
	EtcdSnapshot *v1alpha1.EtcdSnapshot  `json:"etcdSnapshot,omitempty"`
	// Record is set where the history is that of one upgrade.
	Record []v1alpha1.NodeRecord `json:"record,omitempty"`
}

// HistoryTable has a row for each upgrade.
func HistoryTable(items []Ended, o Options) string {
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
func HistoryPage(e Ended, o Options) string {
	lines := [][2]cell{
		titled("Upgrade:", cell{e.Name + ", " + path(Upgrade{Type: e.Type, From: e.From, To: e.To}), bold}),
		titled("Outcome:", cell{strings.TrimSuffix(string(e.Outcome)+": "+e.Message, ": "), endColor(e.Outcome)}),
		titled("Began:", cell{o.minute(e.TriggerTime), plain}),
		titled("Ended:", cell{o.minute(e.CompletionTime) + ", took " + endedTook(e), plain}),
		titled("Nodes:", cell{endedDone(e), plain}),
	}
	if e.RequestedBy != "" {
		lines = append(lines, titled("Requested:", cell{"by " + e.RequestedBy, plain}))
	}
	for _, line := range peopleLines(e.People) {
		lines = append(lines, titled("", cell{line, plain}))
	}
	if e.RetryOf != "" {
		lines = append(lines, titled("Retry of:", cell{e.RetryOf, plain}))
	}
	if len(e.IgnoreChecks) > 0 {
		lines = append(lines, titled("Ignored:", cell{ignoredChecks(e.IgnoreChecks), yellow}))
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
			if r.CompletionTime != nil {
				took = duration.HumanDuration(r.CompletionTime.Sub(r.StartTime.Time))
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

// ignoredChecks returns the checks, such as "bare-pod (batch jobs), single-replica".
func ignoredChecks(checks []v1alpha1.IgnoredCheck) string {
	texts := make([]string, len(checks))
	for i, check := range checks {
		texts[i] = check.ID
		if check.Reason != "" {
			texts[i] += " (" + check.Reason + ")"
		}
		if check.By != "" {
			texts[i] += " by " + check.By
		}
	}
	return strings.Join(texts, ", ")
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

func endedTook(e Ended) string {
	if e.TriggerTime == nil || e.CompletionTime == nil {
		return "-"
	}
	return duration.HumanDuration(e.CompletionTime.Sub(*e.TriggerTime))
}

func endedDone(e Ended) string { return fmt.Sprintf("%d/%d", e.Nodes.Done, e.Nodes.Total) }

func endColor(outcome v1alpha1.Outcome) color {
	if outcome == v1alpha1.OutcomeSucceeded {
		return green
	}
	return red
}

// ReleaseList is what `kubectl upgrade releases -o json` prints, the oldest minor
// first. Its shape is one that scripts may rely on.
type ReleaseList struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Items      []Release `json:"items"`
}

// Release is one minor.
type Release struct {
	Minor string `json:"minor"` // v1.34
	// Newest is the newest patch on offer for every architecture of the cluster;
	// absent where there is none.
	Newest string `json:"newest,omitempty"`
	// Partly is a newer one that is on offer for some architectures only.
	Partly string `json:"partly,omitempty"`
	// Runs and Staged count the nodes, by version.
	Runs    []Count         `json:"runs,omitempty"`
	Staged  []Count         `json:"staged,omitempty"`
	Support version.Support `json:"support"`
	// SupportEnds is the last day of it, such as 2026-10-27; absent where that is
	// not known.
	SupportEnds string `json:"supportEnds,omitempty"`
}

// Count is how many nodes there are of a version.
type Count struct {
	Version string `json:"version"`
	Nodes   int    `json:"nodes"`
}

// Releases draws a table of minors.
func Releases(items []Release, o Options) string {
	if len(items) == 0 {
		return "No images are available, and no agent has reported.\n"
	}
	rows := make([][]cell, 0, len(items))
	for _, r := range items {
		newest := orDash(r.Newest)
		if r.Partly != "" {
			newest += fmt.Sprintf(" (some architectures: %s)", r.Partly)
		}
		rows = append(rows, []cell{{r.Minor, plain}, {newest, plain}, supportCell(r), {counts(r.Staged), plain}, {counts(r.Runs), cyan}})
	}
	return o.table([]string{"MINOR", "NEWEST", "SUPPORT", "STAGED", "RUNS"}, rows)
}

func supportCell(r Release) cell {
	switch r.Support {
	case version.Supported:
		return cell{"until " + r.SupportEnds, plain}
	case version.SupportEnded:
		return cell{strings.TrimSpace("ended " + r.SupportEnds), red}
	}
	return cell{"not known", plain}
}

func counts(list []Count) string {
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
