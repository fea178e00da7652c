package scenario

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Timeline prints, for each node, the seconds that it spent in each step of an
// upgrade, and the hand-offs: from the end of one node's uncordon to the start of
// the next one's cordon.
func Timeline(out io.Writer, nodes []v1alpha1.NodeRecord) {
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b v1alpha1.NodeRecord) int { return began(a).Compare(began(b)) })
	_, _ = fmt.Fprintf(out, "%-14s", "seconds")
	for _, node := range nodes {
		_, _ = fmt.Fprintf(out, "%9s", node.Name)
	}
	_, _ = fmt.Fprintln(out)
	for _, info := range v1alpha1.Steps {
		row, any := "", false
		for _, node := range nodes {
			took, times := Spent(node, info.Step)
			cell := ""
			if times > 0 {
				any, cell = true, fmt.Sprintf("%.2f", took.Seconds())
			}
			row += fmt.Sprintf("%9s", cell)
		}
		if any {
			_, _ = fmt.Fprintf(out, "%-14s%s\n", info.Step, row)
		}
	}
	for _, line := range handOffs(nodes) {
		_, _ = fmt.Fprintln(out, line)
	}
}

// Spent returns how long a node was at a step in all, and how often.
func Spent(node v1alpha1.NodeRecord, step v1alpha1.Step) (total time.Duration, times int) {
	for _, s := range node.Steps {
		if s.Step == step && s.EndTime != nil {
			total += s.EndTime.Sub(s.StartTime.Time)
			times++
		}
	}
	return total, times
}

// began returns when a node's last cordon began: earlier attempts were aborted.
func began(node v1alpha1.NodeRecord) time.Time {
	for _, s := range slices.Backward(node.Steps) {
		if s.Step == v1alpha1.StepCordoning {
			return s.StartTime.Time
		}
	}
	return time.Time{}
}

// uncordoned returns when a node's last uncordon ended.
func uncordoned(node v1alpha1.NodeRecord) time.Time {
	var at time.Time
	for _, s := range node.Steps {
		if s.Step == v1alpha1.StepUncordoning && s.EndTime != nil {
			at = s.EndTime.Time
		}
	}
	return at
}

func handOffs(nodes []v1alpha1.NodeRecord) []string {
	var lines []string
	for i := 1; i < len(nodes); i++ {
		from, to := uncordoned(nodes[i-1]), began(nodes[i])
		if from.IsZero() || to.IsZero() || to.Before(from) {
			continue // they were out of service together
		}
		line := fmt.Sprintf("hand-off %s -> %s: %.2f s from uncordon to cordon", nodes[i-1].Name, nodes[i].Name, to.Sub(from).Seconds())
		if kubeadm := kubeadmBetween(nodes[i], from, to); kubeadm > 0 {
			line += fmt.Sprintf(", of which kubeadm %.2f s", kubeadm.Seconds())
		}
		lines = append(lines, line)
	}
	return lines
}

// kubeadmBetween returns how long a node ran kubeadm between two instants, which
// excludes pass 1.
func kubeadmBetween(node v1alpha1.NodeRecord, from, to time.Time) (total time.Duration) {
	for _, s := range node.Steps {
		if s.Step == v1alpha1.StepKubeadm && s.EndTime != nil && s.StartTime.After(from) && !s.EndTime.After(to) {
			total += s.EndTime.Sub(s.StartTime.Time)
		}
	}
	return total
}
