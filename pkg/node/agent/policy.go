package agent

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// policy reads the UpgradePolicy live; nil if there is none. What it says limits what the
// coordinator can order, so it is not read from what the coordinator wrote.
func (a *Agent) policy(ctx context.Context) (*v1alpha1.UpgradePolicy, error) {
	policy, err := a.Upgrades.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the UpgradePolicy: %w", err)
	}
	return policy, nil
}

// checkPolicy returns the UpgradePolicy, read live, so that a key that was removed from it is no
// longer trusted; nil for a verb that does not ask for it. It returns an error if the policy does not
// allow the verb now.
func (a *Agent) checkPolicy(ctx context.Context, entry verb.Entry) (*v1alpha1.UpgradePolicy, error) {
	if entry.Policy == verb.PolicyNotAsked {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, gateTimeout)
	defer cancel()
	policy, err := a.policy(ctx)
	if err != nil {
		return nil, host.Fail(v1alpha1.ReasonGateUnknown, "%w", err)
	}
	hold := rules.Policy(policy)
	if hold.Holds() && (hold.Reason != v1alpha1.ReasonObserved || entry.Policy != verb.PolicyExists) {
		return nil, host.Fail(hold.Reason, "%s", hold.Message)
	}
	return policy, nil
}

// keyringHold holds a node whose image was staged before the UpgradePolicy had its present
// keyring, and lets it be staged again: the verb asks whether a key of that keyring signed it.
// A node without a slot is then no longer staged, and need not be held.
func (a *Agent) keyringHold(keyring string, o machine.Observation) (fleet.Hold, error) {
	if keyring == "" || o.Spec.Type == v1alpha1.TypeReboot {
		return fleet.Hold{}, nil
	}
	request, err := a.Host.LastRequest(verb.Stage)
	if err != nil {
		return fleet.Hold{}, err
	}
	var staged verb.StageArgs
	if request != nil {
		if err := json.Unmarshal(request.Args, &staged); err != nil {
			return fleet.Hold{}, fmt.Errorf("decoding how the image was staged: %w", err)
		}
	}
	if staged.Keyring == keyring || !machine.Staged(o) && o.Slot.Held == "" {
		return fleet.Hold{}, nil
	}
	a.stageAgain = true
	return fleet.Hold{Reason: v1alpha1.ReasonStaging, Message: "the image was staged before the UpgradePolicy had its keyring: its signature is checked now"}, nil
}

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
	reboots, back := upgrade.Spec.Version == "", upgrade.Spec.Type == v1alpha1.TypeRollback
	if reboots != (spec.Type == v1alpha1.TypeReboot) || spec.Type == v1alpha1.TypeRollback && !back {
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
