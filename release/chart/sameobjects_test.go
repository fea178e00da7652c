package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// componentValues are the values that render each component of manifests/.
var componentValues = map[string]string{
	"aggregation":      "people: {aggregate: true}",
	"disruptionbudget": "coordinator: {podDisruptionBudget: {enabled: true}}",
	"networkpolicies":  "networkPolicies: {enabled: true}",
	"monitoring":       "monitoring: {enabled: true}",
}

// TestSameObjects compares the chart with manifests/, object by object: with default values,
// and with the value for each component.
func TestSameObjects(t *testing.T) {
	t.Run("default values", func(t *testing.T) { compare(t, built(t), "") })
	for _, component := range allComponents(t) {
		t.Run(component, func(t *testing.T) {
			given, ok := componentValues[component]
			if !ok {
				t.Fatal("no value of the chart renders this component")
			}
			compare(t, built(t, component), given)
		})
	}
}

func compare(t *testing.T, manifests, values string) {
	t.Helper()
	text, err := render(t, load(t), "default", values)
	if err != nil {
		t.Fatal(err)
	}
	want, got := parse(t, manifests), parse(t, text)
	if len(want) < 30 {
		t.Fatalf("manifests/ has only %d objects", len(want))
	}
	for key, object := range got {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		annotations := object.GetAnnotations()
		if annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s is deleted with the release, and with it all objects of its kind", key)
		}
		delete(annotations, "helm.sh/resource-policy")
		object.SetAnnotations(annotations)
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("manifests (-), the chart (+):\n%s", difference)
	}
}

// TestReleaseInItsNamespace checks that a release in the namespace kubectl-upgrade, which Helm
// has created, does not create it again.
func TestReleaseInItsNamespace(t *testing.T) {
	const key = "Namespace /kubectl-upgrade"
	c := load(t)
	for namespace, want := range map[string]bool{"default": true, releaseNamespace: false} {
		text, err := render(t, c, namespace, "")
		if err != nil {
			t.Fatal(err)
		}
		objects := parse(t, text)
		if got := objects[key] != nil; got != want {
			t.Errorf("a release in %s has the namespace: %v, want %v", namespace, got, want)
		}
		delete(objects, key)
		if len(objects) != len(parse(t, built(t)))-1 {
			t.Errorf("a release in %s has %d other objects: %v", namespace, len(objects), sorted(objects))
		}
	}
}
