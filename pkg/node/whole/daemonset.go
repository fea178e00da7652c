package whole

import (
	"slices"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Wants reports whether the DaemonSet's controller keeps a pod on the node. It starts none where a taint keeps it away,
// and lets one that is there run unless the taint ends pods (NodeShouldRunDaemonPod in pkg/controller/daemon, v1.34.4).
func (s Seen) Wants(set *appsv1.DaemonSet) bool {
	spec := set.Spec.Template.Spec
	if spec.NodeName != "" && spec.NodeName != s.Node.Name || set.DeletionTimestamp != nil {
		return false
	}
	if !affine(spec, s.Node) {
		return false
	}
	there := s.hasPod(set.Namespace + "/" + set.Name)
	return !slices.ContainsFunc(s.Node.Spec.Taints, func(taint corev1.Taint) bool {
		keepsAway := taint.Effect == corev1.TaintEffectNoExecute || taint.Effect == corev1.TaintEffectNoSchedule && !there
		return keepsAway && !alwaysTolerated(taint, spec.HostNetwork) && !tolerates(spec.Tolerations, taint)
	})
}

// alwaysTolerated reports whether the controller lets the pods of all DaemonSets tolerate the taint. Taints of a node that
// is not Ready end soon after it is.
func alwaysTolerated(taint corev1.Taint, hostNetwork bool) bool {
	switch taint.Key {
	case corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable:
		return true
	case corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable:
		return taint.Effect == corev1.TaintEffectNoSchedule
	case corev1.TaintNodeNetworkUnavailable:
		return hostNetwork && taint.Effect == corev1.TaintEffectNoSchedule
	}
	return false
}

func tolerates(tolerations []corev1.Toleration, taint corev1.Taint) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(logr.Discard(), &taint, true) })
}

// affine reports whether the node has what the pods' nodeSelector and required affinity ask for. What cannot be read is
// taken for granted, so that the node waits for the pod.
func affine(spec corev1.PodSpec, node *corev1.Node) bool {
	matches, err := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: spec}).Match(node)
	return matches || err != nil
}
