package staticpod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestVersion(t *testing.T) {
	for image, want := range map[string]string{
		"registry.k8s.io/kube-apiserver:v1.34.4":                "v1.34.4",
		"registry.k8s.io/kube-apiserver:v1.34.4@sha256:0123":    "v1.34.4",
		"localhost:5000/kube-apiserver:v1.34.4":                 "v1.34.4",
		"localhost:5000/kube-apiserver":                         "",
		"registry.k8s.io/kube-apiserver@sha256:0123456789abcde": "",
		"kube-apiserver": "",
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}}
		if got := Version(pod); got != want {
			t.Errorf("%s: got %q, want %q", image, got, want)
		}
	}
	if got := Version(&corev1.Pod{}); got != "" {
		t.Errorf("no container: got %q", got)
	}
}

func TestReady(t *testing.T) {
	pod := &corev1.Pod{}
	if Ready(pod) {
		t.Error("a pod of which nothing is known is Ready")
	}
	for status, want := range map[corev1.ConditionStatus]bool{corev1.ConditionTrue: true, corev1.ConditionFalse: false, corev1.ConditionUnknown: false} {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: status}}
		if got := Ready(pod); got != want {
			t.Errorf("%s: got %v, want %v", status, got, want)
		}
	}
}

func TestOnControlPlane(t *testing.T) {
	if !OnControlPlane(map[string]string{ControlPlaneLabel: ""}) || OnControlPlane(nil) {
		t.Error("the label's being there is what counts")
	}
}
