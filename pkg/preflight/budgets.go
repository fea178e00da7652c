package preflight

import (
	"cmp"
	"fmt"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// budgetsNamed is how many PodDisruptionBudgets get a finding of their own.
const budgetsNamed = 16

// checkBudgets names the budgets that allow nothing, and the nodes that will
// wait for them.
func (c *checker) checkBudgets() {
	closed := map[string][]*policyv1.PodDisruptionBudget{}
	for i := range c.Workloads.Budgets {
		if b := &c.Workloads.Budgets[i]; b.Status.DisruptionsAllowed == 0 && b.Status.ExpectedPods > 0 {
			closed[b.Namespace] = append(closed[b.Namespace], b)
		}
	}
	inNamespace := map[string][]leaver{}
	for _, pod := range c.leaving {
		if closed[pod.Namespace] != nil {
			inNamespace[pod.Namespace] = append(inNamespace[pod.Namespace], pod)
		}
	}
	var found []v1alpha1.Finding
	for namespace, budgets := range closed {
		for _, b := range budgets {
			if nodes := held(b, inNamespace[namespace]); len(nodes) > 0 {
				found = append(found, v1alpha1.Finding{
					ID: "pdb-blocks", Object: "PodDisruptionBudget/" + b.Namespace + "/" + b.Name,
					Message: fmt.Sprintf("PodDisruptionBudget %s/%s allows no pod to leave: it would hold the drain of %s.", b.Namespace, b.Name, names(nodes)),
				})
			}
		}
	}
	slices.SortFunc(found, func(a, b v1alpha1.Finding) int { return cmp.Compare(a.Object, b.Object) })
	for _, f := range found[:min(len(found), budgetsNamed)] {
		c.add(f)
	}
	if more := len(found) - budgetsNamed; more > 0 {
		c.add(v1alpha1.Finding{ID: "pdb-blocks", Message: fmt.Sprintf("%s would hold drains: kubectl get poddisruptionbudgets -A shows 0 as ALLOWED DISRUPTIONS.", plural(more, "more PodDisruptionBudget"))})
	}
}

// held are the nodes of the pods that the budget protects.
func held(b *policyv1.PodDisruptionBudget, pods []leaver) []string {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return nil
	}
	var nodes []string
	for _, pod := range pods {
		if selector.Matches(labels.Set(pod.Labels)) {
			nodes = append(nodes, pod.Spec.NodeName)
		}
	}
	return nodes
}
