// Package capi makes of an additionalConfig of docs/images.md what a new machine of Cluster API
// gets, with the code of clusterctl and of Cluster API's bootstrap provider.
package capi

import (
	"encoding/json"
	"fmt"

	"github.com/flatcar/ignition/config/v2_3/types"
	"k8s.io/utils/ptr"
	bootstrap "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/ignition/clc"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
)

// Render returns the Ignition configuration of a machine of that version of Kubernetes, or an error
// if the bootstrap provider would warn. The machine's kubeadm.service joins no cluster.
func Render(snippet, version string) ([]byte, error) {
	additional, err := yamlprocessor.NewSimpleProcessor().Process([]byte(snippet), func(name string) (string, error) {
		if name != "KUBERNETES_VERSION" {
			return "", fmt.Errorf("the variable %s is not set", name)
		}
		return version, nil
	})
	if err != nil {
		return nil, fmt.Errorf("filling in the variables as clusterctl does: %w", err)
	}
	rendered, _, err := clc.Render(
		&cloudinit.BaseUserData{KubeadmCommand: "kubeadm version"},
		&bootstrap.ContainerLinuxConfig{AdditionalConfig: string(additional), Strict: ptr.To(true)},
		"# The cluster is joined without Cluster API.")
	if err != nil {
		return nil, fmt.Errorf("rendering as Cluster API's bootstrap provider does: %w", err)
	}
	var old types.Config
	if err := json.Unmarshal(rendered, &old); err != nil {
		return nil, fmt.Errorf("reading what the bootstrap provider rendered: %w", err)
	}
	return version3(old)
}
