package rights_test

import "testing"

// TestCoordinatorCreatesDefaultPolicyOnly checks that the coordinator may create the UpgradePolicy
// with defaults only, and not with a source or automatic upgrades of its choice.
func TestCoordinatorCreatesDefaultPolicyOnly(t *testing.T) {
	config := install(t)
	kubectl(t, config, "", "delete", "upgradepolicy", "cluster")
	defer kubectl(t, config, "{apiVersion: kubectl-upgrade.dev/v1alpha1, kind: UpgradePolicy, metadata: {name: cluster}}", "apply", "-f", "-")
	for spec, want := range map[string]string{
		"": allowed,
		`, spec: {source: {url: "https://example.com/"}}`: byPolicy,
		`, spec: {automatic: [{type: Patch}]}`:            byPolicy,
	} {
		got := coordinator(t, config).try(t, try{do: "PATCH", at: ours + "/upgradepolicies/cluster?fieldManager=coordinator&force=true",
			with: "{apiVersion: kubectl-upgrade.dev/v1alpha1, kind: UpgradePolicy, metadata: {name: cluster}" + spec + "}"})
		if got.answer != want {
			t.Errorf("with %q: %s: %s, want %s", spec, got.answer, got.message, want)
		}
	}
}
