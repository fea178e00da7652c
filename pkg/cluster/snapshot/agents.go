package snapshot

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// agentDaemonSet is the DaemonSet of the agents, as an informer's key, and agentPods selects
// its pods.
const (
	agentDaemonSet      = v1alpha1.Namespace + "/node-agent"
	agentComponentLabel = "app.kubernetes.io/component"
	agentComponent      = "node-agent"
	agentPods           = agentComponentLabel + "=" + agentComponent
)

// Agents returns how many agents should run, and how many are Ready, from memory.
func (r *Reader) Agents() (desired, ready int) {
	object, _, _ := r.daemonSets.GetStore().GetByKey(agentDaemonSet)
	agents, found := object.(*appsv1.DaemonSet)
	if !found {
		return 0, 0
	}
	return int(agents.Status.DesiredNumberScheduled), int(agents.Status.NumberReady)
}

// addAgents adds to each Node why no agent runs on it. An agent at rest makes no requests, so
// its pod is the only sign of it that costs nothing. Without the DaemonSet it is not known how
// agents are run.
func addAgents(s *fleet.Snapshot, daemonSets []*appsv1.DaemonSet, nodes []*corev1.Node, pods []*corev1.Pod) {
	if !hasAgentDaemonSet(daemonSets) {
		return
	}
	problems := make(map[string]*agentState, len(pods))
	for _, pod := range pods {
		if was := problems[pod.Spec.NodeName]; was == nil || was.problem != "" {
			one := agentOf(pod)
			problems[pod.Spec.NodeName] = &one
		}
	}
	for i, n := range nodes {
		if one := problems[n.Name]; one != nil {
			s.Nodes[i].AgentProblem, s.Nodes[i].AgentProblemSince = one.problem, one.since
		} else if s.Nodes[i].OS == "linux" {
			s.Nodes[i].AgentProblem, s.Nodes[i].AgentProblemSince = "there is no pod of it", readySince(n)
		}
	}
}

func hasAgentDaemonSet(daemonSets []*appsv1.DaemonSet) bool {
	for _, d := range daemonSets {
		if d.Namespace+"/"+d.Name == agentDaemonSet {
			return true
		}
	}
	return false
}

// agentState is why an agent's pod is not Ready, and since when.
type agentState struct {
	problem string
	since   *time.Time
}

func agentOf(pod *corev1.Pod) agentState {
	since := pod.CreationTimestamp.Time
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return agentState{}
		}
		if c.Type == corev1.PodReady && !c.LastTransitionTime.IsZero() {
			since = c.LastTransitionTime.Time
		}
	}
	problem := "its pod " + pod.Name + " is not Ready"
	for _, c := range pod.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Reason != "" {
			problem += ": " + w.Reason
		}
	}
	return agentState{problem, &since}
}

func isAgentPod(pod *corev1.Pod) bool { return pod.Labels[agentComponentLabel] == agentComponent }

// readySince returns since when the Node is Ready, so that an agent should run. Nil: that is
// not known.
func readySince(n *corev1.Node) *time.Time {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && !c.LastTransitionTime.IsZero() {
			return &c.LastTransitionTime.Time
		}
	}
	return nil
}
