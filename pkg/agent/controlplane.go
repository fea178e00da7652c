package agent

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/etcd"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// clusterConfiguration returns what kubeadm keeps in the cluster. Every kubelet may
// read it: kubeadm's Role kubeadm:nodes-kubeadm-config lets the group
// system:nodes (kubeadm 1.34, phases/uploadconfig).
func (a *Agent) clusterConfiguration(ctx context.Context) (string, error) {
	config, err := a.Kubelet.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "kubeadm-config", metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading which container images the cluster uses, in the ConfigMap kube-system/kubeadm-config, as this node's kubelet: %w", err)
	}
	return config.Data["ClusterConfiguration"], nil
}

// readSnapshot reads the result of the verb snapshot, for the status.
func (a *Agent) readSnapshot(last *host.Result, o *machine.Observation) {
	var out etcd.SnapshotOutput
	if err := last.Decode(&out); err != nil {
		work := o.Work[verb.Snapshot]
		work.OK, work.Message = false, "what the snapshot left cannot be read: "+err.Error()
		o.Work[verb.Snapshot] = work
		return
	}
	o.EtcdSnapshot = &v1alpha1.EtcdSnapshot{
		Node: a.Node, Path: out.Path, Digest: v1alpha1.DigestOf(out.SHA256), CreationTime: *timeOf(out.TakenAt),
	}
}
