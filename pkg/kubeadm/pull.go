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
)

// PullArgs ask for the container images of a control plane.
type PullArgs struct {
	// Version such as v1.35.4.
	Version string `json:"version"`
	// SHA256 of the image that kubeadm comes from.
	SHA256 string `json:"sha256"`
	// ClusterConfiguration as it stands in the ConfigMap kubeadm-config, which
	// says where images come from.
	ClusterConfiguration string `json:"clusterConfiguration"`
}

// PullOutput says what there is now.
type PullOutput struct {
	// Images that a control plane of that version needs.
	Images []string `json:"images"`
	// Pulled are those that were not there yet.
	Pulled []string `json:"pulled,omitempty"`
}

// Pull makes the container images be on the node that kubeadm will start a
// control plane of that version with, so that no registry has to answer once the
// upgrade has begun. The staged kubeadm names them. One that is there already is
// not asked for: `kubeadm config images pull` would ask the registry for each
// (kubeadm 1.32 to 1.36, cmd/config.go), where `kubeadm upgrade` does not.
//
// Reasons: HashMismatch, ContentMismatch, PullFailed.
func Pull(ctx context.Context, l host.Layout, args PullArgs, log *host.Log) (*PullOutput, error) {
	if err := verifyMounted(ctx, l, args.Version, args.SHA256); err != nil {
		return nil, err
	}
	out, err := pull(ctx, l, args, log)
	if err != nil {
		return out, host.Fail(v1alpha1.ReasonPullFailed, "%w", err)
	}
	return out, nil
}

func pull(ctx context.Context, l host.Layout, args PullArgs, log *host.Log) (*PullOutput, error) {
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
			log.Printf("%s is there", image)
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

// listImages asks the staged kubeadm. It reaches for no network, as the version
// is given.
func listImages(ctx context.Context, l host.Layout, args PullArgs, log *host.Log) ([]string, error) {
	config, err := configFor(args.ClusterConfiguration, args.Version)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(host.StateDir(l.Root()), "pull-config.yaml")
	if err := host.WriteFile(file, config, 0o600); err != nil {
		return nil, fmt.Errorf("writing kubeadm's configuration: %w", err)
	}
	cmd := exec.CommandContext(ctx, l.At(ImageMount, "usr/bin/kubeadm"), "config", "images", "list", "--config", file) //nolint:gosec // our own file, and no shell
	cmd.Env = environment(l, os.Environ())
	cmd.Stderr = log
	printed, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("kubeadm config images list: %w: %s", err, lastError(log.Tail()))
	}
	images := strings.Fields(string(printed))
	if len(images) == 0 {
		return nil, fmt.Errorf("kubeadm config images list names no image")
	}
	return images, nil
}

// configFor is the cluster's configuration as kubeadm will have it at a version.
func configFor(cluster, version string) ([]byte, error) {
	var config map[string]any
	if err := yaml.Unmarshal([]byte(cluster), &config); err != nil {
		return nil, fmt.Errorf("decoding the cluster's ClusterConfiguration: %w", err)
	}
	if config["kind"] != "ClusterConfiguration" {
		return nil, fmt.Errorf("the ConfigMap kubeadm-config has no ClusterConfiguration but a %q", config["kind"])
	}
	config["kubernetesVersion"] = version
	return yaml.Marshal(config)
}
