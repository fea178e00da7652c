package view

import (
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

func TestAgentProblem(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	pod := func(node string, ready bool, age time.Duration) clusterstate.AgentPod {
		return clusterstate.AgentPod{Node: node, Ready: ready, Since: now.Add(-age)}
	}
	for name, test := range map[string]struct {
		agents  []clusterstate.AgentPod
		refused string
		alter   func(*clusterstate.Node)
		want    string
	}{
		"pods may not be read": {agents: nil},
		"an agent runs":        {agents: []clusterstate.AgentPod{pod("w-2", false, time.Hour), pod("w-1", true, time.Hour)}},
		"it is being replaced": {agents: []clusterstate.AgentPod{pod("w-1", false, time.Hour), pod("w-1", true, time.Second)}},
		"it has just begun":    {agents: []clusterstate.AgentPod{pod("w-1", false, time.Minute)}},
		"it is not Ready":      {agents: []clusterstate.AgentPod{pod("w-1", false, time.Hour)}, want: "since 2026-11-22 11:00 UTC"},
		"its image is missing": {agents: []clusterstate.AgentPod{{Node: "w-1", Since: now.Add(-time.Hour), Waiting: "ErrImagePull"}}, want: "since 2026-11-22 11:00 UTC: ErrImagePull"},
		"it says why": {agents: []clusterstate.AgentPod{{Node: "w-1", Since: now.Add(-time.Hour), Waiting: "CrashLoopBackOff", Last: "kubelet.conf is empty"}},
			want: "since 2026-11-22 11:00 UTC: CrashLoopBackOff: kubelet.conf is empty"},
		"there is no pod":      {agents: []clusterstate.AgentPod{pod("w-2", true, time.Hour)}, want: "no pod"},
		"its pod is refused":   {agents: []clusterstate.AgentPod{}, refused: "no hostPath", want: "no pod: no hostPath"},
		"the node is new":      {agents: []clusterstate.AgentPod{}, alter: func(n *clusterstate.Node) { n.Created = now.Add(-time.Minute) }},
		"the node is NotReady": {agents: []clusterstate.AgentPod{}, alter: func(n *clusterstate.Node) { n.Ready = false }},
		"the node has Windows": {agents: []clusterstate.AgentPod{}, alter: func(n *clusterstate.Node) { n.OS = "windows" }},
	} {
		t.Run(name, func(t *testing.T) {
			node := clusterstate.Node{Name: "w-1", OS: "linux", Ready: true, Created: now.Add(-time.Hour)}
			if test.alter != nil {
				test.alter(&node)
			}
			if got := AgentProblem(clusterstate.Programs{Agents: test.agents, AgentRefused: test.refused, At: now}, node); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestCoordinatorProblem(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	hourAgo, never := now.Add(-time.Hour), time.Time{}
	const shows = "`kubectl -n kubectl-upgrade get pods -l app.kubernetes.io/component=coordinator -o wide` shows the pods"
	for name, test := range map[string]struct {
		renewed *time.Time
		waits   string
		want    string
	}{
		"it leads":           {&now, "", ""},
		"another pod waits":  {&now, "CrashLoopBackOff", ""},
		"that is not known":  {nil, "CrashLoopBackOff", ""},
		"it has never run":   {&never, "", "no coordinator has run yet, so no node is released; " + shows},
		"its image is wrong": {&never, "ErrImagePull", "no coordinator has run yet, so no node is released; a pod waits (ErrImagePull); " + shows},
		"no Node has the label": {&hourAgo, "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
			"no coordinator has renewed its Lease since 2026-11-22 11:00 UTC: no node is released, and reasons and progress may be old. Nodes that have begun continue; " +
				"a pod waits (0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.); " + shows +
				"; they go to control planes: a Node that registered anew has lost that label, and `kubectl label node NAME node-role.kubernetes.io/control-plane=` gives it back"},
	} {
		if got := CoordinatorProblem(clusterstate.Programs{At: now, CoordinatorRenewed: test.renewed, CoordinatorWaits: test.waits}); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
