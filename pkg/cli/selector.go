package cli

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// parseSelector reads a selector in the form of kubectl's -l.
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

// upgradeTypes reads Patch, Minor and Reboot, in upper or lower case.
func upgradeTypes(flag string, words []string) ([]v1alpha1.UpgradeType, error) {
	var types []v1alpha1.UpgradeType
	for _, word := range words {
		known := []v1alpha1.UpgradeType{v1alpha1.TypePatch, v1alpha1.TypeMinor, v1alpha1.TypeReboot}
		i := slices.IndexFunc(known, func(t v1alpha1.UpgradeType) bool { return strings.EqualFold(string(t), word) })
		if i < 0 {
			return nil, fmt.Errorf("--%s: %q is not Patch, Minor or Reboot", flag, word)
		}
		if !slices.Contains(types, known[i]) {
			types = append(types, known[i])
		}
	}
	return types, nil
}
