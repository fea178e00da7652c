package agent

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// TestEndedPodIsNoAPIServer checks that a pod with kubeadm's label that has ended does not
// count as an apiserver.
func TestEndedPodIsNoAPIServer(t *testing.T) {
	pod := func(image string, phase corev1.PodPhase) corev1.Pod {
		return corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}, Status: corev1.PodStatus{Phase: phase}}
	}
	got, err := versionsOf([]corev1.Pod{pod("backup:latest", corev1.PodSucceeded), pod("registry.k8s.io/kube-apiserver:v1.34.4", corev1.PodRunning)})
	if err != nil || len(got) != 1 || got[0] != (version.Version{Major: 1, Minor: 34, Patch: 4}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := versionsOf([]corev1.Pod{pod("backup:latest", corev1.PodFailed)}); err == nil {
		t.Errorf("without an apiserver: %v", got)
	}
}
