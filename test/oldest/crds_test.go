package oldest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// TestCRDs validates each CRD as the API server does when it is created. Later minors
// estimate the cost of CEL rules lower, so that what they accept may be refused here.
func TestCRDs(t *testing.T) {
	files, err := filepath.Glob("../../manifests/crd/kubectl-upgrade.dev_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range validate(t, text) {
			t.Errorf("%s: %v", filepath.Base(file), problem)
		}
	}
}

// TestExpensiveRuleIsRefused checks that the test above can fail: a string without a limit
// is too expensive to be matched in every element of a list.
func TestExpensiveRuleIsRefused(t *testing.T) {
	text, err := os.ReadFile("../../manifests/crd/kubectl-upgrade.dev_clusterupgrades.yaml")
	if err != nil {
		t.Fatal(err)
	}
	expensive := strings.ReplaceAll(string(text), "rule: type(self) != int || self >= 1", "rule: type(self) == int || self.matches('^[1-9]+%$')")
	if expensive == string(text) {
		t.Fatal("the CRD has no rule of that kind")
	}
	if problems := validate(t, []byte(expensive)); len(problems) == 0 {
		t.Error("it is accepted")
	}
}

func validate(t *testing.T, text []byte) field.ErrorList {
	t.Helper()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	var published apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &published); err != nil {
		t.Fatal(err)
	}
	scheme.Default(&published)
	published.Status.StoredVersions = []string{published.Spec.Versions[0].Name}
	var crd apiextensions.CustomResourceDefinition
	if err := scheme.Convert(&published, &crd, nil); err != nil {
		t.Fatal(err)
	}
	return validation.ValidateCustomResourceDefinition(t.Context(), &crd)
}
