package view

import (
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

func TestAgentProblem(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	pod := func(node string, ready bool, age time.Duration) fleet.AgentPod {
		return fleet.AgentPod{Node: node, Ready: ready, Since: now.Add(-age)}
	}
	for name, test := range map[string]struct {
		agents []fleet.AgentPod
		alter  func(*fleet.Node)
		want   string
	}{
		"pods may not be read": {agents: nil},
		"an agent runs":        {agents: []fleet.AgentPod{pod("w-2", false, time.Hour), pod("w-1", true, time.Hour)}},
		"it is being replaced": {agents: []fleet.AgentPod{pod("w-1", false, time.Hour), pod("w-1", true, time.Second)}},
		"it has just begun":    {agents: []fleet.AgentPod{pod("w-1", false, time.Minute)}},
		"it is not Ready":      {agents: []fleet.AgentPod{pod("w-1", false, time.Hour)}, want: "since 2026-11-22 11:00 UTC"},
		"its image is missing": {agents: []fleet.AgentPod{{Node: "w-1", Since: now.Add(-time.Hour), Waiting: "ErrImagePull"}}, want: "since 2026-11-22 11:00 UTC: ErrImagePull"},
		"there is no pod":      {agents: []fleet.AgentPod{pod("w-2", true, time.Hour)}, want: "no pod"},
		"the node is new":      {agents: []fleet.AgentPod{}, alter: func(n *fleet.Node) { n.Created = now.Add(-time.Minute) }},
		"the node is NotReady": {agents: []fleet.AgentPod{}, alter: func(n *fleet.Node) { n.Ready = false }},
		"the node has Windows": {agents: []fleet.AgentPod{}, alter: func(n *fleet.Node) { n.OS = "windows" }},
	} {
		t.Run(name, func(t *testing.T) {
			node := fleet.Node{Name: "w-1", OS: "linux", Ready: true, Created: now.Add(-time.Hour)}
			if test.alter != nil {
				test.alter(&node)
			}
			if got := AgentProblem(fleet.Programs{Agents: test.agents, At: now}, node); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
