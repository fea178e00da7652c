// Package toleration says which pods a cordon does not keep away.
//
// It promises the same answer to whoever drains a node and to whoever tells
// beforehand what a drain will do. It is pure.
package toleration

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Unschedulable is whether a pod with these tolerations would come straight back
// to a node that is cordoned, so that a drain leaves it where it is.
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
func Unschedulable(tolerations []corev1.Toleration) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		everything := t.Key == "" && t.Operator == corev1.TolerationOpExists
		this := t.Key == corev1.TaintNodeUnschedulable && (t.Operator == corev1.TolerationOpExists || t.Value == "")
		return (everything || this) && (t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule)
	})
}
