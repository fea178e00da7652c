package cli

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/migrate"
)

// objectsOf returns the objects as a list for kubectl apply.
func objectsOf(result migrate.Result) any {
	policy := &v1alpha1.UpgradePolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "UpgradePolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}, Spec: result.Policy,
	}
	items := []any{policy}
	if result.Schedule != nil {
		items = []any{result.Schedule, policy}
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
}

// yamlOf returns the objects as YAML documents.
func yamlOf(result migrate.Result) (text string, err error) {
	for i, item := range objectsOf(result).(map[string]any)["items"].([]any) {
		one, err := yaml.Marshal(item)
		if err != nil {
			return "", err
		}
		if i > 0 {
			text += "---\n"
		}
		text += string(one)
	}
	return text, nil
}
