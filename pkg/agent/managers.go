package agent

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/snapshot"
)

// managers keeps a node in service beside kured or FLUO, for which the
// coordinator may not have looked yet, or again. It looks at the DaemonSets,
// which are a few dozen in a large cluster too, and at this Node: not at all
// Nodes, as 5,000 agents would each read 5,000 of them.
func (a *Agent) managers(ctx context.Context, node *corev1.Node, upgrade v1alpha1.ClusterUpgradeSpec) (fleet.Hold, error) {
	list, err := a.Account.AppsV1().DaemonSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fleet.Hold{}, fmt.Errorf("listing DaemonSets, to see whether another program reboots nodes: %w", err)
	}
	daemonSets := make([]*appsv1.DaemonSet, len(list.Items))
	for i := range list.Items {
		daemonSets[i] = &list.Items[i]
	}
	return plan.ManagerGate(snapshot.RebootManagers([]*corev1.Node{node}, daemonSets), upgrade), nil
}
