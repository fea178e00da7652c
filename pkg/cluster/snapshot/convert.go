package snapshot

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Node returns the part of a Node that the planner uses.
func Node(n *corev1.Node) fleet.Node {
	_, ours := n.Annotations[v1alpha1.CordonAnnotation]
	info := n.Status.NodeInfo
	return fleet.Node{
		Name: n.Name, UID: string(n.UID), Labels: n.Labels, ControlPlane: fleet.HasControlPlaneLabel(n.Labels),
		OS: info.OperatingSystem, Architecture: info.Architecture, Kubelet: info.KubeletVersion, BootID: info.BootID,
		Ready: nodeReady(n), NotReadySince: notReadySince(n),
		Cordoned:       n.Spec.Unschedulable && !ours,
		SlotAnnotation: n.Annotations[v1alpha1.SlotAnnotation],
	}
}

// notReadySince returns when the Node ceased to be Ready, as its kubelet reports or
// because its kubelet stopped reporting. Nil: it is Ready, or that is not known.
func notReadySince(n *corev1.Node) *time.Time {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			return &c.LastTransitionTime.Time
		}
	}
	return nil
}

// slots returns the slots among the Leases of our namespace.
func slots(leases []*coordinationv1.Lease) []fleet.Slot {
	var list []fleet.Slot
	for _, lease := range leases {
		if slot.Is(lease) {
			one, _ := slot.FromLease(lease) // an unreadable one is marked as such
			list = append(list, one)
		}
	}
	return list
}

func nodeReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// addStaticPods adds the pods of the control plane.
func addStaticPods(s *fleet.Snapshot, pods []*corev1.Pod) {
	for _, pod := range pods {
		if !fleet.IsStaticPod(pod) {
			continue
		}
		one := fleet.StaticPod{Node: pod.Spec.NodeName, Version: fleet.StaticPodVersion(pod), Ready: fleet.PodReady(pod)}
		switch pod.Labels[componentLabel] {
		case apiServer:
			s.APIServers = append(s.APIServers, one)
		case etcdMember:
			s.Etcd = append(s.Etcd, one)
		case manager, scheduler:
			s.Controllers = append(s.Controllers, one)
		}
	}
}
