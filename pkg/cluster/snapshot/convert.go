package snapshot

import (
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// Node returns the part of a Node that the planner uses.
func Node(n *corev1.Node) clusterstate.Node {
	_, ours := n.Annotations[v1alpha1.CordonAnnotation]
	info := n.Status.NodeInfo
	return clusterstate.Node{
		Name: n.Name, UID: string(n.UID), Labels: n.Labels, ControlPlane: clusterstate.HasControlPlaneLabel(n.Labels),
		OS: info.OperatingSystem, Architecture: info.Architecture, Kubelet: info.KubeletVersion, BootID: info.BootID,
		Ready: nodeReady(n), NotReadySince: notReadySince(n),
		Cordoned:       n.Spec.Unschedulable && !ours,
		SlotAnnotation: n.Annotations[v1alpha1.SlotAnnotation],
		Guard:          clusterstate.ParseGuardReport(n.Annotations[v1alpha1.GuardAnnotation]),
		Condition:      condition(n), Created: n.CreationTimestamp.Time,
	}
}

// condition returns a Node's state as `kubectl get nodes` writes it.
func condition(n *corev1.Node) string {
	text := "Unknown"
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			text = map[bool]string{true: "Ready", false: "NotReady"}[c.Status == corev1.ConditionTrue]
		}
	}
	if n.Spec.Unschedulable {
		text += ",SchedulingDisabled"
	}
	return text
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
func slots(leases []*coordinationv1.Lease) []clusterstate.Slot {
	var list []clusterstate.Slot
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
func addStaticPods(s *clusterstate.Snapshot, pods []*corev1.Pod) {
	for _, pod := range pods {
		if !clusterstate.IsStaticPod(pod) {
			continue
		}
		one := clusterstate.StaticPod{Node: pod.Spec.NodeName, Version: clusterstate.StaticPodVersion(pod), Ready: clusterstate.PodReady(pod)}
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

// readySince returns since when the Node is Ready, so that an agent should run. Nil: that is
// not known.
func readySince(n *corev1.Node) *time.Time {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && !c.LastTransitionTime.IsZero() {
			return &c.LastTransitionTime.Time
		}
	}
	return nil
}

// serviceIndex finds EndpointSlices by the namespace/name of their Service.
const serviceIndex = "service"

var byService = cache.Indexers{serviceIndex: func(object any) ([]string, error) {
	s, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return nil, nil
	}
	return []string{serviceOf(s)}, nil
}}

func serviceOf(s *discoveryv1.EndpointSlice) string {
	return s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
}

// webhooks returns the webhooks that can block requests, and the nodes of their
// backends.
func (r *Reader) webhooks() []clusterstate.Webhook {
	validating := values(sorted[*admissionregistrationv1.ValidatingWebhookConfiguration](r.validating))
	mutating := values(sorted[*admissionregistrationv1.MutatingWebhookConfiguration](r.mutating))
	var slices []discoveryv1.EndpointSlice
	for _, w := range preflight.Webhooks(validating, mutating, nil) {
		found, err := r.backends.GetIndexer().ByIndex(serviceIndex, w.Namespace+"/"+w.Service)
		if err != nil {
			continue // the index is there: it was added with the informer
		}
		for _, object := range found {
			if s, ok := object.(*discoveryv1.EndpointSlice); ok {
				slices = append(slices, *s)
			}
		}
	}
	return preflight.Webhooks(validating, mutating, slices)
}

// counts reports whether a plan may depend on the object. Most EndpointSlices belong to no
// webhook, and the coordinator's own Lease is renewed all the time.
func (r *Reader) counts(object any) bool {
	if lease, ok := object.(*coordinationv1.Lease); ok {
		return slot.Is(lease)
	}
	s, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return true
	}
	for _, w := range r.webhooks() {
		if w.Namespace+"/"+w.Service == serviceOf(s) {
			return true
		}
	}
	return false
}
