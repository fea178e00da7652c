package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// Rendering is what kubeadm writes the static pods of a control plane from.
type Rendering struct {
	// Version is the one that the pods are for, such as v1.35.4.
	Version string
	// ClusterConfiguration is the one in the ConfigMap kubeadm-config.
	ClusterConfiguration string
	// NodeName, Address and Port are those of the node's kube-apiserver.
	NodeName, Address string
	Port              int32
	// Patches are the files of kubeadm's patches; only the last part of their paths counts.
	Patches []host.File
}

// renderDir and patchesDir are folders of the confined unit.
const (
	renderDir  = "/rendered"
	patchesDir = "/patches"
)

// notRendered are the phases of kubeadm init (1.31 to 1.37) beside those that write static pods and, in a dry run, print
// them. The phase kubelet-start is not among them, as its files are printed as well and would be missed.
const notRendered = "preflight,certs,kubeconfig,upload-config,upload-certs,mark-control-plane,bootstrap-token,kubelet-finalize,addon,show-join-command"

// authorities are folders with certificates of public authorities, of which kubeadm gives those that are there to the static
// pods (cmd/kubeadm/app/phases/controlplane/volumes.go, v1.34.4).
var authorities = []string{"/etc/ca-certificates", "/etc/pki/ca-trust", "/etc/pki/tls/certs"}

// Render lets the kubeadm of an image write the static pods of a control plane, confined and without network, and returns
// them by their names. image is an open file of the node's images. An error of kubeadm is a host.ProgramFailure.
func Render(ctx context.Context, image *os.File, r Rendering, log *host.Log) (map[string]*corev1.Pod, error) {
	own := map[string]any{
		"kind":             "InitConfiguration",
		"localAPIEndpoint": map[string]any{"advertiseAddress": r.Address, "bindPort": r.Port},
		"nodeRegistration": map[string]any{"name": r.NodeName},
	}
	files := make([]host.File, 0, len(r.Patches))
	for _, patch := range r.Patches {
		own["patches"] = map[string]any{"directory": patchesDir}
		files = append(files, host.File{Path: filepath.Join(patchesDir, filepath.Base(patch.Path)), Content: patch.Content})
	}
	pods, err := render(ctx, image, r, own, files, keepGates, log)
	var failed *host.ProgramFailure
	if errors.As(err, &failed) && failed.Exited { // `kubeadm upgrade` passes over a gate that it does not know, and init does not
		if without, err := render(ctx, image, r, own, files, dropGates, log); err == nil {
			return without, nil
		}
	}
	return pods, err
}

func render(ctx context.Context, image *os.File, r Rendering, own map[string]any, files []host.File, gates gates, log *host.Log) (map[string]*corev1.Pod, error) {
	config, err := configFor(r.ClusterConfiguration, r.Version, own, gates)
	if err != nil {
		return nil, err
	}
	printed, err := runConfined(ctx, host.Confined{
		Image: image, Program: "usr/bin/kubeadm", Args: []string{"init", "--dry-run", "--config", "/dev/stdin", "--skip-phases=" + notRendered},
		Env: []string{"KUBEADM_INIT_DRYRUN_DIR=" + renderDir}, Work: renderDir, Files: files, Folders: authorities, Stdin: config, Stderr: log,
	})
	var failed *host.ProgramFailure
	if err != nil && !errors.As(err, &failed) {
		return nil, err
	}
	pods := podsIn(printed)
	if pods["kube-apiserver"] == nil { // once it has printed them, it fails as there is no cluster
		if err == nil {
			err = host.NewProgramFailure("it printed no static pods")
		}
		return nil, fmt.Errorf("kubeadm init --dry-run: %w", err)
	}
	return pods, nil
}

// written begins the line before a file that kubeadm would write.
const written = "[dryrun] Would write file "

// podsIn returns the static pods that kubeadm printed in a dry run.
func podsIn(printed string) map[string]*corev1.Pod {
	pods := map[string]*corev1.Pod{}
	for _, part := range strings.Split("\n"+printed, "\n"+written)[1:] {
		name, text, _ := strings.Cut(part, "\n")
		if !strings.Contains(name, "/manifests/") {
			continue
		}
		text, _, _ = strings.Cut(text, "\n[")
		var pod corev1.Pod
		if yaml.Unmarshal([]byte(text), &pod) == nil && pod.Kind == "Pod" && len(pod.Spec.Containers) > 0 {
			pods[pod.Name] = &pod
		}
	}
	return pods
}

// ValidateUserConfig lets the kubeadm of an image read UserConfig. It returns nil if there is none, and a
// host.ProgramFailure if kubeadm refuses it.
func ValidateUserConfig(ctx context.Context, l host.Layout, image *os.File) error {
	content, err := os.ReadFile(l.At(UserConfig))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", UserConfig, err)
	}
	_, err = runConfined(ctx, host.Confined{
		Image: image, Program: "usr/bin/kubeadm", Args: []string{"config", "validate", "--config", "/dev/stdin"}, Stdin: content,
	})
	return err
}
