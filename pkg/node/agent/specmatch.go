package agent

import (
	"context"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// checkSpec returns an error unless the NodeUpgrade's spec matches what its upgrade fixed
// at the trigger: the spec chooses what runs as root on the node. It reads the upgrade
// live. An image that is active already was checked before its activation.
func (a *Agent) checkSpec(ctx context.Context, entry verb.Entry, in verb.Input) error {
	alreadyActive := entry.Verb == verb.Activate && in.Active == in.Spec.Version
	if !entry.ChecksSpec || alreadyActive {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, gateTimeout)
	defer cancel()
	upgrade, err := a.upgradeOf(ctx, in.Spec.Upgrade)
	if err != nil {
		return host.Fail(v1alpha1.ReasonGateUnknown, "comparing the NodeUpgrade with what its upgrade fixed: %w", err)
	}
	if hold := specHold(in.Spec, upgrade); hold.Holds() {
		return host.Fail(hold.Reason, "%s", hold.Message)
	}
	return nil
}

// specHold holds a node whose NodeUpgrade.spec has another version, type, address or
// digest than its upgrade fixed at the trigger.
func specHold(spec v1alpha1.NodeUpgradeSpec, upgrade *v1alpha1.ClusterUpgrade) fleet.Hold {
	if upgrade == nil {
		return fleet.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: "the node's ClusterUpgrade no longer exists"}
	}
	differs := func(what, found, fixed string) fleet.Hold {
		return fleet.Hold{Reason: v1alpha1.ReasonOrderMismatch, Message: fmt.Sprintf(
			"the NodeUpgrade has %s %q, but ClusterUpgrade %s fixed %q at its trigger: waits until they match", what, found, upgrade.Name, fixed)}
	}
	if spec.Version != upgrade.Spec.Version {
		return differs("version", spec.Version, upgrade.Spec.Version)
	}
	if reboots := upgrade.Spec.Version == ""; reboots != (spec.Type == v1alpha1.TypeReboot) {
		return differs("type", string(spec.Type), string(upgrade.Status.Type))
	}
	if spec.Image == nil {
		return fleet.Hold{} // nothing can be staged by it
	}
	fixed := fixedImage(upgrade, spec.Image.Architecture)
	switch {
	case spec.Image.Digest != fixed.Digest:
		return differs("digest", spec.Image.Digest, fixed.Digest)
	case spec.Image.URL != fixed.URL:
		return differs("address", spec.Image.URL, fixed.URL)
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
