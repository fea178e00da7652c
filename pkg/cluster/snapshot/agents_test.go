package snapshot

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestAgents checks that a Node whose agent's pod is not Ready, or missing, says so and since
// when, with its last error, but not from before the Node was Ready; and nothing while it is unknown how agents are run.
func TestAgents(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}, Status: corev1.NodeStatus{
		NodeInfo:   corev1.NodeSystemInfo{OperatingSystem: "linux"},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: at}},
	}}
	pod := func(ready corev1.ConditionStatus, waiting string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "node-agent-x", Labels: map[string]string{agentComponentLabel: agentComponent}}, Spec: corev1.PodSpec{NodeName: "w1"}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(at.Add(-time.Hour))}}
		if waiting != "" {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waiting}}}}
		}
		trim(p)
		return p
	}
	ended := func(waiting string, now, last *corev1.ContainerStateTerminated) []*corev1.Pod {
		p := pod(corev1.ConditionFalse, "")
		c := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: now}, LastTerminationState: corev1.ContainerState{Terminated: last}}
		if waiting != "" {
			c.State.Waiting = &corev1.ContainerStateWaiting{Reason: waiting, Message: "back-off 5m0s restarting failed container"}
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{c}
		trim(p)
		return []*corev1.Pod{p}
	}
	said := func(message string) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: message}
	}
	killed := &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
	long := strings.Repeat("ä", maxLastWords)
	daemonSet := []*appsv1.DaemonSet{{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: "node-agent"}}}
	for name, test := range map[string]struct {
		daemonSets []*appsv1.DaemonSet
		pods       []*corev1.Pod
		want       string
	}{
		"no DaemonSet": {nil, nil, ""},
		"no pod":       {daemonSet, nil, "there is no pod of it"},
		"Ready":        {daemonSet, []*corev1.Pod{pod(corev1.ConditionTrue, "")}, ""},
		"image":        {daemonSet, []*corev1.Pod{pod(corev1.ConditionFalse, "ImagePullBackOff")}, "its pod node-agent-x is not Ready: ImagePullBackOff"},
		"its error": {daemonSet, ended("CrashLoopBackOff", nil, said("kubelet.conf is empty: restore it\n")),
			"its pod node-agent-x is not Ready: CrashLoopBackOff: kubelet.conf is empty: restore it"},
		"its error, while it runs again": {daemonSet, ended("", nil, said("the certificate\n\tis empty")), "its pod node-agent-x is not Ready: the certificate is empty"},
		"its newest error":               {daemonSet, ended("", said("new"), said("old")), "its pod node-agent-x is not Ready: new"},
		"its error is long": {daemonSet, ended("", said(long), nil),
			"its pod node-agent-x is not Ready: " + long[:maxLastWords-4] + "..."},
		"killed without a word":  {daemonSet, ended("CrashLoopBackOff", nil, killed), "its pod node-agent-x is not Ready: CrashLoopBackOff: it ended with exit code 137 (OOMKilled)"},
		"stopped":                {daemonSet, ended("", nil, &corev1.ContainerStateTerminated{Reason: "Completed"}), "its pod node-agent-x is not Ready"},
		"replaced, first Ready":  {daemonSet, []*corev1.Pod{pod(corev1.ConditionTrue, ""), pod(corev1.ConditionFalse, "")}, ""},
		"replaced, second Ready": {daemonSet, []*corev1.Pod{pod(corev1.ConditionFalse, ""), pod(corev1.ConditionTrue, "")}, ""},
	} {
		s := clusterstate.Snapshot{Nodes: []clusterstate.Node{Node(node)}}
		addAgents(&s, test.daemonSets, []*corev1.Node{node}, test.pods)
		if got := s.Nodes[0]; got.AgentProblem != test.want || test.want != "" && (got.AgentProblemSince == nil || !got.AgentProblemSince.Equal(at.Time)) {
			t.Errorf("%s: %q since %v, want %q since %s", name, got.AgentProblem, got.AgentProblemSince, test.want, at)
		}
	}
}

// TestWhyPending checks that the scheduler's words come before those of a container.
func TestWhyPending(t *testing.T) {
	var pod corev1.Pod
	if got := whyPending(&pod); got != "" {
		t.Errorf("a pod that runs: %q", got)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}}
	if got := whyPending(&pod); got != "ErrImagePull" {
		t.Errorf("a pod without its image: %q", got)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available:\n3 node(s) had taints."}}
	if got := whyPending(&pod); got != "0/3 nodes are available: 3 node(s) had taints." {
		t.Errorf("a pod without a node: %q", got)
	}
}
