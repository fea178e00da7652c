package rights_test

import (
	"strings"
	"testing"
	"time"
)

// TestOtherVersionsAreChecked serves a second version of a kind, and checks that the admission policies
// hold for requests in it, too.
func TestOtherVersionsAreChecked(t *testing.T) {
	config := install(t)
	const kind = "customresourcedefinition/nodeupgrades.kubectl-upgrade.dev"
	schema, err := command(t, config, "", "get", kind, "-o", "jsonpath={.spec.versions[0].schema}").Output()
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(schema), "NodeUpgrade is", "It is", 1) // two equal schemas would be stored as one
	kubectl(t, config, "", "patch", kind, "--type=json", "-p",
		`[{"op":"add","path":"/spec/versions/-","value":{"name":"v1beta1","served":true,"storage":false,"subresources":{"status":{}},"schema":`+other+`}}]`)
	defer kubectl(t, config, "", "patch", kind, "--type=json", "-p", `[{"op":"remove","path":"/spec/versions/1"}]`)

	later := strings.Replace(ours, "v1alpha1", "v1beta1", 1) + "/nodeupgrades/worker-1"
	editor, admin := person(t, config, "kubectl-upgrade-edit"), administrator(t, config)
	harmless := try{do: "PATCH", at: later, with: `{"abandoned":{"comment":"its disk died"}}`}
	for deadline := time.Now().Add(time.Minute); admin.try(t, harmless).answer != allowed; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the API server does not serve %s: %+v", later, admin.try(t, harmless))
		}
	}
	for fields, want := range map[string]string{harmless.with: allowed, `{"spec":{"version":"v1.34.4"}}`: byPolicy, `{"metadata":{"labels":{"x":"y"}}}`: byPolicy} {
		if got := editor.try(t, try{do: "PATCH", at: later, with: fields}); got.answer != want {
			t.Errorf("%s in another version: got %s (%s), want %s", fields, got.answer, got.message, want)
		}
	}
}
