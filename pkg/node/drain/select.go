package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// selection is the node's pods by what a round does with them.
type selection struct {
	settings  v1alpha1.Drain
	rules     clusterstate.DrainRules
	evict     []corev1.Pod
	wait      []corev1.Pod // not evicted; the drain waits until they have ended
	spare     []corev1.Pod // not evicted until drain.doNotDisruptSeconds are over
	unmanaged []string     // pods that no controller would recreate
	emptyDir  []string     // pods whose data would be lost
	staying   []corev1.Pod // left on the node, with what they use
}

// classifyPods lists the node's pods and classifies them.
func (d *Drainer) classifyPods(ctx context.Context, settings v1alpha1.Drain) (selection, error) {
	rules, err := clusterstate.CompileDrainRules(settings.Rules)
	if err != nil {
		return selection{}, err
	}
	s := selection{settings: settings, rules: rules}
	list, err := d.Kubelet.Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", d.Node).String(),
	})
	if err != nil {
		return selection{}, fmt.Errorf("listing the pods of node %s: %w", d.Node, err)
	}
	var unknown []error
	for _, pod := range list.Items {
		stays, err := d.stays(ctx, pod)
		switch {
		case err != nil:
			unknown = append(unknown, err)
		case stays && !finished(pod):
			s.staying = append(s.staying, pod)
		case !stays:
			s.classify(pod)
		}
	}
	if len(unknown) > 0 {
		return selection{}, fmt.Errorf("selecting the pods of node %s: %w", d.Node, errors.Join(unknown...))
	}
	return s, nil
}

// stays reports whether `kubectl drain` never evicts the pod, whatever its flags: a mirror pod,
// or one of a DaemonSet, which would create it again on the cordoned node. These are the
// filters of k8s.io/kubectl/pkg/drain, which links all of kubectl's flags and printers;
// a test compares the two.
func (d *Drainer) stays(ctx context.Context, pod corev1.Pod) (bool, error) {
	owner := metav1.GetControllerOf(&pod)
	if owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == appsv1.SchemeGroupVersion.String() && !finished(pod) {
		set := types.NamespacedName{Namespace: pod.Namespace, Name: owner.Name}
		if d.daemonSets[set] {
			return true, nil
		}
		_, err := d.Account.DaemonSets(pod.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		if err == nil {
			if d.daemonSets == nil {
				d.Begin(nil)
			}
			d.daemonSets[set] = true
			return true, nil
		}
		if !apierrors.IsNotFound(err) {
			return false, fmt.Errorf("looking for the DaemonSet of pod %s: %w", name(pod), err)
		}
	}
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror, nil
}

// classify classifies a pod that does not stay. findEvicted of package preflight makes the same choice
// from what the coordinator knows.
func (s *selection) classify(pod corev1.Pod) {
	behavior, selected := s.rules.Behavior(pod.Namespace, pod.Labels)
	switch {
	case ended(pod):
		return
	case clusterstate.ToleratesUnschedulable(pod.Spec.Tolerations), behavior == v1alpha1.DrainSkip:
		if !finished(pod) {
			s.staying = append(s.staying, pod)
		}
		return
	case behavior == v1alpha1.DrainWaitCompleted && pod.DeletionTimestamp == nil:
		if !finished(pod) {
			s.wait = append(s.wait, pod)
		}
		return
	case finished(pod):
	case s.settings.UnmanagedPods != v1alpha1.PodsEvict && !managed(pod):
		s.unmanaged = append(s.unmanaged, name(pod))
	case s.settings.EmptyDirPods == v1alpha1.PodsBlock && hasEmptyDir(pod):
		s.emptyDir = append(s.emptyDir, name(pod))
	}
	if !selected && pod.DeletionTimestamp == nil && !finished(pod) && mustNotBeDisrupted(pod) {
		s.spare = append(s.spare, pod)
	} else {
		s.evict = append(s.evict, pod)
	}
}

// mustNotBeDisrupted reports whether the pod's owner asks those who remove nodes to leave it alone. Sources: the
// cluster autoscaler's FAQ, and https://karpenter.sh/docs/concepts/disruption/#pod-level-controls.
func mustNotBeDisrupted(pod corev1.Pod) bool {
	return pod.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false" || pod.Annotations["karpenter.sh/do-not-disrupt"] == "true"
}

// left returns how many pods are left to evict or to end.
func (s *selection) left() int { return len(s.evict) + len(s.wait) + len(s.spare) }

// blocks returns why no pod is evicted, or an empty string.
func (s selection) blocks() string {
	switch {
	case len(s.unmanaged) > 0:
		return "no controller recreates these pods elsewhere, and drain.unmanagedPods is Block: " + shorten(s.unmanaged)
	case len(s.emptyDir) > 0:
		return "the data in these pods' emptyDir would be lost, and drain.emptyDirPods is Block: " + shorten(s.emptyDir)
	}
	return ""
}

func finished(pod corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// ended reports whether the kubelet is done with a pod that was deleted, and only a finalizer keeps its object: the
// controller that removes the finalizer does not need the node. kubectl waits for such a pod.
func ended(pod corev1.Pod) bool {
	return finished(pod) && pod.DeletionTimestamp != nil && len(pod.Finalizers) > 0
}

// managed reports whether a controller recreates the pod elsewhere. A DaemonSet's pod gets
// here only if its DaemonSet is gone.
func managed(pod corev1.Pod) bool {
	owner := metav1.GetControllerOf(&pod)
	return owner != nil && owner.Kind != "DaemonSet"
}

func hasEmptyDir(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
}

func namesOf(pods []corev1.Pod) []string {
	var all []string
	for _, pod := range pods {
		all = append(all, name(pod))
	}
	return all
}

func name(pod corev1.Pod) string { return pod.Namespace + "/" + pod.Name }
