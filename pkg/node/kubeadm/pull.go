package kubeadm

import (
	"context"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// PullOutput is the result of Pull.
type PullOutput struct {
	// Images are those that a control plane of that version needs.
	Images []string `json:"images"`
	// Pulled are the images that were not on the node yet.
	Pulled []string `json:"pulled,omitempty"`
}

// Pull pulls the container images of a control plane of that version, so that the upgrade
// itself needs no registry. The staged kubeadm lists them, confined. Images that are on the node
// already are not pulled again: `kubeadm config images pull` would contact the registry
// for each (kubeadm 1.32 to 1.36, cmd/config.go), `kubeadm upgrade` does not.
//
// Reasons: HashMismatch, PullFailed.
func Pull(ctx context.Context, l host.Layout, args verb.PullArgs, log *host.Log) (*PullOutput, error) {
	staged, err := host.NewImage(args.Version, host.Architecture())
	if err != nil {
		return nil, err
	}
	file, err := sysupdate.OpenVerified(ctx, l.At(staged.Path()), args.SHA256)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	out, err := pull(ctx, l, file, args, log)
	if err != nil {
		return out, host.Fail(v1alpha1.ReasonPullFailed, "%w", err)
	}
	return out, nil
}

func pull(ctx context.Context, l host.Layout, staged *os.File, args verb.PullArgs, log *host.Log) (*PullOutput, error) {
	images, err := listImages(ctx, staged, args, log)
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

// runConfined is replaced in tests, which have no systemd.
var runConfined = host.RunConfined

// listImages returns the images that the staged kubeadm lists. kubeadm uses no network for
// that, because the version is given.
func listImages(ctx context.Context, staged *os.File, args verb.PullArgs, log *host.Log) ([]string, error) {
	config, err := configFor(args.ClusterConfiguration, args.Version)
	if err != nil {
		return nil, err
	}
	printed, err := runConfined(ctx, host.Confined{
		Image: staged, Program: "usr/bin/kubeadm", Args: []string{"config", "images", "list", "--config", "/dev/stdin"},
		Stdin: config, Stderr: log,
	})
	if err != nil {
		return nil, fmt.Errorf("kubeadm config images list: %w: %s", err, lastError(log.Tail()))
	}
	images := strings.Fields(printed)
	if len(images) == 0 {
		return nil, fmt.Errorf("kubeadm config images list printed no image")
	}
	return images, nil
}

// configFor returns the cluster's configuration for that version. With an address, kubeadm does
// not look for one among the interfaces, of which a confined program sees none.
func configFor(cluster, version string) ([]byte, error) {
	var config map[string]any
	if err := yaml.Unmarshal([]byte(cluster), &config); err != nil {
		return nil, fmt.Errorf("decoding the cluster's ClusterConfiguration: %w", err)
	}
	if config["kind"] != "ClusterConfiguration" {
		return nil, fmt.Errorf("the ConfigMap kubeadm-config has a %q, not a ClusterConfiguration", config["kind"])
	}
	config["kubernetesVersion"] = version
	text, err := yaml.Marshal(config)
	if err != nil {
		return nil, err
	}
	const own = "---\napiVersion: %v\nkind: InitConfiguration\nlocalAPIEndpoint: {advertiseAddress: 192.0.2.1}\n"
	return fmt.Appendf(text, own, config["apiVersion"]), nil
}
