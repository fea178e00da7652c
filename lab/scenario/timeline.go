package scenario

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// steps that a timeline has rows for, in their order.
var steps = []v1alpha1.Step{
	v1alpha1.StepStaging, v1alpha1.StepWaiting, v1alpha1.StepLocking, v1alpha1.StepSnapshotting, v1alpha1.StepKubeadm, v1alpha1.StepChecking,
	v1alpha1.StepCordoning, v1alpha1.StepDraining, v1alpha1.StepLastCheck, v1alpha1.StepActivating, v1alpha1.StepRebooting, v1alpha1.StepRestarting,
	v1alpha1.StepVerifying, v1alpha1.StepSettling, v1alpha1.StepUncordoning, v1alpha1.StepUnlocking, v1alpha1.StepAborting,
}

// Timeline prints, for each node, the seconds that it spent in each step, and
// the hand-offs: from the end of one node's uncordon to the begin of the next
// one's cordon.
func Timeline(out io.Writer, nodes []v1alpha1.NodeUpgrade) {
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b v1alpha1.NodeUpgrade) int { return began(a).Compare(began(b)) })
	_, _ = fmt.Fprintf(out, "%-14s", "seconds")
	for _, node := range nodes {
		_, _ = fmt.Fprintf(out, "%9s", node.Name)
	}
	_, _ = fmt.Fprintln(out)
	for _, step := range steps {
		row, any := "", false
		for _, node := range nodes {
			spent, times := spent(node, step)
			cell := ""
			if times > 0 {
				any, cell = true, fmt.Sprintf("%.2f", spent.Seconds())
			}
			row += fmt.Sprintf("%9s", cell)
		}
		if any {
			_, _ = fmt.Fprintf(out, "%-14s%s\n", step, row)
		}
	}
	for _, line := range handOffs(nodes) {
		_, _ = fmt.Fprintln(out, line)
	}
}

// spent adds up a step that a node was at several times.
func spent(node v1alpha1.NodeUpgrade, step v1alpha1.Step) (total time.Duration, times int) {
	for _, s := range node.Status.Steps {
		if s.Step == step && s.FinishedAt != nil {
			total += s.FinishedAt.Sub(s.StartedAt.Time)
			times++
		}
	}
	return total, times
}

// began is when a node's last cordon began: those before it were given up.
func began(node v1alpha1.NodeUpgrade) time.Time {
	for _, s := range slices.Backward(node.Status.Steps) {
		if s.Step == v1alpha1.StepCordoning {
			return s.StartedAt.Time
		}
	}
	return time.Time{}
}

// uncordoned is when a node's last uncordon ended.
func uncordoned(node v1alpha1.NodeUpgrade) time.Time {
	var at time.Time
	for _, s := range node.Status.Steps {
		if s.Step == v1alpha1.StepUncordoning && s.FinishedAt != nil {
			at = s.FinishedAt.Time
		}
	}
	return at
}

func handOffs(nodes []v1alpha1.NodeUpgrade) []string {
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

// kubeadmBetween leaves pass 1 out, which was long before.
func kubeadmBetween(node v1alpha1.NodeUpgrade, from, to time.Time) (total time.Duration) {
	for _, s := range node.Status.Steps {
		if s.Step == v1alpha1.StepKubeadm && s.FinishedAt != nil && s.StartedAt.After(from) && !s.FinishedAt.After(to) {
			total += s.FinishedAt.Sub(s.StartedAt.Time)
		}
	}
	return total
}
