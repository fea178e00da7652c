package rights_test

import (
	"fmt"
	"testing"
)

// TestCoordinatorCreatesDefaultPolicyOnly checks that the coordinator may create the UpgradePolicy
// with defaults only: with no source, mode, automatic upgrades or metadata of its choice.
func TestCoordinatorCreatesDefaultPolicyOnly(t *testing.T) {
	config := install(t)
	kubectl(t, config, "", "delete", "upgradepolicy", "cluster")
	defer kubectl(t, config, "{apiVersion: kubectl-upgrade.dev/v1alpha1, kind: UpgradePolicy, metadata: {name: cluster}}", "apply", "-f", "-")
	for _, row := range []struct{ metadata, spec, want string }{
		{"", "", allowed},
		{"", `source: {url: "https://example.com/"}`, byPolicy},
		{"", `source: {transportPolicy: AllowHTTP}`, byPolicy},
		{"", `source: {intervalSeconds: 1}`, byPolicy},
		{"", `source: {keyring: x}`, byPolicy},
		{"", `automatic: [{type: Patch}]`, byPolicy},
		{"", `mode: Manage`, byPolicy},
		{"", `mode: Observe`, allowed},
		{"", `strategy: {maxUnavailable: 50%}`, byPolicy},
		{"", `nodeSelector: {}`, byPolicy},
		{"", `historyLimit: 1`, byPolicy},
		{`ownerReferences: [{apiVersion: v1, kind: Node, name: worker-1, uid: u}]`, "", byPolicy},
		{`finalizers: [example.com/x]`, "", byPolicy},
		{`labels: {x: "y"}`, "", byPolicy},
		{`annotations: {x: "y"}`, "", byPolicy},
	} {
		got := coordinator(t, config).try(t, try{do: "PATCH", at: ours + "/upgradepolicies/cluster?fieldManager=coordinator&force=true",
			with: fmt.Sprintf("{apiVersion: kubectl-upgrade.dev/v1alpha1, kind: UpgradePolicy, metadata: {name: cluster, %s}, spec: {%s}}", row.metadata, row.spec)})
		if got.answer != row.want {
			t.Errorf("with metadata %q and spec %q: %s: %s, want %s", row.metadata, row.spec, got.answer, got.message, row.want)
		}
	}
}

// TestCoordinatorDoesNotChangePolicy checks that the coordinator changes neither the policy's spec
// nor its metadata: an owner that does not exist would have the garbage collector delete the
// policy, and with it the keyring. Its status is the coordinator's.
func TestCoordinatorDoesNotChangePolicy(t *testing.T) {
	config := install(t)
	at := ours + "/upgradepolicies/cluster"
	for patch, want := range map[string]string{
		`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"gone","uid":"u"}]}}`: byPolicy,
		`{"metadata":{"finalizers":["example.com/x"]}}`:                                                byPolicy,
		`{"metadata":{"labels":{"x":"y"}}}`:                                                            byPolicy,
		`{"metadata":{"annotations":{"x":"y"}}}`:                                                       byPolicy,
		`{"spec":{"mode":"Manage"}}`:                                                                   byPolicy,
		`{"spec":{"source":{"keyring":"x"}}}`:                                                          byPolicy,
		`{"spec":{"historyLimit":20}}`:                                                                 allowed, // as it is
	} {
		if got := coordinator(t, config).try(t, try{do: "PATCH", at: at, with: patch}); got.answer != want {
			t.Errorf("%s: %s: %s, want %s", patch, got.answer, got.message, want)
		}
	}
	// The API server takes no metadata from a write of the status.
	status := try{do: "PATCH", at: at + "/status", with: `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"gone","uid":"u"}]},"status":{"version":"v1.34.4"}}`}
	if code, text := coordinator(t, config).send(t, "PATCH", status, status.with); code != 200 || containsOwner(text) {
		t.Errorf("an owner by the status: %d: %s", code, text)
	}
}
