package kubeadm

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// images is the image service of a container runtime.
type images struct {
	runtimeapi.UnimplementedImageServiceServer
	there  map[string]bool
	broken map[string]bool
	asked  []string // the registry
}

func (s *images) ImageStatus(_ context.Context, r *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	if !s.there[r.Image.Image] {
		return &runtimeapi.ImageStatusResponse{}, nil
	}
	return &runtimeapi.ImageStatusResponse{Image: &runtimeapi.Image{Id: r.Image.Image}}, nil
}

func (s *images) PullImage(_ context.Context, r *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	s.asked = append(s.asked, r.Image.Image)
	if s.broken[r.Image.Image] {
		return nil, status.Error(codes.NotFound, "not found in the registry")
	}
	s.there[r.Image.Image] = true
	return &runtimeapi.PullImageResponse{ImageRef: r.Image.Image}, nil
}

// serve serves a runtime at a socket of the node, whose path must be short.
func serve(t *testing.T, l host.Layout, socket string) *images {
	t.Helper()
	s := &images{there: map[string]bool{}, broken: map[string]bool{}}
	if err := os.MkdirAll(filepath.Dir(l.At(socket)), 0o755); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", l.At(socket))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	runtimeapi.RegisterImageServiceServer(server, s)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return s
}

const clusterConfiguration = `
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
imageRepository: mirror.example/k8s
kubernetesVersion: v1.34.3
`

// lists is a kubeadm that lists two images of the repository and version in its
// configuration.
const lists = `
[ "$*" = "config images list --config /dev/stdin" ] || exit 9
config=$(cat)
repository=$(echo "$config" | sed -n 's/^imageRepository: //p'); version=$(echo "$config" | sed -n 's/^kubernetesVersion: //p')
echo 'W1121 a warning' >&2
echo "$repository/kube-apiserver:$version"; echo "$repository/etcd:3.6.5-0"
`

// newNode returns a tree with a short path, and a kubeadm that prints only what the test
// gives it.
func newNode(t *testing.T, behave string) host.Layout {
	t.Helper()
	l := newTree(t, "")
	dir, err := os.MkdirTemp("", "n")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.CopyFS(dir, os.DirFS(l.Dir)); err != nil {
		t.Fatal(err)
	}
	l.Dir = dir
	write(t, l, host.KubeletConfig, "kind: KubeletConfiguration\n")
	write(t, l, host.ImageMount+"/usr/bin/kubeadm", "#!/bin/sh\n[ \"$1\" = version ] && echo v1.34.4 && exit\n"+behave)
	return l
}

func pullArgs() verb.PullArgs {
	return verb.PullArgs{Version: "v1.34.4", SHA256: upgradeArgs(v1alpha1.KubeadmNode).SHA256, ClusterConfiguration: clusterConfiguration}
}

func TestPull(t *testing.T) {
	l := newNode(t, lists)
	runtime := serve(t, l, defaultSocket)
	apiserver, etcd := "mirror.example/k8s/kube-apiserver:v1.34.4", "mirror.example/k8s/etcd:3.6.5-0"
	runtime.there[etcd] = true
	for _, pulled := range [][]string{{apiserver}, nil} { // the second time there is nothing left
		out, err := Pull(t.Context(), l, pullArgs(), host.NewLog(&bytes.Buffer{}))
		if diff := cmp.Diff(&PullOutput{Images: []string{apiserver, etcd}, Pulled: pulled}, out); diff != "" || err != nil {
			t.Fatalf("%v %s", err, diff)
		}
	}
	if diff := cmp.Diff([]string{apiserver}, runtime.asked); diff != "" {
		t.Errorf("requests to the registry (-want +got):\n%s", diff)
	}
}

