package render

import (
	"fmt"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

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
		rows = append(rows, []cell{{r.Minor, plain}, {newest, plain}, r.support(), {counts(r.Staged), plain}, {counts(r.Runs), cyan}})
	}
	return o.table([]string{"MINOR", "NEWEST", "SUPPORT", "STAGED", "RUNS"}, rows)
}

func (r Release) support() cell {
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
