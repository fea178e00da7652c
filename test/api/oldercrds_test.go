package api_test

import (
	"bytes"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestOlderCRDs checks what docs/install.md says of programs that are newer than the CRDs:
// what coordinator and agents apply is refused, and what the plugin creates loses the fields
// that the CRDs do not have, with a warning.
func TestOlderCRDs(t *testing.T) {
	config := rest.CopyConfig(apitest.Start(t))
	apitest.InstallCRDs(t, config)
	var warnings bytes.Buffer
	config.WarningHandler = rest.NewWarningWriter(&warnings, rest.WarningWriterOptions{})
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	node := object(t, "NodeUpgrade", named("newer", "{}"))
	create(t, client, node)
	defer remove(t, client, node)
	for _, text := range []string{`spec: {release: None, ofTomorrow: 1}`, `status: {step: Idle, ofTomorrow: 1}`} {
		data, err := object(t, "NodeUpgrade", named("newer", text)).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var subresource []string
		if strings.HasPrefix(text, "status") {
			subresource = []string{"status"}
		}
		force := true
		_, err = client.Resource(resources["NodeUpgrade"]).Patch(t.Context(), "newer", types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: "test", Force: &force}, subresource...)
		if err == nil || !strings.Contains(err.Error(), "ofTomorrow: field not declared in schema") {
			t.Errorf("applying %s: got %v, want that the field is refused", text, err)
		}
	}

	upgrade := object(t, "ClusterUpgrade", named("newer", `spec: {type: Reboot, ofTomorrow: 1}`))
	strict := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	if _, err := client.Resource(resources["ClusterUpgrade"]).Create(t.Context(), upgrade, strict); err == nil || !strings.Contains(err.Error(), `unknown field "spec.ofTomorrow"`) {
		t.Errorf("creating a ClusterUpgrade as the plugin does: got %v, want that the field is refused", err)
	}
	created, err := client.Resource(resources["ClusterUpgrade"]).Create(t.Context(), upgrade, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer remove(t, client, upgrade)
	if _, found, _ := unstructured.NestedFieldNoCopy(created.Object, "spec", "ofTomorrow"); found {
		t.Error("the CRD keeps a field that it does not have")
	}
	if want := `Warning: unknown field "spec.ofTomorrow"`; !strings.Contains(warnings.String(), want) {
		t.Errorf("got the warnings %q, want %q", warnings.String(), want)
	}
}
