package preflight

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// evictedPod is a pod that the upgrade evicts from its node. pkg/node/drain selects the same
// pods.
type evictedPod struct {
	*corev1.Pod
	node  *node
	owner string // kind/namespace/name of its controller; empty: it has none
	kind  string
}

// findEvicted selects the pods that drains will evict. Pods that a rule skips, or waits
// for until they end, are not among them.
func (c *checker) findEvicted() {
	drained := make(map[string]*node, len(c.nodes))
	for _, n := range c.nodes {
		if n.drains {
			drained[n.name] = n
		}
	}
	for i := range c.Workloads.Pods {
		pod := &c.Workloads.Pods[i]
		n := drained[pod.Spec.NodeName]
		if n == nil || mirror(pod) || ended(pod) || fleet.ToleratesUnschedulable(pod.Spec.Tolerations) {
			continue
		}
		kind, owner := ownerOf(pod)
		if kind != "DaemonSet" && n.drain.rules.Behavior(pod) == v1alpha1.DrainPod {
			c.evicted = append(c.evicted, evictedPod{pod, n, owner, kind})
		}
	}
}

// ended reports whether the pod has ended, or is being deleted.
func ended(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// ownerOf returns the pod's controller, and the Deployment instead of its
// ReplicaSet: a Deployment names its ReplicaSets after itself and the hash that its
// pods have as a label.
func ownerOf(pod *corev1.Pod) (kind, owner string) {
	controller := metav1.GetControllerOfNoCopy(pod)
	if controller == nil {
		return "", ""
	}
	kind, name := controller.Kind, controller.Name
	if hash := pod.Labels["pod-template-hash"]; kind == "ReplicaSet" && hash != "" && strings.HasSuffix(name, "-"+hash) {
		kind, name = "Deployment", strings.TrimSuffix(name, "-"+hash)
	}
	return kind, kind + "/" + pod.Namespace + "/" + name
}

// systemNamespaces are the namespaces of Kubernetes itself, and our own. Users cannot
// follow the advice about their workloads.
var systemNamespaces = map[string]bool{
	metav1.NamespaceSystem: true, metav1.NamespacePublic: true, corev1.NamespaceNodeLease: true, ownNamespace: true,
}
