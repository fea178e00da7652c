package view

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/staticpod"
)

// Nodes joins NodeUpgrades with Nodes, so that a node without an agent is not
// overlooked. The control plane comes first, as it goes first. unmanaged has the names of
// the Nodes that the policy does not select, and on which nothing of kubectl-upgrade is left.
func Nodes(o Objects) (nodes []render.Node, unmanaged []string) {
	nodes = make([]render.Node, 0, len(o.Nodes))
	upgrades := make(map[string]v1alpha1.NodeUpgrade, len(o.NodeUpgrades))
	for _, u := range o.NodeUpgrades {
		upgrades[u.Name] = u
	}
	controlPlane, isManaged := map[string]bool{}, o.managed()
	for _, node := range o.Nodes {
		controlPlane[node.Name] = staticpod.OnControlPlane(node.Labels)
		u, reported := upgrades[node.Name]
		delete(upgrades, node.Name)
		if !isManaged(node.Labels) && (!reported || givenBack(u)) {
			unmanaged = append(unmanaged, node.Name)
			continue
		}
		n := render.Node{Name: node.Name, State: render.StateUnknown, Kubelet: node.Status.NodeInfo.KubeletVersion, Message: unreported}
		if reported {
			n = nodeOf(u)
		}
		n.Condition, n.AgentProblem = Condition(node), o.Programs.AgentProblem(node)
		_, n.OnHold = node.Labels[v1alpha1.HoldLabel]
		nodes = append(nodes, n)
	}
	for _, u := range upgrades { // their Nodes are gone, or may not be read
		nodes = append(nodes, nodeOf(u))
	}
	slices.SortFunc(nodes, func(a, b render.Node) int {
		if controlPlane[a.Name] != controlPlane[b.Name] {
			if controlPlane[a.Name] {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return nodes, unmanaged
}

// givenBack reports whether nothing of kubectl-upgrade is left on the node.
func givenBack(u v1alpha1.NodeUpgrade) bool {
	return !u.Spec.Managed && !meta.IsStatusConditionTrue(u.Status.Conditions, v1alpha1.ConditionManaged)
}

func nodeOf(u v1alpha1.NodeUpgrade) render.Node {
	v := render.Node{
		Name: u.Name, State: render.StateOf(u.Status.Step),
		Kubelet: u.Status.Versions.Kubelet, Staged: u.Status.Versions.Staged, Target: u.Spec.Version,
		Release: u.Spec.Release, Step: u.Status.Step, Since: instant(u.Status.StepStartTime), RetryTime: instant(u.Status.Retry.Time),
		Slot: u.Status.Slot, Agent: u.Status.AgentVersion, Attempts: u.Status.Retry.Attempts, Steps: u.Status.Steps,
		Method: u.Status.Method, MethodMessage: u.Status.MethodMessage, RebootReason: u.Status.Reboot.Reason,
		KubeletLog: u.Status.KubeletLog,
	}
	v.Reason, v.Message = u.Status.Explain()
	v.Until = instant(u.Status.StepEndTime)
	if hold, _ := u.Status.Hold(); hold == v.Reason {
		v.Until = instant(u.Status.HoldEndTime)
	}
	switch {
	case u.Abandoned != nil:
		v.State, v.Reason, v.Message, v.Until = render.StateFailed, v1alpha1.ReasonAbandoned, u.Abandoned.String(), nil
	case v.State == render.StateUnknown:
		v.Reason, v.Message, v.Until = "", unreported, nil
	}
	return v
}

// unreported is the message of a node without an agent.
const unreported = "no agent has reported from this node"

// Condition returns a Node's state as `kubectl get nodes` writes it.
func Condition(node corev1.Node) string {
	text := "Unknown"
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			text = map[corev1.ConditionStatus]string{corev1.ConditionTrue: "Ready"}[c.Status]
			text = cmp.Or(text, "NotReady")
		}
	}
	if node.Spec.Unschedulable {
		text += ",SchedulingDisabled"
	}
	return text
}
