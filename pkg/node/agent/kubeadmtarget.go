package agent

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// checkKubeadmTarget returns an error unless `kubeadm upgrade node` would bring the node to the version of its order. It
// takes its target from the ConfigMap kubeadm-config, where `kubeadm upgrade apply` has written it (kubeadm 1.34,
// cmd/upgrade/node.go), and where a GitOps tool may have put the former one back.
func (h *hostSense) checkKubeadmTarget(ctx context.Context, entry verb.Entry, in verb.Input) error {
	if entry.Verb != verb.Kubeadm || in.Spec.Kubeadm != v1alpha1.KubeadmNode {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	config, err := h.kubeadmConfig(ctx)
	if err != nil {
		return host.Fail(v1alpha1.ReasonRulesUnknown, "reading to which version kubeadm upgrade node would bring the node: %w", err)
	}
	var cluster struct {
		KubernetesVersion string `json:"kubernetesVersion"`
	}
	if err := yaml.Unmarshal([]byte(config.Data[clusterstate.KubeadmConfigMapKey]), &cluster); err != nil {
		return host.Fail(v1alpha1.ReasonKubeadmConfigDiffers, "decoding the %s in the ConfigMap kube-system/kubeadm-config: %w", clusterstate.KubeadmConfigMapKey, err)
	}
	if cluster.KubernetesVersion == "" || cluster.KubernetesVersion == in.Spec.Version {
		return nil
	}
	return host.Fail(v1alpha1.ReasonKubeadmConfigDiffers,
		"the ConfigMap kube-system/kubeadm-config says kubernetesVersion: %s%s, and kubeadm upgrade node would bring the node to that: let it say %s",
		cluster.KubernetesVersion, lastWriter(config), in.Spec.Version)
}

// lastWriter returns who wrote the ClusterConfiguration last, in parentheses; empty: the API server does not say.
func lastWriter(config *corev1.ConfigMap) string {
	var last *metav1.ManagedFieldsEntry
	for i := range config.ManagedFields {
		entry := &config.ManagedFields[i]
		wrote := entry.Time != nil && entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:`+clusterstate.KubeadmConfigMapKey+`"`))
		if wrote && (last == nil || last.Time.Before(entry.Time)) {
			last = entry
		}
	}
	if last == nil {
		return ""
	}
	return fmt.Sprintf(" (written by %s at %s)", last.Manager, last.Time.UTC().Format("2006-01-02 15:04:05 MST"))
}
