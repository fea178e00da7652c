package drain

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// Drainer drains one node.
type Drainer struct {
	// Node is its name.
	Node string
	// Kubelet is a client with the identity of that node's kubelet: it lists and evicts
	// the node's pods.
	Kubelet kube.Interface
	// DaemonSets is a client that may read DaemonSets, which a kubelet may not.
	DaemonSets kube.Interface
}

// Round evicts once each pod that the settings select and that is not terminating yet. If
// deletePods is set, it deletes them instead, regardless of PodDisruptionBudgets and of rules
// that wait; pods that block the drain still block it. If Round returns an error, the
// Progress is not known, and earlier evictions remain in effect.
func (d *Drainer) Round(ctx context.Context, settings v1alpha1.Drain, deletePods bool) (Progress, error) {
	s, err := d.classifyPods(ctx, settings)
	if err != nil {
		return Progress{}, err
	}
	if deletePods {
		s.evict, s.wait = append(s.evict, s.wait...), nil
	}
	if message := s.blocks(); message != "" {
		return Progress{Left: len(s.evict) + len(s.wait), Blocked: true, Message: message}, nil
	}
	var terminating, refused, waiting []string
	answered := false // an eviction succeeded, or was refused because of that pod only, not by a webhook for all
	for _, pod := range s.evict {
		if pod.DeletionTimestamp != nil {
			terminating = append(terminating, name(pod))
			continue
		}
		err := d.evict(ctx, pod, settings.GracePeriodSeconds, deletePods)
		answered = answered || err == nil || aboutPod(err)
		switch {
		case err == nil, apierrors.IsConflict(err):
			// A conflict means another UID, or a concurrent write to the
			// PodDisruptionBudget: the next round's list shows which.
			terminating = append(terminating, name(pod))
		case apierrors.IsNotFound(err):
		default:
			refused = append(refused, fmt.Sprintf("%s: %s", name(pod), reason(err)))
		}
	}
	for _, pod := range s.wait {
		waiting = append(waiting, name(pod))
	}
	p := progress(terminating, refused, waiting)
	if len(refused) > 0 && !answered {
		p.Refused = fmt.Errorf("evicting the pods of node %s: %s", d.Node, shorten(refused))
	}
	return p, nil
}

// aboutPod reports whether the error is about one pod, such as from its budget. Other pods
// may still be evicted.
func aboutPod(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err)
}

func (d *Drainer) evict(ctx context.Context, pod corev1.Pod, gracePeriod *int32, deletePods bool) error {
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(pod.UID)}}
	if gracePeriod != nil && *gracePeriod >= 0 {
		options.GracePeriodSeconds = ptr.To(int64(*gracePeriod))
	}
	if deletePods {
		return d.Kubelet.Pods(pod.Namespace).Delete(ctx, pod.Name, options)
	}
	return d.Kubelet.Evict(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
		DeleteOptions: &options,
	})
}

// reason returns the message of an error. The API server names the PodDisruptionBudget in
// a cause of its own, beside a message that does not
// (https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/).
func reason(err error) string {
	if cause, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); ok && cause.Message != "" {
		return cause.Message
	}
	return err.Error()
}
