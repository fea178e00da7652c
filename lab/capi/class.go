package capi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
)

// classObjects returns a ClusterClass with what the objects of a cluster have, and the Cluster that it
// makes: the same one.
func classObjects(shape Shape, objects string) (string, error) {
	text, err := templates(objects)
	if err != nil {
		return "", err
	}
	planes, err := versionPatch("controlPlane", shape.ImageServer)
	if err != nil {
		return "", err
	}
	workers, err := versionPatch("machineDeployment", shape.ImageServer)
	if err != nil {
		return "", err
	}
	class, err := render("class.yaml", map[string]any{
		"Cluster": ClusterName, "ControlPlane": ControlPlane, "Workers": Workers, "Namespace": Namespace,
		"ControlPlanes": shape.ControlPlanes, "WorkerCount": shape.Workers, "Version": shape.Version,
		"Pods": network.Pods, "ControlPlaneConfig": planes, "WorkerConfig": workers,
	})
	return text + class, err
}

// templates returns the objects of a cluster that a ClusterClass refers to, each as the template of its
// kind.
func templates(objects string) (string, error) {
	var text strings.Builder
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(objects), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return text.String(), nil
		} else if err != nil {
			return "", fmt.Errorf("reading the objects of the cluster: %w", err)
		}
		spec, _, err := unstructured.NestedMap(object.Object, "spec")
		if err != nil {
			return "", err
		}
		switch object.GetKind() {
		case "Cluster", "MachineDeployment":
			continue
		case "LabCluster", "KubeadmControlPlane":
			for _, field := range []string{"replicas", "version", "machineTemplate"} {
				delete(spec, field) // the class and the Cluster have them
			}
			object.SetKind(object.GetKind() + "Template")
			object.Object["spec"] = map[string]any{"template": map[string]any{"spec": spec}}
		}
		data, err := json.Marshal(object)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s\n---\n", data)
	}
}

// versionPatch returns the template of a ClusterClass's patch: additionalConfig for the version that
// Cluster API knows for this part of a cluster.
func versionPatch(part, imageServer string) (string, error) {
	version := ".builtin." + part + ".version"
	config, err := additionalConfig("{{ "+version+" }}", `{{ regexFind "^v[0-9]+[.][0-9]+" `+version+" }}", imageServer)
	if err != nil {
		return "", err
	}
	var block bytes.Buffer
	block.WriteString("|\n") // Cluster API reads what the template yields as YAML
	for line := range strings.Lines(config) {
		block.WriteString("  " + line)
	}
	return block.String(), nil
}
