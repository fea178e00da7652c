package drain

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	kubectl "k8s.io/kubectl/pkg/drain"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/toleration"
)

// selection is what one list of the node's pods comes to.
type selection struct {
	leave     []corev1.Pod
	unmanaged []string // pods that nobody would start again
}

// pick lists the node's pods and selects those that have to leave. The list is
// read with an identity that may see DaemonSets; a kubelet may not.
func pick(ctx context.Context, reads kubernetes.Interface, node string, force bool) (selection, error) {
	var s selection
	stays := func(pod corev1.Pod) kubectl.PodDeleteStatus {
		switch {
		case toleration.Unschedulable(pod.Spec.Tolerations):
			return kubectl.MakePodDeleteStatusSkip()
		case !force && !finished(pod) && !managed(pod):
			s.unmanaged = append(s.unmanaged, pod.Namespace+"/"+pod.Name)
		}
		return kubectl.MakePodDeleteStatusOkay()
	}
	helper := &kubectl.Helper{
		Ctx:    ctx,
		Client: reads,
		// Force lets unmanaged pods through to our own filter, which can name
		// them and knows those that stay anyway.
		Force:               true,
		IgnoreAllDaemonSets: true,
		DeleteEmptyDirData:  true,
		GracePeriodSeconds:  -1,
		AdditionalFilters:   []kubectl.PodFilter{stays},
		Out:                 io.Discard,
		ErrOut:              io.Discard,
	}
	list, errs := helper.GetPodsForDeletion(node)
	if len(errs) > 0 {
		return selection{}, fmt.Errorf("selecting the pods of node %s: %w", node, errors.Join(errs...))
	}
	s.leave = list.Pods()
	return s, nil
}

func finished(pod corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// managed is true for a pod that its controller starts again elsewhere. A
// DaemonSet's pod gets here only when its DaemonSet is gone.
func managed(pod corev1.Pod) bool {
	owner := metav1.GetControllerOf(&pod)
	return owner != nil && owner.Kind != "DaemonSet"
}
