package clusterstate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestVersion(t *testing.T) {
	for image, want := range map[string]string{
		"registry.k8s.io/kube-apiserver:v1.34.4":                "v1.34.4",
		"registry.k8s.io/kube-apiserver:v1.34.4@sha256:0123":    "v1.34.4",
		"localhost:5000/kube-apiserver:v1.34.4":                 "v1.34.4",
		"localhost:5000/kube-apiserver":                         "",
		"registry.k8s.io/kube-apiserver:v1.34.4_k3s1":           "v1.34.4+k3s1",
		"registry.k8s.io/kube-apiserver:v1.35.0-rc.1":           "v1.35.0-rc.1",
		"registry.k8s.io/kube-apiserver@sha256:0123456789abcde": "",
		"kube-apiserver": "",
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}}
		if got := StaticPodVersion(pod); got != want {
			t.Errorf("%s: got %q, want %q", image, got, want)
		}
	}
	if got := StaticPodVersion(&corev1.Pod{}); got != "" {
		t.Errorf("no container: got %q", got)
	}
}

func TestIs(t *testing.T) {
	yes := true
	of := func(kind string, phase corev1.PodPhase, mirror bool) *corev1.Pod {
		pod := &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
		if kind != "" {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Controller: &yes}}
		}
		if mirror {
			pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		}
		return pod
	}
	for _, test := range []struct {
		name string
		pod  *corev1.Pod
		want bool
	}{
		{"a mirror", of("Node", corev1.PodRunning, true), true},
		{"a mirror that is over", of("Node", corev1.PodFailed, true), true},
		{"of a Node", of("Node", corev1.PodRunning, false), true},
		{"of nobody", of("", corev1.PodRunning, false), true},
		{"of nobody, over", of("", corev1.PodSucceeded, false), false},
		{"of a Job", of("Job", corev1.PodSucceeded, false), false},
		{"of a StatefulSet", of("StatefulSet", corev1.PodRunning, false), false},
	} {
		if got := IsStaticPod(test.pod); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}

func TestReady(t *testing.T) {
	pod := &corev1.Pod{}
	if PodReady(pod) {
		t.Error("a pod of which nothing is known is Ready")
	}
	for status, want := range map[corev1.ConditionStatus]bool{corev1.ConditionTrue: true, corev1.ConditionFalse: false, corev1.ConditionUnknown: false} {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: status}}
		if got := PodReady(pod); got != want {
			t.Errorf("%s: got %v, want %v", status, got, want)
		}
	}
}

func TestOnControlPlane(t *testing.T) {
	if !HasControlPlaneLabel(map[string]string{ControlPlaneLabel: ""}) || HasControlPlaneLabel(nil) {
		t.Error("the label's being there is what counts")
	}
}
