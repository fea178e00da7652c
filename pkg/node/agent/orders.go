package agent

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// livePolicy reads the UpgradePolicy live; nil if there is none. What it says limits what the
// coordinator can order, so it is not read from what the coordinator wrote.
func (c *Config) livePolicy(ctx context.Context) (*v1alpha1.UpgradePolicy, error) {
	policy, err := c.Upgrades.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the UpgradePolicy: %w", err)
	}
	return policy, nil
}

// upgradeOf reads the upgrade that a NodeUpgrade.spec refers to; nil if it no longer
// exists. An upgrade that was created again under the same name is another one.
func (c *Config) upgradeOf(ctx context.Context, ref *v1alpha1.UpgradeReference) (*v1alpha1.ClusterUpgrade, error) {
	if ref == nil {
		return nil, nil
	}
	upgrade, err := c.Upgrades.ClusterUpgrades.Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case err == nil && string(upgrade.UID) == ref.UID:
		return upgrade, nil
	case err != nil && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("reading upgrade %q: %w", ref.Name, err)
	}
	return c.followedUpgrade(ctx, ref)
}

// followedUpgrade returns an upgrade that succeeded and was deleted, but to whose version
// late nodes are still brought; or nil. Only windows apply to it.
func (c *Config) followedUpgrade(ctx context.Context, ref *v1alpha1.UpgradeReference) (*v1alpha1.ClusterUpgrade, error) {
	policy, err := c.livePolicy(ctx)
	if err != nil {
		return nil, err
	}
	if followed := rules.FollowedUpgrade(policy); followed != nil && string(followed.UID) == ref.UID {
		return followed, nil
	}
	return nil, nil
}

// specHold holds a node whose NodeUpgrade.spec has another version, type, boot, address or
// digest than its upgrade fixed at the trigger.
func specHold(node string, spec v1alpha1.NodeUpgradeSpec, upgrade *v1alpha1.ClusterUpgrade) clusterstate.Hold {
	if upgrade == nil {
		return upgradeGone
	}
	differs := func(what, found, fixed string) clusterstate.Hold {
		return clusterstate.Hold{Reason: v1alpha1.ReasonOrderMismatch, Message: fmt.Sprintf(
			"the NodeUpgrade has %s %q, but ClusterUpgrade %s fixed %q at its trigger: waits until they match", what, found, upgrade.Name, fixed)}
	}
	if spec.Version != upgrade.Spec.Version {
		return differs("version", spec.Version, upgrade.Spec.Version)
	}
	asked := upgrade.Spec.Type // a patch of the whole upgrade may be a minor for the node
	if (!spec.Type.HasVersion() || !asked.HasVersion() || spec.Type == v1alpha1.TypeRollback) && spec.Type != asked {
		return differs("type", string(spec.Type), string(upgrade.Status.Type))
	}
	if boot := upgrade.Status.BootOf(node); spec.FromBootID != boot {
		return differs("boot", spec.FromBootID, boot)
	}
	if spec.Image == nil {
		return clusterstate.Hold{} // nothing can be staged by it
	}
	fixed := fixedImage(upgrade, spec.Image.Architecture)
	switch {
	case spec.Image.Digest != fixed.Digest:
		return differs("digest", string(spec.Image.Digest), string(fixed.Digest))
	case spec.Image.URL != fixed.URL:
		return differs("address", spec.Image.URL, fixed.URL)
	}
	return clusterstate.Hold{}
}

// fixedImage returns the image that the upgrade fixed for an architecture; an empty
// one where it fixed none.
func fixedImage(upgrade *v1alpha1.ClusterUpgrade, architecture v1alpha1.Architecture) v1alpha1.Image {
	for _, image := range upgrade.Status.Images {
		if image.Architecture == architecture {
			return image
		}
	}
	return v1alpha1.Image{}
}

var (
	upgradeGone = clusterstate.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: "the node's ClusterUpgrade no longer exists"}
	abandoned   = clusterstate.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: "a person has abandoned this node"}
)

// liveOrder reads this node's NodeUpgrade live.
func (c *Config) liveOrder(ctx context.Context) (*v1alpha1.NodeUpgrade, error) {
	order, err := c.Upgrades.NodeUpgrades.Get(ctx, c.Node, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading this node's NodeUpgrade: %w", err)
	}
	return order, nil
}

// orderNow returns this node's NodeUpgrade. If this round's status has just been written, the API server's answer shows
// it, and nothing more is read. The wall clock says whether it was just now, as it does not stop with the machine.
func (c *Config) orderNow(ctx context.Context, r *round) (*v1alpha1.NodeUpgrade, error) {
	if age := c.Now().Round(0).Sub(r.Now.Round(0)); r.answer != nil && age >= 0 && age < answerCounts {
		return r.answer, nil
	}
	return c.liveOrder(ctx)
}

// stillReleased holds the node if its release changed since seen, or a person has abandoned it.
func stillReleased(seen v1alpha1.NodeUpgradeSpec, now *v1alpha1.NodeUpgrade) clusterstate.Hold {
	switch {
	case now.Abandoned != nil:
		return abandoned
	case !equality.Semantic.DeepEqual(now.Spec.Upgrade, seen.Upgrade) || now.Spec.Release != seen.Release:
		message := fmt.Sprintf("the release was changed to %q for upgrade %q", now.Spec.Release, ptr.Deref(now.Spec.Upgrade, v1alpha1.UpgradeReference{}).Name)
		return clusterstate.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: message}
	case now.Spec.Slot != seen.Slot:
		return clusterstate.Hold{Reason: v1alpha1.ReasonNoSlot, Message: fmt.Sprintf("the order names slot %q instead of %q now", now.Spec.Slot, seen.Slot)}
	}
	return clusterstate.Hold{}
}
