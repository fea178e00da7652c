package drain

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Drainer drains one node.
type Drainer struct {
	// Node is its name.
	Node string
	// Kubelet is the kubelet of that node: it lists and evicts the node's pods.
	Kubelet kubernetes.Interface
	// DaemonSets may read DaemonSets, which a kubelet may not.
	DaemonSets kubernetes.Interface
}

// Round asks every pod that has to leave and was not asked yet, once, as the order
// says. Where it deletes, no PodDisruptionBudget is asked and no rule waits; what
// blocks the drain blocks it still. An error means that nothing is known; what was
// asked before stays asked.
func (d *Drainer) Round(ctx context.Context, order v1alpha1.Drain, deletes bool) (Progress, error) {
	s, err := d.pick(ctx, order)
	if err != nil {
		return Progress{}, err
	}
	if deletes {
		s.leave, s.wait = append(s.leave, s.wait...), nil
	}
	if message := s.blocks(); message != "" {
		return Progress{Left: len(s.leave) + len(s.wait), Blocked: true, Message: message}, nil
	}
	var leaving, refused, waiting []string
	answered := false // by the pods or their budgets, and not by what stands before the API
	for _, pod := range s.leave {
		if pod.DeletionTimestamp != nil {
			leaving = append(leaving, name(pod))
			continue
		}
		err := d.ask(ctx, pod, order.GracePeriodSeconds, deletes)
		answered = answered || err == nil || ofThePod(err)
		switch {
		case err == nil, apierrors.IsConflict(err):
			// A conflict is another pod's UID, or a PodDisruptionBudget that others
			// write to: the next list will tell which.
			leaving = append(leaving, name(pod))
		case apierrors.IsNotFound(err):
		default:
			refused = append(refused, fmt.Sprintf("%s: %s", name(pod), why(err)))
		}
	}
	for _, pod := range s.wait {
		waiting = append(waiting, name(pod))
	}
	p := progress(leaving, refused, waiting)
	if len(refused) > 0 && !answered {
		p.Refused = fmt.Errorf("evicting the pods of node %s: %s", d.Node, some(refused))
	}
	return p, nil
}

// ofThePod reports whether an answer is about one pod, such as its budget's: others may
// get another one.
func ofThePod(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err)
}

func (d *Drainer) ask(ctx context.Context, pod corev1.Pod, gracePeriod *int32, deletes bool) error {
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(pod.UID)}}
	if gracePeriod != nil && *gracePeriod >= 0 {
		options.GracePeriodSeconds = ptr.To(int64(*gracePeriod))
	}
	if deletes {
		return d.Kubelet.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options)
	}
	return d.Kubelet.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
		DeleteOptions: &options,
	})
}

// why names the PodDisruptionBudget where the API server does: in a cause of its
// own, beside a message that does not
// (https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/).
func why(err error) string {
	if cause, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); ok && cause.Message != "" {
		return cause.Message
	}
	return err.Error()
}
