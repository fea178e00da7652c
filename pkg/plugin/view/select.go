package view

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// managed returns a function that reports whether the policy matches a Node's labels.
func managed(policy *v1alpha1.UpgradePolicy) func(map[string]string) bool {
	if policy == nil {
		return Selects(nil)
	}
	return Selects(policy.Spec.NodeSelector)
}

// nodeUpgrades returns the NodeUpgrades by their names.
func nodeUpgrades(s clusterstate.Snapshot) map[string]*v1alpha1.NodeUpgrade {
	byName := make(map[string]*v1alpha1.NodeUpgrade, len(s.NodeUpgrades))
	for i := range s.NodeUpgrades {
		byName[s.NodeUpgrades[i].Name] = &s.NodeUpgrades[i]
	}
	return byName
}

// Selects returns a function that reports whether the selector matches labels. Nil
// matches everything, and a selector that Kubernetes does not accept nothing.
func Selects(s *v1alpha1.LabelSelector) func(map[string]string) bool {
	if s == nil {
		return func(map[string]string) bool { return true }
	}
	selector, err := s.AsSelector()
	return func(of map[string]string) bool { return err == nil && selector.Matches(labels.Set(of)) }
}

// SelectorText returns the selector in the form of kubectl's -l. Empty: there is none.
func SelectorText(s *v1alpha1.LabelSelector) string {
	if s == nil {
		return ""
	}
	selector, err := s.AsSelector()
	if err != nil {
		return err.Error()
	}
	return selector.String()
}
