// Package drainrule finds what a drain does with a pod.
//
// It promises one answer for preflight, which foretells a drain, and the agent,
// which drains: the first rule that matches a pod counts, and a pod that no rule
// matches is drained. It is pure.
package drainrule

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Rules are drain rules, ready to be matched.
type Rules []rule

type rule struct {
	selector   labels.Selector
	namespaces []string
	behavior   v1alpha1.DrainBehavior
}

// Compile returns the rules ready to be matched. The error names the rule whose
// podSelector Kubernetes does not accept.
func Compile(list []v1alpha1.DrainRule) (Rules, error) {
	var rules Rules
	for _, r := range list {
		selector, err := r.PodSelector.AsSelector()
		if err != nil {
			return nil, fmt.Errorf("drain rule %s: podSelector: %w", r.Name, err)
		}
		rules = append(rules, rule{selector, r.Namespaces, r.Behavior})
	}
	return rules, nil
}

// Behavior returns what a drain does with the pod.
func (rules Rules) Behavior(pod *corev1.Pod) v1alpha1.DrainBehavior {
	for _, r := range rules {
		if (len(r.namespaces) == 0 || slices.Contains(r.namespaces, pod.Namespace)) && r.selector.Matches(labels.Set(pod.Labels)) {
			return r.behavior
		}
	}
	return v1alpha1.DrainPod
}
