package drain

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// refusal is a pod that cannot be evicted now, and why.
type refusal struct {
	pod    corev1.Pod
	reason string
}

// budgetName finds the budget in what the API server answers (pkg/registry/core/pod/storage/eviction.go,
// v1.34.4).
var budgetName = regexp.MustCompile(`^The disruption budget (\S+) needs \d+ healthy pods`)

// explain returns the refusals as they are shown, those that are shown with what would unblock the
// drain. A budget that several pods share is explained once.
func (d *Drainer) explain(ctx context.Context, refused []refusal) []string {
	texts := make([]string, len(refused))
	explained := map[string]bool{}
	for i, r := range refused {
		texts[i] = fmt.Sprintf("%s: %s", name(r.pod), r.reason)
		found := budgetName.FindStringSubmatch(r.reason)
		if i >= shown || found == nil || explained[r.pod.Namespace+"/"+found[1]] {
			continue
		}
		explained[r.pod.Namespace+"/"+found[1]] = true
		budget, err := d.Account.PodDisruptionBudgets(r.pod.Namespace).Get(ctx, found[1], metav1.GetOptions{})
		if err != nil {
			continue // the reason says the rest
		}
		if advice := unblocks(r.pod, budget); advice != "" {
			texts[i] += "; " + advice
		}
	}
	return texts
}

// unblocks says what makes the budget allow the eviction of its pod; empty: that is not known. A pod that is not ready
// goes once the others are ready that the budget needs. Where those are not ready for the same reason, as with an image
// that crashes, neither another replica nor maxUnavailable: 1 helps, as no pod more is healthy.
func unblocks(pod corev1.Pod, b *policyv1.PodDisruptionBudget) string {
	expected, healthy := int(b.Status.ExpectedPods), int(b.Status.CurrentHealthy)
	if !clusterstate.PodReady(&pod) {
		return fmt.Sprintf("the pod is not ready, and this lets such pods go: "+
			`kubectl -n %s patch pdb %s --type merge -p '{"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}}'`, b.Namespace, b.Name)
	}
	if expected == 0 || b.Status.ObservedGeneration != b.Generation {
		return "" // the budget's controller has not counted its pods
	}
	replicas, possible := enough(b.Spec, expected)
	missing := needed(b.Spec, replicas) + 1 - healthy
	switch {
	case !possible:
		return fmt.Sprintf("no number of replicas unblocks it, only another budget (kubectl -n %s edit pdb %s)", b.Namespace, b.Name)
	case missing <= 0:
		return "" // what was counted is older than the refusal
	case replicas == expected && missing == 1:
		return fmt.Sprintf("1 more of its %d pods has to become ready", expected)
	case replicas == expected:
		return fmt.Sprintf("%d more of its %d pods have to become ready", missing, expected)
	}
	kind, owner := scaled(pod)
	if owner == "" {
		return fmt.Sprintf("%s would unblock it", moreReplicas(missing))
	}
	text := fmt.Sprintf("%s of %s %s/%s would unblock it", moreReplicas(missing), kind, pod.Namespace, owner)
	switch kind {
	case "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController":
		// If the budget also protects pods of another controller, --current-replicas differs,
		// and kubectl changes nothing.
		text += fmt.Sprintf(" (kubectl -n %s scale %s %s --current-replicas=%d --replicas=%d)", pod.Namespace, strings.ToLower(kind), owner, expected, replicas)
	}
	return text
}

func moreReplicas(n int) string {
	if n == 1 {
		return "1 more ready replica"
	}
	return fmt.Sprintf("%d more ready replicas", n)
}

// mostReplicas is up to how many more replicas are considered.
const mostReplicas = 1000

// enough returns how many replicas there must be, at least as many as are expected, so that the
// budget lets one go when all are ready.
func enough(spec policyv1.PodDisruptionBudgetSpec, expected int) (replicas int, possible bool) {
	for replicas = expected; replicas <= expected+mostReplicas; replicas++ {
		if replicas-needed(spec, replicas) >= 1 {
			return replicas, true
		}
	}
	return expected, false
}

// needed returns how many of so many replicas must be ready, as the disruption controller computes
// it (getExpectedPodCount in pkg/controller/disruption/disruption.go, v1.34.4).
func needed(spec policyv1.PodDisruptionBudgetSpec, replicas int) int {
	scale := func(of *intstr.IntOrString) int {
		n, err := intstr.GetScaledValueFromIntOrPercent(of, replicas, true)
		if err != nil {
			return replicas // the API server refuses such a budget
		}
		return n
	}
	switch {
	case spec.MaxUnavailable != nil:
		return max(0, replicas-scale(spec.MaxUnavailable))
	case spec.MinAvailable != nil:
		return scale(spec.MinAvailable)
	}
	return 0
}

// scaled returns kind and name of what is scaled to get another such pod. A Deployment's
// ReplicaSet has its name and the hash of its pods' template.
func scaled(pod corev1.Pod) (kind, owner string) {
	controller := metav1.GetControllerOf(&pod)
	if controller == nil {
		return "", ""
	}
	hash := pod.Labels["pod-template-hash"]
	if deployment, cut := strings.CutSuffix(controller.Name, "-"+hash); controller.Kind == "ReplicaSet" && hash != "" && cut {
		return "Deployment", deployment
	}
	return controller.Kind, controller.Name
}
