package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// policySpec returns the policy's spec; the zero value if there is no policy.
func (r *reading) policySpec() v1alpha1.UpgradePolicySpec {
	if r.Policy == nil {
		return v1alpha1.UpgradePolicySpec{}
	}
	return r.Policy.Spec
}

// observed is the hold of every node while the policy's mode is Observe.
var observed = fleet.Hold{
	Reason:  v1alpha1.ReasonObserved,
	Message: "the cluster is only observed: nothing on any node is changed until spec.mode of UpgradePolicy cluster is Manage",
}

// missing is the hold of every node while there is no policy. A policy that is deleted
// was not replaced by one that says Observe: nodes that are managed stay managed.
var missing = fleet.Hold{
	Reason:  v1alpha1.ReasonPolicyMissing,
	Message: "there is no UpgradePolicy cluster: nothing begins on any node, and no node is given back, until an administrator creates it",
}

// PolicyGate returns why the policy, nil if there is none, allows no change of any node.
func PolicyGate(policy *v1alpha1.UpgradePolicy) fleet.Hold {
	switch {
	case policy == nil:
		return missing
	case policy.Observes():
		return observed
	}
	return fleet.Hold{}
}

// untouched reports whether the policy allows no change of any node.
func (r *reading) untouched() bool {
	return r.policyHold.Reason == v1alpha1.ReasonObserved || r.policyHold.Reason == v1alpha1.ReasonPolicyMissing
}

// managed returns the policy's nodeSelector. An invalid one matches every node, and
// policyHold keeps all of them from beginning.
func (r *reading) managed() labels.Selector {
	r.policyHold = PolicyGate(r.Policy)
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

// followed returns the upgrade to whose version nodes that join late or return are
// brought: the one that set the policy's version. Nil: there is none.
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

// FollowedUpgrade returns the upgrade to whose version late and returning nodes are
// brought, as the policy's status describes it, for when its ClusterUpgrade is deleted.
// Nil: there is none.
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
