package preflight

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Pod is what checks need of a pod. A large cluster has tens of thousands, which are all in memory
// at once.
type Pod struct {
	Namespace, Name string
	Labels          map[string]string
	Node            string // empty: it is not scheduled
	// Kind is that of its controller, and Owner is kind/namespace/name of it. Both are empty if it
	// has none. The Deployment takes the place of its ReplicaSet.
	Kind, Owner string

	Mirror                 bool // it shows a static pod, which the API server cannot evict
	Pending                bool
	Ended                  bool // or is being deleted
	Ready                  bool
	ReadyChanged           time.Time // zero: it is not known when Ready changed last
	ToleratesUnschedulable bool

	GracePeriodSeconds            int64
	EmptyDir                      bool // it has a volume of that kind
	LivenessProbe, ReadinessProbe bool // a container has one
	RequestsNothing               bool // a container requests neither CPU nor memory, and the pod as a whole nothing
}

// NewPod returns what checks need of the pod.
func NewPod(p *corev1.Pod) Pod {
	pod := Pod{
		Namespace: p.Namespace, Name: p.Name, Labels: p.Labels, Node: p.Spec.NodeName,
		Mirror:                 mirror(p),
		Pending:                p.Status.Phase == corev1.PodPending,
		Ended:                  p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
		Ready:                  clusterstate.PodReady(p),
		ToleratesUnschedulable: clusterstate.ToleratesUnschedulable(p.Spec.Tolerations),
		GracePeriodSeconds:     ptr.Deref(p.Spec.TerminationGracePeriodSeconds, 0),
		EmptyDir:               slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil }),
		LivenessProbe:          anyContainer(p, func(c corev1.Container) bool { return c.LivenessProbe != nil }),
		ReadinessProbe:         anyContainer(p, func(c corev1.Container) bool { return c.ReadinessProbe != nil }),
		RequestsNothing:        requestsNothing(p),
	}
	pod.Kind, pod.Owner = ownerOf(p)
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			pod.ReadyChanged = c.LastTransitionTime.Time
		}
	}
	return pod
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

func anyContainer(pod *corev1.Pod, is func(corev1.Container) bool) bool {
	return slices.ContainsFunc(pod.Spec.Containers, is)
}

func requestsNothing(pod *corev1.Pod) bool {
	if r := pod.Spec.Resources; r != nil && len(r.Requests) > 0 {
		return false
	}
	return anyContainer(pod, func(c corev1.Container) bool {
		return c.Resources.Requests.Cpu().IsZero() && c.Resources.Requests.Memory().IsZero()
	})
}
