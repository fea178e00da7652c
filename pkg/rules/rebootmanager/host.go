package rebootmanager

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// isNamed reports whether the UpgradePolicy names the DaemonSet. Only administrators of the
// cluster may change that.
func isNamed(d *appsv1.DaemonSet, named []v1alpha1.DaemonSetReference) bool {
	return slices.Contains(named, v1alpha1.DaemonSetReference{Namespace: d.Namespace, Name: d.Name})
}

// reachesHost reports whether a pod can reach its node, as a program needs
// that reboots them: kured enters the host's processes, and FLUO has the host's system bus.
// The PodSecurity levels baseline and restricted refuse both.
func reachesHost(pod corev1.PodSpec) bool {
	return pod.HostPID || slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil })
}

// runs reports whether pods of the DaemonSet's present template are on nodes. Until its
// controller has seen a change, and while admission refuses the pods of a changed template,
// there are none. Pods of a former template may run on, for ever with the strategy OnDelete: see
// OfFormerPods.
func runs(d *appsv1.DaemonSet) bool {
	return d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedNumberScheduled > 0
}

// LockHeld reports whether a DaemonSet that looks like kured holds a lock.
func LockHeld(daemonSets []*appsv1.DaemonSet) bool {
	return slices.ContainsFunc(LikeKured(daemonSets), func(d *appsv1.DaemonSet) bool { return len(locksOf(d, daemonSets)) > 0 })
}

// OfFormerPods returns the DaemonSets that look like kured and have one of these pods, which
// reaches its node: they run there, also if their present template does not.
func OfFormerPods(daemonSets []*appsv1.DaemonSet, pods []corev1.Pod) (found []v1alpha1.DaemonSetReference) {
	for _, d := range LikeKured(daemonSets) {
		if slices.ContainsFunc(pods, func(p corev1.Pod) bool { return metav1.IsControlledBy(&p, d) && reachesHost(p.Spec) }) {
			found = append(found, v1alpha1.DaemonSetReference{Namespace: d.Namespace, Name: d.Name})
		}
	}
	return found
}

// anyAway reports whether one of the nodes is cordoned or NotReady, and not for an upgrade of ours: no client that
// may only create a DaemonSet can do that, so kured holds its lock although its pods are being replaced.
func anyAway(nodes []*corev1.Node, names []string, slots []clusterstate.Slot) bool {
	return slices.ContainsFunc(nodes, func(n *corev1.Node) bool {
		notReady := func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
		}
		return slices.Contains(names, n.Name) && !isOurs(n, slots) && (n.Spec.Unschedulable || slices.ContainsFunc(n.Status.Conditions, notReady))
	})
}

// isOurs reports whether the node has a mark of ours, or holds a slot.
func isOurs(n *corev1.Node, slots []clusterstate.Slot) bool {
	_, cordoned := n.Annotations[v1alpha1.CordonAnnotation]
	_, marked := n.Annotations[v1alpha1.SlotAnnotation]
	me := clusterstate.Owner{Node: n.Name, UID: string(n.UID)}
	return cordoned || marked || slices.ContainsFunc(slots, func(s clusterstate.Slot) bool { return s.Holder == me })
}

// Essence returns what Active reads of a DaemonSet.
func Essence(d *appsv1.DaemonSet) any {
	return []any{d.Annotations, runs(d), RunsFLUO(d), looksLikeKured(d) && reachesHost(d.Spec.Template.Spec),
		settings(d, kuredLockFlag), settings(d, kuredNameFlag), settings(d, kuredSpaceFlag)}
}
