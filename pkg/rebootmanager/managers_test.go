package rebootmanager

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func daemonSet(lock, image string, scheduled int32) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "ds"}}
	if lock != "" {
		d.Annotations = map[string]string{kuredLock: lock}
	}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: image}}
	d.Status.DesiredNumberScheduled = scheduled
	return d
}

func node(annotations ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", Annotations: map[string]string{}, Labels: map[string]string{fluoPrefix + "id": "flatcar"}}}
	for _, one := range annotations {
		key, value, _ := strings.Cut(one, "=")
		n.Annotations[key] = value
	}
	return n
}

// The locks are as kured writes them, without and with --concurrency; the marks
// as FLUO does.
func TestActive(t *testing.T) {
	const fluoAgent = "ghcr.io/flatcar/flatcar-linux-update-operator:v0.10.0-rc3"
	for _, test := range []struct {
		name      string
		node      *corev1.Node
		daemonSet *appsv1.DaemonSet
		want      string // the begin of what is said
	}{
		{"none", node(), daemonSet("", "cni", 3), ""},
		{"kured without a lock", node(), daemonSet("", "ghcr.io/kubereboot/kured:1.20.0", 3), ""},
		{"kured's lock", node(), daemonSet(`{"nodeID":"w2","metadata":{"unschedulable":false},"created":"2026-11-21T10:00:00Z","TTL":0}`, "kured", 3), "kured holds its lock for node w2 "},
		{"kured's lock has run out", node(), daemonSet(`{"nodeID":"w2","created":"2020-11-21T10:00:00Z","TTL":1000000000}`, "kured", 3), "kured holds its lock for node w2 "},
		{"kured's locks", node(), daemonSet(`{"maxOwners":2,"locks":[{"nodeID":"w2"},{"nodeID":"w3"}]}`, "kured", 3), "kured holds its lock for node w2, w3 "},
		{"kured's locks, none held", node(), daemonSet(`{"maxOwners":2,"locks":[]}`, "kured", 3), ""},
		{"kured's locks, none left", node(), daemonSet(`{"maxOwners":2,"locks":null}`, "kured", 3), ""},
		{"a lock that names no node", node(), daemonSet(`{}`, "kured", 3), "kured holds its lock for an unknown node (the lock names none)"},
		{"a lock that cannot be read", node(), daemonSet(`w2`, "kured", 3), "kured holds its lock for an unknown node (the lock cannot be parsed)"},

		{"FLUO runs", node(fluoNeeded + "=false"), daemonSet("", fluoAgent, 3), "FLUO may reboot node w1 (DaemonSet kube-system/ds)"},
		{"FLUO runs, and is paused", node(fluoPaused + "=true"), daemonSet("", fluoAgent, 3), ""},
		{"FLUO is there and runs nowhere", node(fluoNeeded + "=false"), daemonSet("", fluoAgent, 0), ""},
		{"FLUO was removed", node(fluoNeeded+"=false", fluoInProgress+"=false", fluoOK+"=false"), daemonSet("", "cni", 3), ""},
		{"FLUO is about to", node(fluoNeeded + "=true"), daemonSet("", "cni", 3), "FLUO is about to reboot node w1 "},
		{"FLUO would, and is paused", node(fluoNeeded+"=true", fluoPaused+"=true"), daemonSet("", "cni", 3), ""},
		{"FLUO does, paused too late", node(fluoOK+"=true", fluoPaused+"=true"), daemonSet("", "cni", 3), "FLUO reboots node w1 "},
	} {
		got := Active([]*corev1.Node{test.node}, []*appsv1.DaemonSet{test.daemonSet})
		switch {
		case test.want == "" && len(got) > 0:
			t.Errorf("%s: %s", test.name, got[0].Message)
		case test.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0].Message, test.want)):
			t.Errorf("%s: got %v, want %q", test.name, got, test.want)
		}
	}
}
