package plan

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// policySpec returns what the policy asks for; nothing where there is none.
func (d *decider) policySpec() v1alpha1.UpgradePolicySpec {
	if d.Policy == nil {
		return v1alpha1.UpgradePolicySpec{}
	}
	return d.Policy.Spec
}

// managed returns the selector of the nodes that the policy lets us manage. One
// that cannot be read matches every node, and nothing begins.
func (d *decider) managed() labels.Selector {
	selector := d.policySpec().NodeSelector
	if selector == nil {
		return labels.Everything()
	}
	readable, err := selector.AsSelector()
	if err != nil {
		d.policyHold = fleet.Hold{Reason: v1alpha1.ReasonPolicyInvalid, Message: "UpgradePolicy cluster: nodeSelector: " + err.Error()}
		return labels.Everything()
	}
	return readable
}

// selectFor marks the nodes that the upgrade's nodeSelector matches.
func (d *decider) selectFor(u *v1alpha1.ClusterUpgrade) error {
	selector := labels.Everything()
	if u.Spec.NodeSelector != nil {
		var err error
		if selector, err = u.Spec.NodeSelector.AsSelector(); err != nil {
			return err
		}
	}
	for _, n := range d.nodes {
		n.selected = selector.Matches(labels.Set(n.Labels))
	}
	return nil
}

// resolve returns how nodes are taken for the upgrade; for none, as the policy
// says. A policy's method Restart is for patches: other upgrades reboot.
func (d *decider) resolve(u *v1alpha1.ClusterUpgrade) v1alpha1.Strategy {
	if u == nil {
		u = &v1alpha1.ClusterUpgrade{}
	}
	strategy := u.Resolve(d.policySpec().Strategy)
	if strategy.Method == v1alpha1.MethodRestart && TypeOf(u) != v1alpha1.TypePatch {
		strategy.Method = v1alpha1.MethodReboot
	}
	return strategy
}

// followed returns the upgrade that nodes which join late or come back follow:
// the one that brought the policy's version. Nil: none did.
func followed(policy *v1alpha1.UpgradePolicy, upgrades []v1alpha1.ClusterUpgrade) *v1alpha1.ClusterUpgrade {
	u := FollowedUpgrade(policy)
	if u == nil {
		return nil
	}
	for i := range upgrades {
		if upgrades[i].UID == u.UID {
			found := upgrades[i].DeepCopy()
			found.Spec.Version, found.Status.Images = u.Spec.Version, u.Status.Images
			return found
		}
	}
	return u
}

// FollowedUpgrade returns what the policy's status tells of the upgrade that nodes
// which join late or come back follow, for when its ClusterUpgrade is gone. Nil:
// there is none.
func FollowedUpgrade(policy *v1alpha1.UpgradePolicy) *v1alpha1.ClusterUpgrade {
	if policy == nil || policy.Status.Version == "" || policy.Status.Upgrade == nil {
		return nil
	}
	status := policy.Status
	return &v1alpha1.ClusterUpgrade{
		ObjectMeta: metav1.ObjectMeta{Name: status.Upgrade.Name, UID: types.UID(status.Upgrade.UID)},
		Spec:       v1alpha1.ClusterUpgradeSpec{Version: status.Version},
		Status: v1alpha1.ClusterUpgradeStatus{
			Type: v1alpha1.TypePatch, Images: status.Images, Outcome: v1alpha1.OutcomeSucceeded,
		},
	}
}
