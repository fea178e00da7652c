package drain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	kubectl "k8s.io/kubectl/pkg/drain"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/drainrule"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/toleration"
)

// selection is what one list of the node's pods comes to.
type selection struct {
	order     v1alpha1.Drain
	rules     drainrule.Rules
	leave     []corev1.Pod // asked to leave
	wait      []corev1.Pod // left alone until they have ended
	unmanaged []string     // pods that no controller would start again
	emptyDir  []string     // pods whose data would be lost
}

// reads is the kubelet's client, but for DaemonSets.
type reads struct {
	kubernetes.Interface
	daemonSets kubernetes.Interface
}

func (r reads) AppsV1() appsv1client.AppsV1Interface { return r.daemonSets.AppsV1() }

// pick lists the node's pods and selects those that have to leave.
func (d *Drainer) pick(ctx context.Context, order v1alpha1.Drain) (selection, error) {
	rules, err := drainrule.Compile(order.Rules)
	if err != nil {
		return selection{}, err
	}
	s := selection{order: order, rules: rules}
	helper := &kubectl.Helper{
		Ctx:    ctx,
		Client: reads{d.Kubelet, d.DaemonSets},
		// Force and DeleteEmptyDirData let pods through to our own filter, which can
		// name them and knows those that stay anyway.
		Force:               true,
		DeleteEmptyDirData:  true,
		IgnoreAllDaemonSets: true,
		GracePeriodSeconds:  -1,
		AdditionalFilters:   []kubectl.PodFilter{s.filter},
		Out:                 io.Discard,
		ErrOut:              io.Discard,
	}
	list, errs := helper.GetPodsForDeletion(d.Node)
	if len(errs) > 0 {
		return selection{}, fmt.Errorf("selecting the pods of node %s: %w", d.Node, errors.Join(errs...))
	}
	s.leave = list.Pods()
	return s, nil
}

// filter sorts a pod that kubectl would let leave.
func (s *selection) filter(pod corev1.Pod) kubectl.PodDeleteStatus {
	behavior := s.rules.Behavior(&pod)
	switch {
	case toleration.Unschedulable(pod.Spec.Tolerations), behavior == v1alpha1.DrainSkip:
		return kubectl.MakePodDeleteStatusSkip()
	case behavior == v1alpha1.DrainWaitCompleted && pod.DeletionTimestamp == nil:
		if !finished(pod) {
			s.wait = append(s.wait, pod)
		}
		return kubectl.MakePodDeleteStatusSkip()
	case finished(pod):
	case s.order.UnmanagedPods != v1alpha1.PodsEvict && !managed(pod):
		s.unmanaged = append(s.unmanaged, name(pod))
	case s.order.EmptyDirPods == v1alpha1.PodsBlock && hasEmptyDir(pod):
		s.emptyDir = append(s.emptyDir, name(pod))
	}
	return kubectl.MakePodDeleteStatusOkay()
}

// blocks says why no pod is asked to leave; empty where they are.
func (s selection) blocks() string {
	switch {
	case len(s.unmanaged) > 0:
		return "no controller starts these pods again elsewhere, and drain.unmanagedPods is Block: " + some(s.unmanaged)
	case len(s.emptyDir) > 0:
		return "the data in these pods' emptyDir would be lost, and drain.emptyDirPods is Block: " + some(s.emptyDir)
	}
	return ""
}

func finished(pod corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// managed reports whether the pod's controller starts it again elsewhere. A
// DaemonSet's pod gets here only when its DaemonSet is gone.
func managed(pod corev1.Pod) bool {
	owner := metav1.GetControllerOf(&pod)
	return owner != nil && owner.Kind != "DaemonSet"
}

func hasEmptyDir(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
}

func name(pod corev1.Pod) string { return pod.Namespace + "/" + pod.Name }
