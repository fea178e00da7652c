package agent

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// etcd keeps a control-plane node in service whose member etcd needs now: one
// may have broken since the node was let go, with no coordinator to call it back.
func (a *Agent) etcd(ctx context.Context, o machine.Observation) (plan.Hold, error) {
	if !o.Host.ControlPlane {
		return plan.Hold{}, nil
	}
	pods, err := a.Account.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "component=etcd"})
	if err != nil {
		return plan.Hold{}, fmt.Errorf("listing the members of etcd: %w", err)
	}
	var members []plan.StaticPod
	for i := range pods.Items {
		members = append(members, plan.StaticPod{Node: pods.Items[i].Spec.NodeName, Ready: ready(&pods.Items[i])})
	}
	return plan.EtcdGate(members, len(members), a.Node), nil
}
