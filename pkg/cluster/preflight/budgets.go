package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// budgetsNamed is how many PodDisruptionBudgets get a finding of their own.
const budgetsNamed = 16

// budget is a PodDisruptionBudget, and the nodes whose drain it would block.
type budget struct {
	*policyv1.PodDisruptionBudget
	selector labels.Selector
	blocks   []string
	notReady bool // a pod that it keeps there is not Ready
}

// checkBudgets finds the budgets that allow no eviction, and those whose pods have
// another budget too, with the nodes whose drain they block.
func (c *checker) checkBudgets() {
	budgets := map[string][]*budget{} // by namespace
	for i := range c.Workloads.Budgets {
		b := &c.Workloads.Budgets[i]
		// A budget whose selector is wrong matches nothing, as for the API server.
		if selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector); err == nil {
			budgets[b.Namespace] = append(budgets[b.Namespace], &budget{PodDisruptionBudget: b, selector: selector})
		}
	}
	draining := c.drainsNow()
	overlaps := map[string][]string{} // nodes, by the budgets that share pods on them
	for _, pod := range c.evicted {
		if pod.Pending {
			continue // evicted in spite of any budget
		}
		var matching []string
		for _, b := range budgets[pod.Namespace] {
			if !b.selector.Matches(labels.Set(pod.Labels)) {
				continue
			}
			matching = append(matching, b.Name)
			if b.protects(pod.Pod) && (!draining || !b.allowsWhenHealthy()) {
				b.blocks = append(b.blocks, pod.Node)
				b.notReady = b.notReady || !pod.Ready
			}
		}
		if len(matching) > 1 {
			slices.Sort(matching)
			key := pod.Namespace + "/" + strings.Join(matching, ", ")
			overlaps[key] = append(overlaps[key], pod.Node)
		}
	}
	c.warnOfBlocking(budgets)
	c.warnOfOverlapping(overlaps)
}

// protects reports whether the API server would refuse to evict the pod, which the
// budget matches: the budget allows no disruption, and the pod is Ready, or the budget
// also protects a pod that is not Ready (Create in pkg/registry/core/pod/storage/eviction.go, v1.35.4).
func (b *budget) protects(pod *Pod) bool {
	if b.Status.DisruptionsAllowed > 0 {
		return false
	}
	policy := b.Spec.UnhealthyPodEvictionPolicy
	always := policy != nil && *policy == policyv1.AlwaysAllow
	enough := b.Status.DesiredHealthy > 0 && b.Status.CurrentHealthy >= b.Status.DesiredHealthy
	return pod.Ready || !always && !enough
}

// allowsWhenHealthy reports whether the budget allows an eviction once all its pods are healthy again, as those are that
// a drain has moved.
func (b *budget) allowsWhenHealthy() bool {
	return b.Status.CurrentHealthy < b.Status.ExpectedPods && b.Status.ExpectedPods > b.Status.DesiredHealthy
}

func (c *checker) warnOfBlocking(budgets map[string][]*budget) {
	var found []v1alpha1.Finding
	for _, list := range budgets {
		for _, b := range list {
			if len(b.blocks) == 0 {
				continue
			}
			message := fmt.Sprintf("PodDisruptionBudget %s/%s allows no eviction: it would block the drain of %s.", b.Namespace, b.Name, names(b.blocks))
			if b.notReady {
				message += " Pods of it that are not Ready could go with unhealthyPodEvictionPolicy: AlwaysAllow."
			}
			found = append(found, v1alpha1.Finding{ID: "pdb-blocks", Object: budgetObject(b.Namespace, b.Name), Message: message})
		}
	}
	c.addNamed(found, "%s would block drains: kubectl get poddisruptionbudgets -A shows 0 as ALLOWED DISRUPTIONS.")
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
			Message: fmt.Sprintf("In namespace %s, %d PodDisruptionBudgets match the same pods (%s): the API server evicts none that has more than one, which would block the drain of %s.",
				namespace, len(budgets), names(budgets), names(overlaps[key])),
		})
	}
	c.addNamed(found, "%s would block drains, because others match the same pods.")
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

// drainOrder is how the pods of a node are evicted.
type drainOrder struct {
	v1alpha1.Drain
	rules clusterstate.DrainRules
}

// nodeGroup is a group of the strategy whose drain may be its own.
type nodeGroup struct {
	selector labels.Selector
	drain    drainOrder
}

// drainOrders returns how nodes of no group are drained, and those of each group.
func drainOrders(s v1alpha1.Strategy) (drainOrder, []nodeGroup) {
	var groups []nodeGroup
	for _, g := range s.Groups {
		groups = append(groups, nodeGroup{selector(&g.NodeSelector), newDrainOrder(g.Pace.Or(s.Pace))})
	}
	return newDrainOrder(s.Pace), groups
}

func newDrainOrder(p v1alpha1.Pace) drainOrder {
	// The API server refuses a rule whose selector is wrong. Without any rule, the
	// findings are about too many pods rather than too few.
	rules, _ := clusterstate.CompileDrainRules(p.Drain.Rules)
	return drainOrder{p.Drain, rules}
}

// drainOf returns how the node is drained. Only workers belong to groups.
func (c *checker) drainOf(n *node) drainOrder {
	i := slices.IndexFunc(c.groups, func(g nodeGroup) bool { return !n.controlPlane && g.selector.Matches(labels.Set(n.Labels)) })
	if i < 0 {
		return c.drains
	}
	return c.groups[i].drain
}

// selector returns the selector as Kubernetes matches it: everything where it is
// absent, nothing where Kubernetes does not accept it.
func selector(s *v1alpha1.LabelSelector) labels.Selector {
	if s == nil {
		return labels.Everything()
	}
	matches, err := s.AsSelector()
	if err != nil {
		return labels.Nothing()
	}
	return matches
}
