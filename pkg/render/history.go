package render

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
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
	Name        string               `json:"name"`
	Type        v1alpha1.UpgradeType `json:"type,omitempty"`
	From        string               `json:"from,omitempty"`
	To          string               `json:"to,omitempty"`
	TriggeredAt *time.Time           `json:"triggeredAt,omitempty"`
	FinishedAt  *time.Time           `json:"finishedAt,omitempty"`
	Outcome     v1alpha1.Outcome     `json:"outcome"`
	Reason      v1alpha1.Reason      `json:"reason,omitempty"`
	Message     string               `json:"message,omitempty"`
	Nodes       v1alpha1.NodeCounts  `json:"nodes"`
	// RetryOf is the failed upgrade whose place it took.
	RetryOf      string                 `json:"retryOf,omitempty"`
	IgnoreChecks []string               `json:"ignoreChecks,omitempty"`
	EtcdSnapshot *v1alpha1.EtcdSnapshot `json:"etcdSnapshot,omitempty"`
	// Record is there where one upgrade was asked for.
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
			{o.minute(e.TriggeredAt), plain}, {e.took(), plain}, {e.done(), plain}, {string(e.Outcome), endColor(e.Outcome)}}
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
		titled("Began:", cell{o.minute(e.TriggeredAt), plain}),
		titled("Ended:", cell{o.minute(e.FinishedAt) + ", took " + e.took(), plain}),
		titled("Nodes:", cell{e.done(), plain}),
	}
	if e.RetryOf != "" {
		lines = append(lines, titled("Retry of:", cell{e.RetryOf, plain}))
	}
	if len(e.IgnoreChecks) > 0 {
		lines = append(lines, titled("Ignored:", cell{strings.Join(e.IgnoreChecks, ", "), yellow}))
	}
	if s := e.EtcdSnapshot; s != nil {
		lines = append(lines, titled("Snapshot:", cell{fmt.Sprintf("of etcd, on %s: %s, sha256 %s", s.Node, s.Path, s.SHA256), plain}))
	}
	var b strings.Builder
	for _, line := range lines {
		o.hang(&b, fmt.Sprintf("%-12s", line[0].text), 12, line[1])
	}
	if len(e.Record) == 0 {
		return b.String()
	}
	rows := make([][]cell, 0, len(e.Record))
	for _, r := range e.Record {
		began, took := "-", "-"
		if r.StartedAt != nil {
			began = o.minute(&r.StartedAt.Time)
			if r.FinishedAt != nil {
				took = duration.HumanDuration(r.FinishedAt.Sub(r.StartedAt.Time))
			}
		}
		row := []cell{{r.Name, plain}, {orDash(r.From), plain}, {orDash(r.To), plain}, {began, plain}, {took, plain}, {strconv.Itoa(int(r.Attempts)), plain}, {ending(r), plain}}
		if o.narrow() {
			row = []cell{row[0], row[4], row[5], row[6]}
		}
		rows = append(rows, row)
	}
	header := []string{"NODE", "FROM", "TO", "BEGAN", "TOOK", "ATTEMPTS", "END"}
	if o.narrow() {
		header = []string{"NODE", "TOOK", "ATTEMPTS", "END"}
	}
	b.WriteString("\n" + o.table(header, rows))
	if e.Nodes.Total > int32(len(e.Record)) {
		o.hang(&b, "", 0, cell{fmt.Sprintf("The record holds the first %d of %d nodes.", len(e.Record), e.Nodes.Total), plain})
	}
	return b.String()
}

// ending is how the node came out of it.
func ending(r v1alpha1.NodeRecord) string {
	switch {
	case r.Reason != "":
		return string(r.Reason)
	case r.StartedAt == nil:
		return "not touched"
	}
	return "done"
}

func (e Ended) took() string {
	if e.TriggeredAt == nil || e.FinishedAt == nil {
		return "-"
	}
	return duration.HumanDuration(e.FinishedAt.Sub(*e.TriggeredAt))
}

func (e Ended) done() string { return fmt.Sprintf("%d/%d", e.Nodes.Done, e.Nodes.Total) }

func endColor(outcome v1alpha1.Outcome) color {
	if outcome == v1alpha1.OutcomeSucceeded {
		return green
	}
	return red
}
