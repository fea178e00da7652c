package kubeadm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// PullOutput is the result of Pull.
type PullOutput struct {
	// Images are those that a control plane of that version needs.
	Images []string `json:"images"`
	// Pulled are the images that were not on the node yet.
	Pulled []string `json:"pulled,omitempty"`
}

// Pull pulls the container images of a control plane of that version, so that the upgrade
// itself needs no registry. The staged kubeadm lists them. Images that are on the node
// already are not pulled again: `kubeadm config images pull` would contact the registry
// for each (kubeadm 1.32 to 1.36, cmd/config.go), `kubeadm upgrade` does not.
//
// Reasons: HashMismatch, ContentMismatch, PullFailed.
func Pull(ctx context.Context, l host.Layout, args verb.PullArgs, log *host.Log) (*PullOutput, error) {
	if err := verifyMounted(ctx, l, args.Version, args.SHA256); err != nil {
		return nil, err
	}
	out, err := pull(ctx, l, args, log)
	if err != nil {
		return out, host.Fail(v1alpha1.ReasonPullFailed, "%w", err)
	}
	return out, nil
}

func pull(ctx context.Context, l host.Layout, args verb.PullArgs, log *host.Log) (*PullOutput, error) {
	images, err := listImages(ctx, l, args, log)
	if err != nil {
		return nil, err
	}
	out := &PullOutput{Images: images}
	runtime, err := connectRuntime(l)
	if err != nil {
		return out, err
	}
	defer func() { _ = runtime.Close() }()
	for _, image := range images {
		there, err := runtime.has(ctx, image)
		if err != nil {
			return out, err
		}
		if there {
			log.Printf("%s is already on the node", image)
			continue
		}
		log.Printf("pulling %s", image)
		if err := runtime.pull(ctx, image); err != nil {
			return out, err
		}
		out.Pulled = append(out.Pulled, image)
	}
	return out, nil
}

// listImages returns the images that the staged kubeadm lists. kubeadm uses no network for
// that, because the version is given.
func listImages(ctx context.Context, l host.Layout, args verb.PullArgs, log *host.Log) ([]string, error) {
	config, err := configFor(args.ClusterConfiguration, args.Version)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(host.StateDir(l.Root()), "pull-config.yaml")
	if err := host.WriteFile(file, config, 0o600); err != nil {
		return nil, fmt.Errorf("writing kubeadm's configuration: %w", err)
	}
	cmd := exec.CommandContext(ctx, l.At(host.ImageMount, "usr/bin/kubeadm"), "config", "images", "list", "--config", file) //nolint:gosec // our own file, and no shell
	cmd.Env = environment(l, os.Environ())
	cmd.Stderr = log
	printed, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("kubeadm config images list: %w: %s", err, lastError(log.Tail()))
	}
	images := strings.Fields(string(printed))
	if len(images) == 0 {
		return nil, fmt.Errorf("kubeadm config images list printed no image")
	}
	return images, nil
}

// configFor returns the cluster's configuration for that version.
func configFor(cluster, version string) ([]byte, error) {
	var config map[string]any
	if err := yaml.Unmarshal([]byte(cluster), &config); err != nil {
		return nil, fmt.Errorf("decoding the cluster's ClusterConfiguration: %w", err)
	}
	if config["kind"] != "ClusterConfiguration" {
		return nil, fmt.Errorf("the ConfigMap kubeadm-config has a %q, not a ClusterConfiguration", config["kind"])
	}
	config["kubernetesVersion"] = version
	return yaml.Marshal(config)
}
