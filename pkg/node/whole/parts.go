package whole

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// MaxParts is how many items a list of NodeParts may have.
const MaxParts = 64

// Seen is what can be seen of a node at one moment.
type Seen struct {
	Node *corev1.Node
	// CSINode is the node's. Nil: there is none.
	CSINode *storagev1.CSINode
	// Pods are those on the node.
	Pods []corev1.Pod
	// Plugins are the names of the kubelet's plugins at whose sockets a program listens.
	Plugins []string
	// Merged are the system extensions that are merged, and Unmerged those that have a file and are not.
	Merged, Unmerged []string
}

// Parts returns what is to be written down of a node before it goes out of service.
func Parts(s Seen) *v1alpha1.NodeParts {
	parts := &v1alpha1.NodeParts{
		Drivers: bounded(s.drivers()), DaemonSets: bounded(s.ready()), Extensions: bounded(slices.Clone(s.Merged)),
		Taints: bounded(taintsOf(s.Node)), NetworkUnavailable: networkUnavailable(s.Node),
	}
	parts.ServingDrivers = both(parts.Drivers, s.Plugins)
	for name, quantity := range s.Node.Status.Allocatable {
		if n := quantity.Value(); n > 0 && counts(name) {
			parts.Resources = append(parts.Resources, v1alpha1.NodeResource{Name: string(name), Allocatable: n})
		}
	}
	slices.SortFunc(parts.Resources, func(a, b v1alpha1.NodeResource) int { return strings.Compare(a.Name, b.Name) })
	parts.Resources = parts.Resources[:min(len(parts.Resources), MaxParts)]
	return parts
}

// both returns the items of a list that are also in others.
func both(list, others []string) []string { return without(list, without(list, others)) }

// bounded sorts a list, removes what is twice in it, and shortens it.
func bounded(list []string) []string {
	slices.Sort(list)
	list = slices.Compact(list)
	return list[:min(len(list), MaxParts)]
}

// counts reports whether a resource is an extended one, or huge pages: all others are the kubelet's own. Names with a
// domain of Kubernetes are not extended (IsExtendedResourceName in pkg/apis/core/helper, v1.34.4).
func counts(name corev1.ResourceName) bool {
	domain, _, extended := strings.Cut(string(name), "/")
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) || extended && !strings.HasSuffix(domain, "kubernetes.io")
}

func (s Seen) drivers() (names []string) {
	if s.CSINode == nil {
		return nil
	}
	for _, driver := range s.CSINode.Spec.Drivers {
		names = append(names, driver.Name)
	}
	return names
}

// ready returns the DaemonSets that have a Ready pod on the node.
func (s Seen) ready() (sets []string) {
	for i := range s.Pods {
		if set := daemonSetOf(&s.Pods[i]); set != "" && clusterstate.PodReady(&s.Pods[i]) && s.Pods[i].DeletionTimestamp == nil {
			sets = append(sets, set)
		}
	}
	return sets
}

// hasPod reports whether the node has a pod of that DaemonSet.
func (s Seen) hasPod(set string) bool {
	return slices.ContainsFunc(s.Pods, func(p corev1.Pod) bool { return daemonSetOf(&p) == set })
}

// daemonSetOf returns the DaemonSet of a pod as namespace/name; empty: it has none, or is the agent that asks.
func daemonSetOf(pod *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if pod.Namespace == v1alpha1.Namespace || owner == nil || owner.Kind != "DaemonSet" || owner.APIVersion != appsv1.SchemeGroupVersion.String() {
		return ""
	}
	return pod.Namespace + "/" + owner.Name
}

// ofKubernetes are the taints by which Kubernetes says what is looked at elsewhere: that the node is cordoned, not Ready,
// or without its network.
var ofKubernetes = []string{corev1.TaintNodeUnschedulable, corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeNetworkUnavailable}

// taintsOf returns the Node's taints that keep pods away, as key:effect.
func taintsOf(node *corev1.Node) (taints []string) {
	for _, taint := range node.Spec.Taints {
		keepsAway := taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
		if keepsAway && !slices.Contains(ofKubernetes, taint.Key) {
			taints = append(taints, taint.Key+":"+string(taint.Effect))
		}
	}
	return taints
}

func networkUnavailable(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionTrue
	})
}
