package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// policySpec returns what the policy asks for; nothing where there is none.
func (r *reading) policySpec() v1alpha1.UpgradePolicySpec {
	if r.Policy == nil {
		return v1alpha1.UpgradePolicySpec{}
	}
	return r.Policy.Spec
}

// managed returns the selector of the nodes that the policy lets us manage. One
// that cannot be read matches every node, and nothing begins.
func (r *reading) managed() labels.Selector {
	selector, err := readSelector(r.policySpec().NodeSelector)
	if err != nil {
		r.policyHold = fleet.Hold{Reason: v1alpha1.ReasonPolicyInvalid, Message: "UpgradePolicy cluster: nodeSelector: " + err.Error()}
		return labels.Everything()
	}
	return selector
}

// readSelector returns a selector ready to be matched. Nil matches everything.
func readSelector(s *v1alpha1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return labels.Everything(), nil
	}
	return s.AsSelector()
}

// followed returns the upgrade that nodes which join late or come back follow:
// the one that brought the policy's version. Nil: none did.
func (r *reading) followed() *v1alpha1.ClusterUpgrade {
	u := FollowedUpgrade(r.Policy)
	if u == nil {
		return nil
	}
	for i := range r.Upgrades {
		if r.Upgrades[i].UID == u.UID {
			found := r.Upgrades[i].DeepCopy()
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
