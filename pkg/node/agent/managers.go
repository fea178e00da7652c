package agent

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rebootmanager"
)

// managers holds the node if kured or FLUO also reboots nodes, which the coordinator may
// not have noticed yet. It reads the DaemonSets, of which there are few, and this Node, but
// not all Nodes: 5,000 agents would each read 5,000 of them.
func (a *Agent) managers(ctx context.Context, node *corev1.Node, upgrade v1alpha1.ClusterUpgradeSpec) (fleet.Hold, error) {
	list, err := a.Account.DaemonSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fleet.Hold{}, fmt.Errorf("listing DaemonSets, to see whether another program reboots nodes: %w", err)
	}
	daemonSets := make([]*appsv1.DaemonSet, len(list.Items))
	for i := range list.Items {
		daemonSets[i] = &list.Items[i]
	}
	policy, err := a.policy(ctx)
	if err != nil {
		return fleet.Hold{}, err
	}
	var problem error
	active := rebootmanager.Active([]*corev1.Node{node}, daemonSets, policy.RebootManagers())
	hold := plan.ManagerGate(active, upgrade, a.onControlPlane(), func(name string) bool {
		left, err := a.leaves(ctx, name)
		problem = errors.Join(problem, err)
		return left
	})
	return hold, problem
}

// leaves reports whether the node of that name is not managed, and holds no slot. Nothing is
// known about a node without a NodeUpgrade: it may be a managed one that has just joined.
func (a *Agent) leaves(ctx context.Context, name string) (bool, error) {
	other, err := a.Upgrades.NodeUpgrades.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading NodeUpgrade %s, to see whether its node is managed: %w", name, err)
	}
	return !other.Spec.Managed && other.Status.Slot == "", nil
}