func TestPullFails(t *testing.T) {
	tests := map[string]struct {
		kubeadm string
		spoil   func(host.Layout, *images, *verb.PullArgs)
		want    string
		reason  v1alpha1.Reason
	}{
		"not in the registry": {lists, func(_ host.Layout, s *images, _ *verb.PullArgs) { s.broken["mirror.example/k8s/etcd:3.6.5-0"] = true },
			"pulling mirror.example/k8s/etcd:3.6.5-0: not found in the registry", v1alpha1.ReasonPullFailed},
		"kubeadm refuses": {"echo 'error: no such field' >&2; exit 1", nil, "no such field", v1alpha1.ReasonPullFailed},
		"no image":        {"exit 0", nil, "printed no image", v1alpha1.ReasonPullFailed},
		"an image of another registry": {"echo mirror.example/k8s/etcd:1; echo evil.example/k8s/pause:1", nil,
			`printed "evil.example/k8s/pause:1", which is not in mirror.example/k8s (`, v1alpha1.ReasonPullFailed},
		"a registry that begins alike": {"echo mirror.example/k8s-evil/etcd:1", nil, "which is not in mirror.example/k8s", v1alpha1.ReasonPullFailed},
		"many images":                  {"for i in $(seq 17); do echo mirror.example/k8s/etcd:$i; done", nil, "printed 17 images", v1alpha1.ReasonPullFailed},
		"no runtime": {lists, func(l host.Layout, _ *images, _ *verb.PullArgs) {
			write(t, l, host.KubeletFlags, `X="--container-runtime-endpoint=unix:///run/x.sock"`)
		},
			"asking the container runtime", v1alpha1.ReasonPullFailed},
		"no configuration": {lists, func(_ host.Layout, _ *images, a *verb.PullArgs) { a.ClusterConfiguration = "kind: ConfigMap" },
			"not a ClusterConfiguration", v1alpha1.ReasonPullFailed},
		"other bytes": {lists, func(_ host.Layout, _ *images, a *verb.PullArgs) { a.SHA256 = strings.Repeat("0", 64) }, "sha256", v1alpha1.ReasonHashMismatch},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newNode(t, test.kubeadm)
			runtime, args := serve(t, l, defaultSocket), pullArgs()
			if test.spoil != nil {
				test.spoil(l, runtime, &args)
			}
			_, err := Pull(t.Context(), l, args, host.NewLog(&bytes.Buffer{}))
			if !runtime.broken["mirror.example/k8s/etcd:3.6.5-0"] && len(runtime.asked) > 0 {
				t.Errorf("%v were pulled", runtime.asked)
			}
			if err == nil || host.ReasonOf(err, "") != test.reason || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v", host.ReasonOf(err, ""), err)
			}
		})
	}
}

// TestImagesOfRepositories checks that images may come from each repository that the cluster's
// configuration names, and from kubeadm's own if it names none.
func TestImagesOfRepositories(t *testing.T) {
	const own = "imageRepository: a.example\ndns: {imageRepository: b.example/dns}\netcd: {local: {imageRepository: c.example}}"
	for _, test := range []struct {
		config, image string
		want          bool
	}{
		{own, "a.example/kube-proxy:v1.34.4", true},
		{own, "b.example/dns/coredns:v1.12.1", true},
		{own, "c.example/etcd:3.6.5-0", true},
		{own, "registry.k8s.io/pause:3.10", false},
		{"kind: ClusterConfiguration", "registry.k8s.io/coredns/coredns:v1.12.1", true},
		{"kind: ClusterConfiguration", "a.example/pause:3.10", false},
	} {
		if _, err := checkImages(test.image, test.config); (err == nil) != test.want {
			t.Errorf("%s with %q: %v", test.image, test.config, err)
		}
	}
}

func TestRuntimeSocket(t *testing.T) {
	tests := map[string]struct {
		flags, config, instance, want string
		wrong                         bool
	}{
		"nothing said":    {"", "kind: KubeletConfiguration", "", defaultSocket, false},
		"a flag":          {`KUBELET_KUBEADM_ARGS="--v=2 --container-runtime-endpoint=unix:///run/crio/crio.sock --x"`, "", "", "/run/crio/crio.sock", false},
		"a flag, as path": {"KUBELET_KUBEADM_ARGS=--container-runtime-endpoint=/run/crio.sock", "", "", "/run/crio.sock", false},
		"configuration":   {"", "containerRuntimeEndpoint: unix:///run/a.sock", "", "/run/a.sock", false},
		"the node's own":  {"", "containerRuntimeEndpoint: unix:///run/a.sock", "containerRuntimeEndpoint: unix:///run/b.sock", "/run/b.sock", false},
		"elsewhere":       {"", "containerRuntimeEndpoint: tcp://1.2.3.4:5", "", "", true},
		"not a file":      {"", "\t", "", "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := host.Layout{Dir: t.TempDir()}
			for path, text := range map[string]string{host.KubeletFlags: test.flags, host.KubeletConfig: test.config, instanceConfig: test.instance} {
				if text != "" {
					write(t, l, path, text)
				}
			}
			got, err := RuntimeSocket(l)
			if got != test.want || (err != nil) != test.wrong {
				t.Errorf("%q %v", got, err)
			}
		})
	}
}
