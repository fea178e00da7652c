package kubeadm

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// RenewCertificates has the kubeadm of the version that runs renew the certificates of these names, with the keys of
// their authorities on the node. It gets the cluster's configuration, of which the lifetime and the kind of keys count, and
// asks no API server: its own certificate may have ended.
func RenewCertificates(ctx context.Context, l host.Layout, clusterConfiguration string, names []string, log *host.Log) error {
	config, err := renewalConfig(clusterConfiguration)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(l.At("/run"), "kubectl-upgrade-certs-*.yaml")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if _, err := file.Write(config); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	program, err := mergedKubeadm(l)
	if err != nil {
		return err
	}
	for _, name := range names {
		cmd := exec.CommandContext(ctx, program, "certs", "renew", name, "--config", file.Name()) //nolint:gosec // a name of kubeadm's, and no shell
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("kubeadm certs renew %s: %w: %s", name, err, lastError(log.Tail()))
		}
	}
	return nil
}

// renewalConfig returns the cluster's configuration with an address, so that kubeadm looks for none.
func renewalConfig(clusterConfiguration string) ([]byte, error) {
	var cluster struct{ KubernetesVersion string }
	if err := yaml.Unmarshal([]byte(clusterConfiguration), &cluster); err != nil {
		return nil, fmt.Errorf("decoding the cluster's ClusterConfiguration: %w", err)
	}
	return configFor(clusterConfiguration, cluster.KubernetesVersion, map[string]any{
		"kind": "InitConfiguration", "localAPIEndpoint": map[string]any{"advertiseAddress": "192.0.2.1"},
		"nodeRegistration": map[string]any{"name": "node"}, // the node's own may be none that kubeadm takes
	}, dropGates)
}

// mergedKubeadm returns the path of the kubeadm that is installed: that of the merged image, or of the node's packages.
func mergedKubeadm(l host.Layout) (string, error) {
	for _, path := range []string{"/usr/bin/kubeadm", "/usr/local/bin/kubeadm", "/opt/bin/kubeadm"} {
		if info, err := os.Stat(l.At(path)); err == nil && info.Mode().IsRegular() {
			return l.At(path), nil
		}
	}
	return "", fmt.Errorf("there is no kubeadm in /usr/bin, /usr/local/bin or /opt/bin")
}
