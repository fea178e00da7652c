package agent

import (
	"context"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/hostverb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// checkOrder returns an error unless a verb's order matches what its upgrade fixed at the
// trigger: the order chooses what runs as root on the node. It reads the upgrade live. An
// image that is active already was checked before its activation.
func (a *Agent) checkOrder(ctx context.Context, entry hostverb.Entry, order hostverb.Order) error {
	flipped := entry.Verb == verb.Activate && order.Active == order.Spec.Version
	if !entry.ChecksOrder || flipped {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, gateWithin)
	defer cancel()
	upgrade, err := a.upgradeOf(ctx, order.Spec.Upgrade)
	if err != nil {
		return host.Fail(v1alpha1.ReasonGateUnknown, "comparing the order with what its upgrade fixed: %w", err)
	}
	if hold := orderHold(order.Spec, upgrade); hold.Holds() {
		return host.Fail(hold.Reason, "%s", hold.Message)
	}
	return nil
}

// orderHold holds an order whose version, type, address or digest differs from what its
// upgrade fixed at the trigger.
func orderHold(order v1alpha1.NodeUpgradeSpec, upgrade *v1alpha1.ClusterUpgrade) fleet.Hold {
	if upgrade == nil {
		return fleet.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: "the node's ClusterUpgrade no longer exists"}
	}
	differs := func(what, ordered, fixed string) fleet.Hold {
		return fleet.Hold{Reason: v1alpha1.ReasonOrderMismatch, Message: fmt.Sprintf(
			"the NodeUpgrade has %s %q, but ClusterUpgrade %s fixed %q at its trigger: waits until they match", what, ordered, upgrade.Name, fixed)}
	}
	if order.Version != upgrade.Spec.Version {
		return differs("version", order.Version, upgrade.Spec.Version)
	}
	if reboots := upgrade.Spec.Version == ""; reboots != (order.Type == v1alpha1.TypeReboot) {
		return differs("type", string(order.Type), string(upgrade.Status.Type))
	}
	if order.Image == nil {
		return fleet.Hold{} // nothing can be staged by it
	}
	fixed := fixedImage(upgrade, order.Image.Architecture)
	switch {
	case order.Image.Digest != fixed.Digest:
		return differs("digest", order.Image.Digest, fixed.Digest)
	case order.Image.URL != fixed.URL:
		return differs("address", order.Image.URL, fixed.URL)
	}
	return fleet.Hold{}
}

// fixedImage returns the image that the upgrade fixed for an architecture; an empty
// one where it fixed none.
func fixedImage(upgrade *v1alpha1.ClusterUpgrade, architecture string) v1alpha1.Image {
	for _, image := range upgrade.Status.Images {
		if image.Architecture == architecture {
			return image
		}
	}
	return v1alpha1.Image{}
}
