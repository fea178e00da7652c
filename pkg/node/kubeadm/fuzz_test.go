package kubeadm

import (
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// FuzzConfigFor parses the cluster's configuration, which people edit.
func FuzzConfigFor(f *testing.F) {
	f.Add("kind: ClusterConfiguration\nkubernetesVersion: v1.34.3\nimageRepository: x\n")
	f.Add("- kind: ClusterConfiguration")
	f.Add("kind: [a]\n? {a: b}\n: c")
	f.Fuzz(func(t *testing.T, cluster string) {
		text, err := configFor(cluster, "v1.34.4", map[string]any{"kind": "InitConfiguration"}, keepGates)
		if err != nil {
			return
		}
		var config struct{ KubernetesVersion string }
		if err := yaml.Unmarshal(text, &config); err != nil || config.KubernetesVersion != "v1.34.4" {
			t.Errorf("%q becomes %q: %v", cluster, text, err)
		}
	})
}

func FuzzSocketPath(f *testing.F) {
	f.Add("unix:///run/containerd/containerd.sock")
	f.Add("tcp://1.2.3.4:1")
	f.Fuzz(func(t *testing.T, endpoint string) {
		if path, err := socketPath(endpoint); err == nil && !filepath.IsAbs(path) {
			t.Errorf("%q is the socket %q", endpoint, path)
		}
	})
}
