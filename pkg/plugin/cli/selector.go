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
	return v1alpha1.NewLabelSelector(parsed), nil
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
