package view

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Selects returns a function that reports whether the selector matches labels. Nil
// matches everything, and a selector that Kubernetes does not accept nothing.
func Selects(s *v1alpha1.LabelSelector) func(map[string]string) bool {
	if s == nil {
		return func(map[string]string) bool { return true }
	}
	selector, err := s.AsSelector()
	return func(of map[string]string) bool { return err == nil && selector.Matches(labels.Set(of)) }
}

// selectorText returns the selector in the form of kubectl's -l. Empty: there is none.
func selectorText(s *v1alpha1.LabelSelector) string {
	if s == nil {
		return ""
	}
	selector, err := s.AsSelector()
	if err != nil {
		return err.Error()
	}
	return selector.String()
}
