package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/staticpod"
)

// budgetsNamed is how many PodDisruptionBudgets get a finding of their own.
const budgetsNamed = 16

// budget is a PodDisruptionBudget, and the nodes whose drain would wait for it.
type budget struct {
	*policyv1.PodDisruptionBudget
	selector labels.Selector
	holds    []string
}

// checkBudgets names the budgets that allow nothing, and those whose pods have
// another budget too, with the nodes whose drain will wait for them.
func (c *checker) checkBudgets() {
	budgets := map[string][]*budget{} // by namespace
	for i := range c.Workloads.Budgets {
		b := &c.Workloads.Budgets[i]
		// A budget whose selector is wrong matches nothing, as for the API server.
		if selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector); err == nil {
			budgets[b.Namespace] = append(budgets[b.Namespace], &budget{PodDisruptionBudget: b, selector: selector})
		}
	}
	overlaps := map[string][]string{} // nodes, by the budgets that share pods on them
	for _, pod := range c.leaving {
		if pod.Status.Phase == corev1.PodPending {
			continue // evicted whatever a budget says
		}
		var matching []string
		for _, b := range budgets[pod.Namespace] {
			if !b.selector.Matches(labels.Set(pod.Labels)) {
				continue
			}
			matching = append(matching, b.Name)
			if b.protects(pod.Pod) {
				b.holds = append(b.holds, pod.Spec.NodeName)
			}
		}
		if len(matching) > 1 {
			slices.Sort(matching)
			key := pod.Namespace + "/" + strings.Join(matching, ", ")
			overlaps[key] = append(overlaps[key], pod.Spec.NodeName)
		}
	}
	c.warnOfHolding(budgets)
	c.warnOfOverlapping(overlaps)
}

// protects reports whether the API server would refuse to evict the pod, which the
// budget matches: no pod may leave, and the pod is Ready, or a pod that is not
// Ready may not leave either (Create in pkg/registry/core/pod/storage/eviction.go, v1.35.4).
func (b *budget) protects(pod *corev1.Pod) bool {
	if b.Status.DisruptionsAllowed > 0 {
		return false
	}
	policy := b.Spec.UnhealthyPodEvictionPolicy
	always := policy != nil && *policy == policyv1.AlwaysAllow
	enough := b.Status.DesiredHealthy > 0 && b.Status.CurrentHealthy >= b.Status.DesiredHealthy
	return staticpod.Ready(pod) || !always && !enough
}

func (c *checker) warnOfHolding(budgets map[string][]*budget) {
	var found []v1alpha1.Finding
	for _, list := range budgets {
		for _, b := range list {
			if len(b.holds) > 0 {
				found = append(found, v1alpha1.Finding{
					ID: "pdb-blocks", Object: budgetObject(b.Namespace, b.Name),
					Message: fmt.Sprintf("PodDisruptionBudget %s/%s allows no pod to leave: it would hold the drain of %s.", b.Namespace, b.Name, names(b.holds)),
				})
			}
		}
	}
	c.addNamed(found, "%s would hold drains: kubectl get poddisruptionbudgets -A shows 0 as ALLOWED DISRUPTIONS.")
}

func budgetObject(namespace, name string) v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{Kind: "PodDisruptionBudget", Namespace: namespace, Name: name}
}

func (c *checker) warnOfOverlapping(overlaps map[string][]string) {
	var found []v1alpha1.Finding
	for _, key := range slices.Sorted(maps.Keys(overlaps)) {
		namespace, list, _ := strings.Cut(key, "/")
		budgets := strings.Split(list, ", ")
		found = append(found, v1alpha1.Finding{
			ID: "pdb-overlap", Object: budgetObject(namespace, budgets[0]),
			Message: fmt.Sprintf("In namespace %s, %d PodDisruptionBudgets match the same pods (%s): the API server evicts none that has more than one, which would hold the drain of %s.",
				namespace, len(budgets), names(budgets), names(overlaps[key])),
		})
	}
	c.addNamed(found, "%s would hold drains, as others match the same pods.")
}

// addNamed adds the first few findings, and one that says how many more there are.
func (c *checker) addNamed(found []v1alpha1.Finding, format string) {
	slices.SortFunc(found, func(a, b v1alpha1.Finding) int {
		return cmp.Or(compareObjects(a.Object, b.Object), cmp.Compare(a.Message, b.Message))
	})
	for _, f := range found[:min(len(found), budgetsNamed)] {
		c.add(f)
	}
	if more := len(found) - budgetsNamed; more > 0 {
		c.add(v1alpha1.Finding{ID: found[0].ID, Message: fmt.Sprintf(format, plural(more, "more PodDisruptionBudget"))})
	}
}
