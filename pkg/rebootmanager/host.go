package rebootmanager

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// isNamed reports whether the UpgradePolicy names the DaemonSet. Only administrators of the
// cluster may change that.
func isNamed(d *appsv1.DaemonSet, named []v1alpha1.DaemonSetReference) bool {
	return slices.Contains(named, v1alpha1.DaemonSetReference{Namespace: d.Namespace, Name: d.Name})
}

// reachesHost reports whether the DaemonSet's pods can reach their nodes, as a program needs
// that reboots them: kured enters the host's processes, and FLUO has the host's system bus.
// The PodSecurity levels baseline and restricted refuse both.
func reachesHost(d *appsv1.DaemonSet) bool {
	pod := d.Spec.Template.Spec
	return pod.HostPID || slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil })
}

// runs reports whether pods of the DaemonSet's present template are on nodes. Until its
// controller has seen a change, and while admission refuses the pods of a changed template,
// there are none.
func runs(d *appsv1.DaemonSet) bool {
	return d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedNumberScheduled > 0
}

// anyAway reports whether one of the nodes is cordoned or NotReady: no client that may only
// create a DaemonSet can do that, so kured holds its lock although its pods are being replaced.
func anyAway(nodes []*corev1.Node, names []string) bool {
	return slices.ContainsFunc(nodes, func(n *corev1.Node) bool {
		notReady := func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
		}
		return slices.Contains(names, n.Name) && (n.Spec.Unschedulable || slices.ContainsFunc(n.Status.Conditions, notReady))
	})
}

// Essence returns what Active reads of a DaemonSet.
func Essence(d *appsv1.DaemonSet) any {
	return []any{d.Annotations, runs(d), RunsFLUO(d), looksLikeKured(d) && reachesHost(d), settings(d, kuredLockFlag), settings(d, kuredNameFlag), settings(d, kuredSpaceFlag)}
}
