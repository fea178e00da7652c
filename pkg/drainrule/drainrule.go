// Package drainrule matches pods against drain rules.
//
// It promises the same answer to preflight, which predicts a drain, and to the agent,
// which drains: the first rule that matches a pod applies, and a pod that no rule matches
// is evicted. It is pure.
package drainrule

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Rules is a compiled list of drain rules.
type Rules []rule

type rule struct {
	selector   labels.Selector
	namespaces []string
	behavior   v1alpha1.DrainBehavior
}

// Compile compiles the rules. Its error names a rule with an invalid podSelector.
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
