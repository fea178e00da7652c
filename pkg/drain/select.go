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

// selection is the node's pods by what a round does with them.
type selection struct {
	settings  v1alpha1.Drain
	rules     drainrule.Rules
	evict     []corev1.Pod
	wait      []corev1.Pod // not evicted; the drain waits until they have ended
	unmanaged []string     // pods that no controller would recreate
	emptyDir  []string     // pods whose data would be lost
}

// reads is the kubelet's client, with DaemonSets read by another one.
type reads struct {
	kubernetes.Interface
	daemonSets kubernetes.Interface
}

func (r reads) AppsV1() appsv1client.AppsV1Interface { return r.daemonSets.AppsV1() }

// classifyPods lists the node's pods and classifies them.
func (d *Drainer) classifyPods(ctx context.Context, settings v1alpha1.Drain) (selection, error) {
	rules, err := drainrule.Compile(settings.Rules)
	if err != nil {
		return selection{}, err
	}
	s := selection{settings: settings, rules: rules}
	helper := &kubectl.Helper{
		Ctx:    ctx,
		Client: reads{d.Kubelet, d.DaemonSets},
		// With Force and DeleteEmptyDirData such pods reach our own filter, which names
		// them and skips those that stay anyway.
		Force:               true,
		DeleteEmptyDirData:  true,
		IgnoreAllDaemonSets: true,
		GracePeriodSeconds:  -1,
		AdditionalFilters:   []kubectl.PodFilter{s.classify},
		Out:                 io.Discard,
		ErrOut:              io.Discard,
	}
	list, errs := helper.GetPodsForDeletion(d.Node)
	if len(errs) > 0 {
		return selection{}, fmt.Errorf("selecting the pods of node %s: %w", d.Node, errors.Join(errs...))
	}
	s.evict = list.Pods()
	return s, nil
}

// classify classifies a pod that kubectl's own filters select.
func (s *selection) classify(pod corev1.Pod) kubectl.PodDeleteStatus {
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
	case s.settings.UnmanagedPods != v1alpha1.PodsEvict && !managed(pod):
		s.unmanaged = append(s.unmanaged, name(pod))
	case s.settings.EmptyDirPods == v1alpha1.PodsBlock && hasEmptyDir(pod):
		s.emptyDir = append(s.emptyDir, name(pod))
	}
	return kubectl.MakePodDeleteStatusOkay()
}

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

// managed reports whether a controller recreates the pod elsewhere. A DaemonSet's pod gets
// here only if its DaemonSet is gone.
func managed(pod corev1.Pod) bool {
	owner := metav1.GetControllerOf(&pod)
	return owner != nil && owner.Kind != "DaemonSet"
}

func hasEmptyDir(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
}

func name(pod corev1.Pod) string { return pod.Namespace + "/" + pod.Name }
