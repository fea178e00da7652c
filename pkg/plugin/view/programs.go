package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

const (
	component = "app.kubernetes.io/component="

	// coordinatorSilent is how long the Lease may not be renewed before status reports it:
	// a change of leader takes 20 seconds, and clocks differ.
	coordinatorSilent = time.Minute
	// agentSilent is how long an agent may not be Ready: a new pod takes a minute at most.
	agentSilent = 2 * time.Minute

	showPods = "`kubectl -n " + v1alpha1.Namespace + " get pods -l %s -o wide` shows the pods"
)

// noFittingNode is what the scheduler says of Nodes without the label that a pod asks for
// (kubernetes, pkg/scheduler/framework/plugins/nodeaffinity).
const noFittingNode = "didn't match Pod's node affinity/selector"

// problems returns why what status shows may be old.
func problems(p clusterstate.Programs, nodes []Node) []Problem {
	var problems []Problem
	if message := CoordinatorProblem(p); message != "" {
		problems = append(problems, Problem{Reason: v1alpha1.ReasonCoordinatorNotRunning, Message: message})
	}
	var silent []string
	for _, n := range nodes {
		if n.AgentProblem != "" {
			silent = append(silent, fmt.Sprintf("%s (%s)", n.Name, n.AgentProblem))
		}
	}
	if len(silent) > 0 {
		message := fmt.Sprintf("%s: what is shown of these nodes may be old, and they do not begin or continue; "+showPods, Few(silent), component+"node-agent")
		problems = append(problems, Problem{Reason: v1alpha1.ReasonAgentNotRunning, Message: message})
	}
	return problems
}

// CoordinatorProblem returns since when no coordinator runs; empty if one does, or if that
// is not known.
func CoordinatorProblem(p clusterstate.Programs) string {
	pods := fmt.Sprintf(showPods, component+"coordinator")
	if p.CoordinatorWaits != "" {
		pods = "a pod waits (" + p.CoordinatorWaits + "); " + pods
	}
	if strings.Contains(p.CoordinatorWaits, noFittingNode) {
		pods += "; they go to control planes: a Node that registered anew has lost that label, and `kubectl label node NAME node-role.kubernetes.io/control-plane=` gives it back"
	}
	switch renewed := p.CoordinatorRenewed; {
	case renewed == nil || p.At.Sub(*renewed) < coordinatorSilent:
		return ""
	case renewed.IsZero():
		return "no coordinator has run yet, so no node is released; " + pods
	default:
		return fmt.Sprintf("no coordinator has renewed its Lease since %s: no node is released, and reasons and progress may be old. Nodes that have begun continue; %s",
			clusterstate.FormatTime(*renewed), pods)
	}
}

// AgentProblem returns why no agent runs on a node that is Ready; empty if one does, or if
// that is not known. On a node that is not Ready, that is the problem.
func AgentProblem(p clusterstate.Programs, node clusterstate.Node) string {
	if p.Agents == nil || cmp.Or(node.OS, "linux") != "linux" || !node.Ready {
		return ""
	}
	problem, since := strings.TrimSuffix("no pod: "+p.AgentRefused, ": "), node.Created
	for _, agent := range p.Agents {
		if agent.Node != node.Name {
			continue
		}
		if agent.Ready {
			return ""
		}
		problem, since = "since "+clusterstate.FormatTime(agent.Since), agent.Since
		for _, why := range []string{agent.Waiting, agent.Last} {
			if why != "" {
				problem += ": " + why
			}
		}
	}
	if p.At.Sub(since) < agentSilent {
		return ""
	}
	return problem
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
