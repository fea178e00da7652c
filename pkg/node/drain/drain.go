package drain

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	// Account is a client that may read DaemonSets and PodDisruptionBudgets, which a kubelet
	// may not.
	Account kube.Interface

	daemonSets map[types.NamespacedName]bool // those that existed when this drain first looked
}

// Begin begins a drain: what an earlier one has read no longer counts. daemonSets are those that exist, as
// the caller has just read; nil: Round reads those of the node's pods.
func (d *Drainer) Begin(daemonSets map[types.NamespacedName]bool) {
	d.daemonSets = map[types.NamespacedName]bool{}
	maps.Copy(d.daemonSets, daemonSets)
}

// Means is how a round removes pods from the node.
type Means struct {
	// Disrupt evicts pods that must not be disrupted, too.
	Disrupt bool
	// Delete deletes pods instead of evicting them, regardless of PodDisruptionBudgets and of
	// what the drain waits for otherwise.
	Delete bool
}

// Round evicts once each pod that the settings select and that is not terminating yet. Pods
// that block the drain block it whatever the means. If Round returns an error, the
// Progress is not known, and earlier evictions remain in effect.
func (d *Drainer) Round(ctx context.Context, settings v1alpha1.Drain, means Means) (Progress, error) {
	s, err := d.classifyPods(ctx, settings)
	if err != nil {
		return Progress{}, err
	}
	if means.Disrupt || means.Delete {
		s.evict, s.spare = append(s.evict, s.spare...), nil
	}
	if means.Delete {
		s.evict, s.wait = append(s.evict, s.wait...), nil
	}
	if message := s.blocks(); message != "" {
		return Progress{Left: s.left(), Blocked: true, Message: message}, nil
	}
	var terminating []string
	var ending []types.UID
	var refused []refusal
	answered := false // an eviction succeeded, or was refused because of that pod only, not by a webhook for all
	for _, pod := range s.evict {
		if pod.DeletionTimestamp != nil {
			terminating, ending = append(terminating, name(pod)), append(ending, pod.UID)
			continue
		}
		err := d.evict(ctx, pod, settings.GracePeriodSeconds, means.Delete)
		answered = answered || err == nil || aboutPod(err)
		switch {
		case err == nil, apierrors.IsConflict(err):
			// A conflict means another UID, or a concurrent write to the
			// PodDisruptionBudget: the next round's list shows which.
			terminating, ending = append(terminating, name(pod)), append(ending, pod.UID)
		case apierrors.IsNotFound(err):
		default:
			refused = append(refused, refusal{pod, reason(err)})
		}
	}
	texts := d.explain(ctx, refused)
	p := progress(terminating, texts, namesOf(s.wait), namesOf(s.spare))
	if len(ending) == p.Left {
		p.Ending = ending
	}
	if len(refused) > 0 && !answered {
		p.Refused = fmt.Errorf("evicting the pods of node %s: %s", d.Node, shorten(texts))
	}
	return p, nil
}

// Drained reports whether no pods are left to evict or to end.
func (d *Drainer) Drained(ctx context.Context, settings v1alpha1.Drain) (bool, error) {
	s, err := d.classifyPods(ctx, settings)
	return err == nil && s.left() == 0, err
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

// Progress is the state of the drain after a round.
type Progress struct {
	// Left is how many pods are left to evict or to end. Zero means that the node is
	// drained.
	Left int
	// Blocked reports whether the drain makes no progress by itself: pods block it, an
	// eviction was refused, or only pods are left that a rule waits for.
	Blocked bool
	// Message names the pods, and what blocks them.
	Message string
	// Ending are the pods that are left, if all of them are terminating: the node is drained once they have
	// gone. Otherwise it is nil.
	Ending []types.UID
	// Refused is the API server's error if it refuses every eviction, as while an
	// admission webhook is unavailable.
	Refused error
}

// progress returns the Progress for the terminating pods, those that cannot be
// evicted, with the reason, those that a rule waits for, and those that are spared for a
// while, as they must not be disrupted. Those that a rule waits for block the drain if no
// other pods are left.
func progress(terminating, refused, waiting, spared []string) Progress {
	p := Progress{
		Left:    len(terminating) + len(refused) + len(waiting) + len(spared),
		Blocked: len(refused) > 0 || len(terminating)+len(spared) == 0 && len(waiting) > 0,
	}
	var parts []string
	switch {
	case p.Left == 0:
		return Progress{Message: "drained"}
	case len(refused) > 0:
		n := len(terminating) + len(refused)
		parts = append(parts, fmt.Sprintf("%s; cannot be evicted now: %s", remain(n), shorten(refused)))
	case len(terminating) > 0:
		parts = append(parts, fmt.Sprintf("%s terminating: %s", podsAre(len(terminating)), shorten(terminating)))
	}
	if len(waiting) > 0 {
		parts = append(parts, fmt.Sprintf("waiting for %s to complete (drain rule WaitCompleted): %s", pods(len(waiting)), shorten(waiting)))
	}
	if len(spared) > 0 {
		parts = append(parts, fmt.Sprintf("waiting for %s with an annotation against disruption (drain.doNotDisruptSeconds): %s", pods(len(spared)), shorten(spared)))
	}
	p.Message = strings.Join(parts, "; ")
	return p
}

func podsAre(n int) string {
	if n == 1 {
		return "1 pod is"
	}
	return pods(n) + " are"
}

func remain(n int) string {
	if n == 1 {
		return "1 pod remains"
	}
	return pods(n) + " remain"
}

func pods(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

// shown is how many pods a message names.
const shown = 3

// shorten joins the first names, and says how many more there are.
func shorten(names []string) string {
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
