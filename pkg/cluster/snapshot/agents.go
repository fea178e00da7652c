package snapshot

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// agentDaemonSet is the DaemonSet of the agents, as an informer's key, and agentPods selects
// its pods.
const (
	agentDaemonSet      = v1alpha1.Namespace + "/node-agent"
	agentComponentLabel = "app.kubernetes.io/component"
	agentComponent      = "node-agent"
	agentPods           = agentComponentLabel + "=" + agentComponent
	programPods         = agentComponentLabel + " in (" + agentComponent + ",coordinator)"
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
func addAgents(s *clusterstate.Snapshot, daemonSets []*appsv1.DaemonSet, nodes []*corev1.Node, pods []*corev1.Pod) {
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
			if ready := readySince(n); one.problem != "" && ready != nil && ready.After(*one.since) {
				s.Nodes[i].AgentProblemSince = ready // the pod starts again after the node does
			}
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
	waiting, last := whyNotRunning(pod)
	for _, why := range []string{waiting, last} {
		if why != "" {
			problem += ": " + why
		}
	}
	return agentState{problem, &since}
}

// whyNotRunning returns the reason for which the kubelet does not start an agent's container, such as
// CrashLoopBackOff, and what the container said when it ended last, or how it ended. Both may be empty.
func whyNotRunning(pod *corev1.Pod) (waiting, last string) {
	for _, c := range pod.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			waiting = w.Reason
		}
		ended := c.State.Terminated
		if ended == nil {
			ended = c.LastTerminationState.Terminated
		}
		switch {
		case ended == nil:
		case strings.TrimSpace(ended.Message) != "":
			last = lastWords(ended.Message)
		case ended.Reason != "Completed":
			last = fmt.Sprintf("it ended with exit code %d (%s)", ended.ExitCode, cmp.Or(ended.Reason, "Error"))
		}
	}
	return waiting, last
}

// whyPending returns why a pod runs on no node, or why its container does not run; empty: it does.
func whyPending(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return lastWords(cmp.Or(c.Message, c.Reason))
		}
	}
	waiting, last := whyNotRunning(pod)
	return cmp.Or(waiting, last)
}

// maxLastWords is how many bytes of a container's last message are kept.
const maxLastWords = 400

// lastWords returns a container's last message in one line of a bounded length.
func lastWords(message string) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(message, "")), " ")
	if len(text) <= maxLastWords {
		return text
	}
	return strings.ToValidUTF8(text[:maxLastWords-3], "") + "..."
}

func isAgentPod(pod *corev1.Pod) bool { return pod.Labels[agentComponentLabel] == agentComponent }
