package agent

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// upgradeOf reads the upgrade that an order is part of; nil if it no longer exists. An
// upgrade that was created again under the same name is another one.
func (a *Agent) upgradeOf(ctx context.Context, order *v1alpha1.UpgradeReference) (*v1alpha1.ClusterUpgrade, error) {
	if order == nil {
		return nil, nil
	}
	upgrade, err := a.Upgrades.ClusterUpgrades.Get(ctx, order.Name, metav1.GetOptions{})
	switch {
	case err == nil && string(upgrade.UID) == order.UID:
		return upgrade, nil
	case err != nil && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("reading upgrade %q: %w", order.Name, err)
	}
	return a.followedUpgrade(ctx, order)
}

// followedUpgrade returns a succeeded upgrade that was deleted but that late nodes still
// follow, or nil. Only windows apply to it.
func (a *Agent) followedUpgrade(ctx context.Context, order *v1alpha1.UpgradeReference) (*v1alpha1.ClusterUpgrade, error) {
	policy, err := a.Upgrades.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the UpgradePolicy: %w", err)
	}
	if followed := plan.FollowedUpgrade(policy); followed != nil && string(followed.UID) == order.UID {
		return followed, nil
	}
	return nil, nil
}

// onHold holds a node that a person put on hold. It reads live, as the watch may be stale.
func (a *Agent) onHold(ctx context.Context) (fleet.Hold, error) {
	node, err := a.Kubelet.CoreV1().Nodes().Get(ctx, a.Node, metav1.GetOptions{})
	if err != nil {
		return fleet.Hold{}, fmt.Errorf("reading node %s: %w", a.Node, err)
	}
	return plan.HoldLabelGate(node.Labels), nil
}
