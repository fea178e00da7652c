package cli

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// selects returns what tells by an object's labels whether the selector matches
// it. Nil matches everything, and one that Kubernetes does not accept nothing.
func selects(s *v1alpha1.LabelSelector) func(map[string]string) bool {
	if s == nil {
		return func(map[string]string) bool { return true }
	}
	selector, err := s.AsSelector()
	return func(of map[string]string) bool { return err == nil && selector.Matches(labels.Set(of)) }
}

// selectorText returns the selector as kubectl's -l takes it. Empty: none.
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

// parseSelector reads what kubectl's -l takes.
func parseSelector(text string) (*v1alpha1.LabelSelector, error) {
	parsed, err := metav1.ParseToLabelSelector(text)
	if err != nil {
		return nil, err
	}
	s := &v1alpha1.LabelSelector{}
	for key, value := range parsed.MatchLabels {
		if s.MatchLabels == nil {
			s.MatchLabels = map[string]v1alpha1.LabelValue{}
		}
		s.MatchLabels[key] = v1alpha1.LabelValue(value)
	}
	for _, e := range parsed.MatchExpressions {
		one := v1alpha1.LabelRequirement{Key: e.Key, Operator: v1alpha1.LabelOperator(e.Operator)}
		for _, value := range e.Values {
			one.Values = append(one.Values, v1alpha1.LabelValue(value))
		}
		s.MatchExpressions = append(s.MatchExpressions, one)
	}
	return s, nil
}
