package capi

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"text/template"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/node"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
)

// Shape is the cluster that the objects describe.
type Shape struct {
	ControlPlanes, Workers int
	Version                string // with v
	// ImageServer is a URL without a slash at the end.
	ImageServer string
	// IgnoredPreflightErrors are those of kubeadm that a container causes.
	IgnoredPreflightErrors []string
	// ClusterClass has a ClusterClass make the cluster.
	ClusterClass bool
}

//go:embed objects/cluster.yaml objects/class.yaml objects/additional.yaml
var objectFiles embed.FS

var objectTemplates = template.Must(template.New("").Funcs(template.FuncMap{"json": asJSON}).ParseFS(objectFiles, "objects/*.yaml"))

func asJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

// forContainers is the file of what a kubelet and kube-proxy need in a container.
const forContainers = "/etc/kubernetes/for-containers.yaml"

// registration is kubeadm's nodeRegistration. @NODE@ is replaced on the node.
type registration struct {
	CRISocket             string     `json:"criSocket"`
	IgnorePreflightErrors []string   `json:"ignorePreflightErrors"`
	KubeletExtraArgs      []argument `json:"kubeletExtraArgs"`
}

type argument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Objects returns the objects of the cluster, as YAML.
func Objects(shape Shape) (string, error) {
	additional, err := AdditionalConfig(shape.Version, shape.ImageServer)
	if err != nil {
		return "", err
	}
	objects, err := render("cluster.yaml", map[string]any{
		"Cluster": ClusterName, "ControlPlane": ControlPlane, "Workers": Workers, "Namespace": Namespace,
		"ControlPlanes": shape.ControlPlanes, "WorkerCount": shape.Workers, "Version": shape.Version,
		"Pods": network.Pods, "Host": network.Host, "Port": 6443,
		"FlexVolumes": node.FlexVolumes + "/", "ForContainers": forContainers,
		"AdditionalConfig": additional,
		"Name":             `sed -i "s/@NODE@/$(uname -n)/" /etc/kubeadm.yml`,
		"Registration": registration{
			CRISocket:             "unix:///run/containerd/containerd.sock",
			IgnorePreflightErrors: shape.IgnoredPreflightErrors,
			KubeletExtraArgs:      []argument{{Name: "provider-id", Value: scheme + "@NODE@"}},
		},
	})
	if err != nil || !shape.ClusterClass {
		return objects, err
	}
	return classObjects(shape, objects)
}

// AdditionalConfig returns what brings Kubernetes to a machine: the snippet of docs/images.md for
// CAPZ, which the bootstrap provider merges into its own configuration.
func AdditionalConfig(version, imageServer string) (string, error) {
	return additionalConfig(version, version[:strings.LastIndex(version, ".")], imageServer)
}

func additionalConfig(version, minor, imageServer string) (string, error) {
	return render("additional.yaml", map[string]any{
		"Version": version, "Minor": minor, "ImageServer": imageServer, "Arch": image.SystemdArchitecture(runtime.GOARCH),
	})
}

func render(name string, values map[string]any) (string, error) {
	var text bytes.Buffer
	if err := objectTemplates.ExecuteTemplate(&text, name, values); err != nil {
		return "", fmt.Errorf("writing the objects of the cluster: %w", err)
	}
	return text.String(), nil
}
