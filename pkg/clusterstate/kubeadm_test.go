package clusterstate

import "testing"

func TestConfigurationHash(t *testing.T) {
	const config = "kind: ClusterConfiguration\nkubernetesVersion: v1.34.3\napiServer: {certSANs: [a]}\n"
	for name, test := range map[string]struct {
		text string
		same bool
	}{
		"the version":   {"kubernetesVersion: v1.34.4\napiServer:\n  certSANs:\n  - a\nkind: ClusterConfiguration\n", true},
		"an argument":   {config + "scheduler: {extraArgs: [{name: v, value: \"2\"}]}\n", false},
		"not decodable": {"kind: [", false},
	} {
		if same := ConfigurationHash(config) == ConfigurationHash(test.text); same != test.same {
			t.Errorf("%s: the same %t, want %t", name, same, test.same)
		}
	}
	if ConfigurationHash("kind: [") == ConfigurationHash("kind: {") {
		t.Error("two texts that cannot be decoded are the same")
	}
}
