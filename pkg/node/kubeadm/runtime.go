package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

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
	socket, err := runtimeSocket(l)
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

// runtimeSocket returns the socket that the kubelet is configured to use. Its flag prevails
// over its configuration.
func runtimeSocket(l host.Layout) (string, error) {
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
