package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Programs tell whether the coordinator and the agents run. A list is nil where it may not
// be read.
type Programs struct {
	// Leases has the Lease that the coordinator's leader renews, if there is one.
	Leases []coordinationv1.Lease
	// Agents are the agents' pods.
	Agents []corev1.Pod
	// At is when they were read.
	At time.Time
}

const (
	// CoordinatorLease is the name of the leader's Lease.
	CoordinatorLease = "coordinator"
	// AgentSelector selects the agents' pods, as manifests/agent labels them.
	AgentSelector = "app.kubernetes.io/component=node-agent"

	// coordinatorSilent is how long the Lease may not be renewed before status reports it:
	// a change of leader takes 20 seconds, and clocks differ.
	coordinatorSilent = time.Minute
	// agentSilent is how long an agent may not be Ready: a new pod takes a minute at most.
	agentSilent = 2 * time.Minute

	showPods = "`kubectl -n " + v1alpha1.Namespace + " get pods -l %s -o wide` shows the pods"
)

// problems returns why what status shows may be old.
func (p Programs) problems(nodes []Node) []Problem {
	var problems []Problem
	if message := p.CoordinatorProblem(); message != "" {
		problems = append(problems, Problem{Reason: v1alpha1.ReasonCoordinatorNotRunning, Message: message})
	}
	var silent []string
	for _, n := range nodes {
		if n.AgentProblem != "" {
			silent = append(silent, fmt.Sprintf("%s (%s)", n.Name, n.AgentProblem))
		}
	}
	if len(silent) > 0 {
		message := fmt.Sprintf("%s: what is shown of these nodes may be old, and they do not begin or continue; "+showPods, Few(silent), AgentSelector)
		problems = append(problems, Problem{Reason: v1alpha1.ReasonAgentNotRunning, Message: message})
	}
	return problems
}

// CoordinatorProblem returns since when no coordinator runs; empty if one does, or if that
// is not known.
func (p Programs) CoordinatorProblem() string {
	pods := fmt.Sprintf(showPods, "app.kubernetes.io/component=coordinator")
	switch {
	case p.Leases == nil:
		return ""
	case len(p.Leases) == 0 || p.Leases[0].Spec.RenewTime == nil:
		return "no coordinator has run yet, so no node is released; " + pods
	}
	renewed := p.Leases[0].Spec.RenewTime.Time
	if p.At.Sub(renewed) < coordinatorSilent {
		return ""
	}
	return fmt.Sprintf("no coordinator has renewed its Lease since %s: no node is released, and reasons and progress may be old. Nodes that have begun continue; %s", fleet.FormatTime(renewed), pods)
}

// AgentProblem returns why no agent runs on a node that is Ready; empty if one does, or if
// that is not known. On a node that is not Ready, that is the problem.
func (p Programs) AgentProblem(node corev1.Node) string {
	os := cmp.Or(node.Labels[corev1.LabelOSStable], "linux")
	if p.Agents == nil || os != "linux" || !strings.HasPrefix(Condition(node), "Ready") {
		return ""
	}
	problem, since := "no pod", node.CreationTimestamp.Time
	for i := range p.Agents {
		pod := &p.Agents[i]
		if pod.Spec.NodeName != node.Name {
			continue
		}
		ready, changed := podReady(pod)
		if ready {
			return ""
		}
		problem, since = "since "+fleet.FormatTime(changed)+waitingFor(pod), changed
	}
	if p.At.Sub(since) < agentSilent {
		return ""
	}
	return problem
}

// podReady reports whether a pod is Ready, and since when it is or is not.
func podReady(pod *corev1.Pod) (ready bool, since time.Time) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		}
	}
	return false, pod.CreationTimestamp.Time
}

// waitingFor returns why a pod's container does not run, such as ": CrashLoopBackOff".
func waitingFor(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Reason != "" {
			return ": " + w.Reason
		}
	}
	return ""
}

// MostNames is how many names Few returns.
const MostNames = 3

// Few returns the first names, such as "w-1, w-2, w-3 and 17 more".
func Few(names []string) string {
	if len(names) <= MostNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:MostNames], ", "), len(names)-MostNames)
}
