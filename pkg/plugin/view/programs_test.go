package view

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAgentProblem(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	pod := func(node string, ready corev1.ConditionStatus, age time.Duration) corev1.Pod {
		p := corev1.Pod{Spec: corev1.PodSpec{NodeName: node}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(now.Add(-age))}}
		return p
	}
	for name, test := range map[string]struct {
		agents []corev1.Pod
		alter  func(*corev1.Node)
		want   string
	}{
		"pods may not be read": {agents: nil},
		"an agent runs":        {agents: []corev1.Pod{pod("w-2", "False", time.Hour), pod("w-1", "True", time.Hour)}},
		"it is being replaced": {agents: []corev1.Pod{pod("w-1", "False", time.Hour), pod("w-1", "True", time.Second)}},
		"it has just begun":    {agents: []corev1.Pod{pod("w-1", "False", time.Minute)}},
		"it is not Ready":      {agents: []corev1.Pod{pod("w-1", "False", time.Hour)}, want: "since 2026-11-22 11:00 UTC"},
		"there is no pod":      {agents: []corev1.Pod{pod("w-2", "True", time.Hour)}, want: "no pod"},
		"the node is new":      {agents: []corev1.Pod{}, alter: func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(now.Add(-time.Minute)) }},
		"the node is NotReady": {agents: []corev1.Pod{}, alter: func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }},
		"the node has Windows": {agents: []corev1.Pod{}, alter: func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelOSStable: "windows"} }},
	} {
		t.Run(name, func(t *testing.T) {
			node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w-1", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			if test.alter != nil {
				test.alter(&node)
			}
			if got := (Programs{Agents: test.agents, At: now}).AgentProblem(node); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
