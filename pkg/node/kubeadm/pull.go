package kubeadm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
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
	if err == nil {
		err = Pulled{Version: args.Version, ClusterConfiguration: args.ClusterConfiguration, KubeProxyConfig: args.KubeProxyConfig, Images: out.Images}.write(l)
	}
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
	config, err := configFor(args.ClusterConfiguration, args.Version, map[string]any{
		"kind": "InitConfiguration", "localAPIEndpoint": map[string]any{"advertiseAddress": "192.0.2.1"},
		"nodeRegistration": map[string]any{"name": "node"}, // the node's own may be none that kubeadm takes
	}, dropGates)
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
	return checkImages(printed, args.ClusterConfiguration)
}

// maxImages is how many container images a control plane may need. kubeadm 1.32 to 1.36 list 7.
const maxImages = 16

// defaultRepository is kubeadm's, where the configuration names none.
const defaultRepository = "registry.k8s.io"

// checkImages returns the images that the staged kubeadm printed. Root pulls them before the image
// is trusted, so they must be few, and come from where the cluster's configuration says.
func checkImages(printed, cluster string) ([]string, error) {
	images := strings.Fields(printed)
	switch {
	case len(images) == 0:
		return nil, fmt.Errorf("kubeadm config images list printed no image")
	case len(images) > maxImages:
		return nil, fmt.Errorf("kubeadm config images list printed %d images, and a control plane needs no more than %d: none was pulled", len(images), maxImages)
	}
	type repository struct{ ImageRepository string }
	var from struct {
		repository
		DNS  repository
		Etcd struct{ Local repository }
	}
	if err := yaml.Unmarshal([]byte(cluster), &from); err != nil {
		return nil, fmt.Errorf("decoding the repositories of the cluster's ClusterConfiguration: %w", err)
	}
	repositories := []string{cmp.Or(from.ImageRepository, defaultRepository)}
	for _, own := range []string{from.DNS.ImageRepository, from.Etcd.Local.ImageRepository} {
		if own != "" {
			repositories = append(repositories, own)
		}
	}
	for _, image := range images {
		if !slices.ContainsFunc(repositories, func(r string) bool { return strings.HasPrefix(image, r+"/") }) {
			return nil, fmt.Errorf("kubeadm config images list printed %.200q, which is not in %s (imageRepository in the ConfigMap kubeadm-config): no image was pulled",
				image, strings.Join(repositories, " or "))
		}
	}
	return images, nil
}

// gates says whether kubeadm gets the feature gates in its configuration. The images do not depend on them, and `kubeadm
// upgrade` passes over those that it does not know (cmd/kubeadm/app/util/config/cluster.go, v1.34.4).
type gates bool

const (
	keepGates gates = true
	dropGates gates = false
)

// configFor returns the cluster's configuration for that version, and own as a second document of the same version of
// kubeadm's API. With an address in that, kubeadm does not look for one among the interfaces, of which a confined program
// sees none.
func configFor(cluster, version string, own map[string]any, gates gates) ([]byte, error) {
	var config map[string]any
	if err := yaml.Unmarshal([]byte(cluster), &config); err != nil {
		return nil, fmt.Errorf("decoding the cluster's ClusterConfiguration: %w", err)
	}
	if config["kind"] != "ClusterConfiguration" {
		return nil, fmt.Errorf("the ConfigMap kubeadm-config has a %q, not a ClusterConfiguration", config["kind"])
	}
	config["kubernetesVersion"], own["apiVersion"] = version, config["apiVersion"]
	if gates == dropGates {
		delete(config, "featureGates")
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return nil, err
	}
	ownText, err := yaml.Marshal(own)
	return slices.Concat(text, []byte("---\n"), ownText), err
}

// defaultSocket is the socket of containerd, also on Flatcar.
const defaultSocket = "/run/containerd/containerd.sock"

// instanceConfig is where kubeadm 1.34 and later write the settings of this node alone,
// such as containerRuntimeEndpoint (feature gate NodeLocalCRISocket).
const instanceConfig = "/var/lib/kubelet/instance-config.yaml"

// containerRuntime is a client of the node's container runtime. It uses the CRI, as the
// kubelet does, so the runtime need not be containerd.
type containerRuntime struct {
	*grpc.ClientConn
	images runtimeapi.ImageServiceClient
}

func connectRuntime(l host.Layout) (*containerRuntime, error) {
	socket, err := RuntimeSocket(l)
	if err != nil {
		return nil, err
	}
	connection, err := grpc.NewClient("unix:"+l.At(socket), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("connecting to the container runtime at %s: %w", socket, err)
	}
	return &containerRuntime{connection, runtimeapi.NewImageServiceClient(connection)}, nil
}

func (r *containerRuntime) has(ctx context.Context, image string) (bool, error) {
	answer, err := r.images.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: image}})
	if err != nil {
		return false, fmt.Errorf("asking the container runtime for %s: %s", image, status.Convert(err).Message())
	}
	return answer.GetImage() != nil, nil
}

func (r *containerRuntime) pull(ctx context.Context, image string) error {
	_, err := r.images.PullImage(ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: image}})
	if err != nil {
		return fmt.Errorf("pulling %s: %s", image, status.Convert(err).Message())
	}
	return nil
}

var endpointFlag = regexp.MustCompile(`--container-runtime-endpoint[= ]([^\s"']+)`)

// RuntimeSocket returns the socket that the kubelet is configured to use. Its flag prevails
// over its configuration.
func RuntimeSocket(l host.Layout) (string, error) {
	flags, err := os.ReadFile(l.At(host.KubeletFlags))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the kubelet's flags: %w", err)
	}
	if m := endpointFlag.FindSubmatch(flags); m != nil {
		return socketPath(string(m[1]))
	}
	for _, file := range []string{instanceConfig, host.KubeletConfig} {
		data, err := os.ReadFile(l.At(file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("reading the kubelet's configuration: %w", err)
		}
		var config struct{ ContainerRuntimeEndpoint string }
		if err := yaml.Unmarshal(data, &config); err != nil {
			return "", fmt.Errorf("decoding %s: %w", file, err)
		}
		if config.ContainerRuntimeEndpoint != "" {
			return socketPath(config.ContainerRuntimeEndpoint)
		}
	}
	return defaultSocket, nil
}

// socketPath parses unix:///run/x.sock, and /run/x.sock as older kubelets accept it.
func socketPath(endpoint string) (string, error) {
	path := strings.TrimPrefix(endpoint, "unix://")
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("the kubelet's container runtime endpoint is %q, which is not a socket on this node", endpoint)
	}
	return path, nil
}
