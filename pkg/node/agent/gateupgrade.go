package agent

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// upgradeOf reads the upgrade that a NodeUpgrade.spec refers to; nil if it no longer
// exists. An upgrade that was created again under the same name is another one.
func (a *Agent) upgradeOf(ctx context.Context, ref *v1alpha1.UpgradeReference) (*v1alpha1.ClusterUpgrade, error) {
	if ref == nil {
		return nil, nil
	}
	upgrade, err := a.Upgrades.ClusterUpgrades.Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case err == nil && string(upgrade.UID) == ref.UID:
		return upgrade, nil
	case err != nil && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("reading upgrade %q: %w", ref.Name, err)
	}
	return a.followedUpgrade(ctx, ref)
}

// followedUpgrade returns an upgrade that succeeded and was deleted, but to whose version
// late nodes are still brought; or nil. Only windows apply to it.
func (a *Agent) followedUpgrade(ctx context.Context, ref *v1alpha1.UpgradeReference) (*v1alpha1.ClusterUpgrade, error) {
	policy, err := a.policy(ctx)
	if err != nil {
		return nil, err
	}
	if followed := plan.FollowedUpgrade(policy); followed != nil && string(followed.UID) == ref.UID {
		return followed, nil
	}
	return nil, nil
}

// onHold holds a node that a person put on hold. It reads live, as the watch may be stale.
func (a *Agent) onHold(ctx context.Context) (fleet.Hold, error) {
	node, err := a.Kubelet.Nodes().Get(ctx, a.Node, metav1.GetOptions{})
	if err != nil {
		return fleet.Hold{}, fmt.Errorf("reading node %s: %w", a.Node, err)
	}
	return plan.HoldLabelGate(node.Labels), nil
}
