// Package toleration recognises pods that tolerate a cordon.
//
// It promises the same answer to the agent, which drains a node, and to preflight, which
// predicts the drain. It is pure.
package toleration

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Unschedulable reports whether a pod with these tolerations can be scheduled to a
// cordoned node. A drain skips such a pod, as it would come straight back.
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
func Unschedulable(tolerations []corev1.Toleration) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		everything := t.Key == "" && t.Operator == corev1.TolerationOpExists
		this := t.Key == corev1.TaintNodeUnschedulable && (t.Operator == corev1.TolerationOpExists || t.Value == "")
		return (everything || this) && (t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule)
	})
}
