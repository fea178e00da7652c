package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"
)

// TestSchemas checks files against the schemas, as an editor does.
func TestSchemas(t *testing.T) {
	for _, test := range []struct{ file, text, wrong string }{
		{"clusterupgrade_v1alpha1.json", "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: ClusterUpgrade\nmetadata: {name: u}\nspec: {version: v1.34.4, strategy: {maxUnavailable: 5%}}", ""},
		{"clusterupgrade_v1alpha1.json", "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: ClusterUpgrade\nmetadata: {name: u}\nspec: {version: v1.34.4, strategy: {maxUnavailable: 2}}", ""},
		{"clusterupgrade_v1alpha1.json", "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: ClusterUpgrade\nmetadata: {name: u}\nspec: {version: v1.34.4, strateggy: {}}", "strateggy"},
		{"clusterupgrade_v1alpha1.json", "apiVersion: kubectl-upgrade.dev/v1alpha2\nkind: ClusterUpgrade\nmetadata: {name: u}\nspec: {version: v1.34.4}", "apiVersion"},
		{"upgradepolicy_v1alpha1.json", "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: UpgradePolicy\nmetadata: {name: cluster}\nspec: {mode: Managed}", "spec.mode"},
		{"maintenanceschedule_v1alpha1.json", "kind: MaintenanceSchedule\nmetadata: {name: nights}\nspec: {}", "apiVersion"},
	} {
		result := check(t, test.file, test.text)
		if got := strings.Join(result, "; "); (test.wrong == "") != (got == "") || !strings.Contains(got, test.wrong) {
			t.Errorf("%s:\n%s\ngot %q, want what names %q", test.file, test.text, got, test.wrong)
		}
	}
}

// check returns what is wrong with a file by a schema.
func check(t *testing.T, name, text string) (wrong []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "jsonschema", name))
	if err != nil {
		t.Fatal(err)
	}
	var schema spec.Schema
	var object any
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	for _, err := range validate.NewSchemaValidator(&schema, nil, "", strfmt.Default).Validate(object).Errors {
		wrong = append(wrong, err.Error())
	}
	return wrong
}
