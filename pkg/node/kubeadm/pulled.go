package kubeadm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// Pulled is what the last Pull got, and from what. The rehearsal of a control plane reads it.
type Pulled struct {
	Version string `json:"version"`
	// ClusterConfiguration is the one that kubeadm listed the images for.
	ClusterConfiguration string `json:"clusterConfiguration"`
	// KubeProxyConfig is the configuration of kube-proxy in the cluster; empty: it is not known, as where kube-proxy does not
	// run on the node.
	KubeProxyConfig string `json:"kubeProxyConfig,omitempty"`
	// Images are those that a control plane of that version needs.
	Images []string `json:"images"`
}

// PulledFile returns the path of the file with the last Pulled.
func PulledFile(l host.Layout) string { return filepath.Join(host.StateDir(l.Root()), "pulled.json") }

// LastPulled returns what the last Pull got; the zero value without one.
func LastPulled(l host.Layout) (last Pulled, err error) {
	data, err := os.ReadFile(PulledFile(l))
	if errors.Is(err, fs.ErrNotExist) {
		return last, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &last)
	}
	if err != nil {
		return last, fmt.Errorf("reading which container images were pulled: %w", err)
	}
	return last, nil
}

func (p Pulled) write(l host.Layout) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return host.WriteFile(PulledFile(l), data, 0o600)
}

// Missing returns those of the images that are not on the node any more: the kubelet removes unused ones when the disk is
// nearly full.
func (p Pulled) Missing(ctx context.Context, l host.Layout) (images []string, err error) {
	if len(p.Images) == 0 {
		return nil, nil
	}
	runtime, err := connectRuntime(l)
	if err != nil {
		return nil, err
	}
	defer func() { _ = runtime.Close() }()
	for _, image := range p.Images {
		there, err := runtime.has(ctx, image)
		if err != nil {
			return nil, err
		}
		if !there {
			images = append(images, image)
		}
	}
	return images, nil
}
