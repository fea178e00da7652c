package cli

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/staticpod"
)

// viewNodes joins NodeUpgrades with Nodes, so that a node without an agent is
// not overlooked. The control plane stands first, as it goes first.
func viewNodes(o objects) []render.Node {
	nodes := make([]render.Node, 0, len(o.nodeUpgrades))
	for _, u := range o.nodeUpgrades {
		nodes = append(nodes, viewNode(u))
	}
	controlPlane := map[string]bool{}
	for _, node := range o.nodes {
		controlPlane[node.Name] = staticpod.OnControlPlane(node.Labels)
		i := slices.IndexFunc(nodes, func(n render.Node) bool { return n.Name == node.Name })
		if i < 0 {
			nodes = append(nodes, render.Node{Name: node.Name, State: render.StateUnknown, Kubelet: node.Status.NodeInfo.KubeletVersion,
				Message: "no agent has reported from this node"})
			i = len(nodes) - 1
		}
		nodes[i].Condition = condition(node)
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
	return nodes
}

func viewNode(u v1alpha1.NodeUpgrade) render.Node {
	v := render.Node{
		Name: u.Name, State: render.StateOf(u.Status.Step),
		Kubelet: u.Status.KubeletVersion, Staged: u.Status.StagedVersion, Target: u.Spec.Version,
		Release: u.Spec.Release, Step: u.Status.Step, Since: instant(u.Status.Since),
		Reason: u.Status.Reason, Message: u.Status.Message, Until: instant(u.Status.Until), RetryAt: instant(u.Status.RetryAt),
		Slot: u.Status.Slot, Agent: u.Status.AgentVersion, Attempts: u.Status.Attempts, LastError: u.Status.LastError,
		Installed: u.Status.Installed, Steps: u.Status.Steps,
		Method: u.Status.Method, MethodMessage: u.Status.MethodMessage, RebootReason: u.Status.RebootReason,
	}
	switch {
	case u.Annotations[v1alpha1.AbandonedAnnotation] != "":
		v.State, v.Reason, v.Message, v.Until = render.StateFailed, v1alpha1.ReasonAbandoned, u.Annotations[v1alpha1.AbandonedAnnotation], nil
	case v.State == render.StateUnknown:
		v.Message = cmp.Or(v.Message, "no agent has reported from this node")
	case newer(u):
		v.Reason, v.Message, v.Until = u.Spec.Reason, u.Spec.Message, instant(u.Spec.Until)
	}
	return v
}

// newer is whether the coordinator's reason is one that the agent, with
// nothing of its own to do, has not come to copy yet.
func newer(u v1alpha1.NodeUpgrade) bool {
	resting := u.Status.Step == v1alpha1.StepWaiting || u.Status.Step == v1alpha1.StepIdle
	return resting && u.Spec.Reason != "" && u.Status.ObservedGeneration < u.Generation
}

// condition is a node's state in kubectl's words.
func condition(node corev1.Node) string {
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
