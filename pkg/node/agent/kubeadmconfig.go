package agent

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// clusterConfiguration returns kubeadm's ClusterConfiguration, from the ConfigMap
// kubeadm-config. Every kubelet may read it: kubeadm's Role kubeadm:nodes-kubeadm-config
// allows it to the group system:nodes (kubeadm 1.34, phases/uploadconfig).
func (a *Agent) clusterConfiguration(ctx context.Context) (string, error) {
	config, err := a.Kubelet.ConfigMaps(metav1.NamespaceSystem).Get(ctx, "kubeadm-config", metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading which container images the cluster uses, in the ConfigMap kube-system/kubeadm-config, as this node's kubelet: %w", err)
	}
	return config.Data["ClusterConfiguration"], nil
}
