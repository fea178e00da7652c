package agent

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/etcd"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kubeadm"
)

// pull has the control plane's container images pulled. Why that cannot even be
// asked for is told in the status.
func (a *Agent) pull(ctx context.Context, key string, spec v1alpha1.NodeUpgradeSpec) error {
	config, err := a.clusterConfiguration(ctx)
	if err != nil {
		a.notPulled = err.Error()
		return err
	}
	a.notPulled = ""
	args := kubeadm.PullArgs{Version: spec.Version, SHA256: spec.Image.SHA256, ClusterConfiguration: config}
	return a.start(ctx, host.VerbPull, key, args, kubeadm.Options(spec.Version, spec.Image.Architecture))
}

// clusterConfiguration is what kubeadm keeps in the cluster. Every kubelet may
// read it: kubeadm's Role kubeadm:nodes-kubeadm-config lets the group
// system:nodes (kubeadm 1.34, phases/uploadconfig).
func (a *Agent) clusterConfiguration(ctx context.Context) (string, error) {
	config, err := a.Kubelet.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "kubeadm-config", metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading which container images the cluster uses, in the ConfigMap kube-system/kubeadm-config, as this node's kubelet: %w", err)
	}
	return config.Data["ClusterConfiguration"], nil
}

// snapshotOf is what the verb "snapshot" has taken, as the status tells it.
func (a *Agent) snapshotOf(last *host.Result) (*v1alpha1.EtcdSnapshot, error) {
	var out etcd.SnapshotOutput
	if err := last.Decode(&out); err != nil {
		return nil, err
	}
	return &v1alpha1.EtcdSnapshot{
		Upgrade: a.state.Upgrade, Node: a.Node, Path: out.Path, SHA256: out.SHA256, TakenAt: *timeOf(out.TakenAt),
	}, nil
}
