package drain

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// Drainer drains one node.
type Drainer struct {
	// Node is its name.
	Node string
	// Reads sees all pods and DaemonSets.
	Reads kubernetes.Interface
	// Evicts is the kubelet of that node.
	Evicts kubernetes.Interface
}

// Options are how pods are asked.
type Options struct {
	// Force lets pods go that nobody starts again.
	Force bool
	// GracePeriodSeconds overrides the pods' own. Nil or negative: each its own.
	GracePeriodSeconds *int32
	// Delete deletes instead of evicting: no PodDisruptionBudget is asked.
	Delete bool
}

// Progress is what a round left.
type Progress struct {
	// Left is how many pods have still to leave; 0: the node is drained.
	Left int
	// Blocked is true when a pod may not leave now.
	Blocked bool
	// Message names the pods, and what blocks them.
	Message string
}

// Round asks every pod that has to leave and was not asked yet, once. An error
// means that nothing is known; what was asked before stays asked.
func (d *Drainer) Round(ctx context.Context, o Options) (Progress, error) {
	s, err := pick(ctx, d.Reads, d.Node, o.Force)
	if err != nil {
		return Progress{}, err
	}
	if len(s.unmanaged) > 0 {
		message := fmt.Sprintf("nobody starts these pods again elsewhere, and drain.force is not set: %s", some(s.unmanaged))
		return Progress{Left: len(s.leave), Blocked: true, Message: message}, nil
	}
	var left, blocked []string
	for _, pod := range s.leave {
		name := pod.Namespace + "/" + pod.Name
		if pod.DeletionTimestamp != nil {
			left = append(left, name)
			continue
		}
		err := d.ask(ctx, pod, o)
		switch {
		case err == nil, apierrors.IsConflict(err):
			// A conflict is another pod's UID, or a PodDisruptionBudget that others
			// write to: the next list will tell which.
			left = append(left, name)
		case apierrors.IsNotFound(err):
		default:
			left = append(left, name)
			blocked = append(blocked, fmt.Sprintf("%s: %s", name, why(err)))
		}
	}
	return progress(left, blocked), nil
}

func (d *Drainer) ask(ctx context.Context, pod corev1.Pod, o Options) error {
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(pod.UID)}}
	if o.GracePeriodSeconds != nil && *o.GracePeriodSeconds >= 0 {
		options.GracePeriodSeconds = ptr.To(int64(*o.GracePeriodSeconds))
	}
	if o.Delete {
		return d.Evicts.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options)
	}
	return d.Evicts.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{
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

func progress(left, blocked []string) Progress {
	switch {
	case len(left) == 0:
		return Progress{Message: "drained"}
	case len(blocked) > 0:
		return Progress{Left: len(left), Blocked: true, Message: fmt.Sprintf("%s left; cannot be evicted now: %s", pods(len(left)), some(blocked))}
	}
	verb := "are"
	if len(left) == 1 {
		verb = "is"
	}
	return Progress{Left: len(left), Message: fmt.Sprintf("%s %s leaving: %s", pods(len(left)), verb, some(left))}
}

func pods(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

// some keeps a message short enough to be read.
func some(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
