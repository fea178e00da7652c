package request

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// SupposeManaged returns the snapshot with the mode Manage, and whether the mode is another
// one: the plan then shows what would happen.
func SupposeManaged(s fleet.Snapshot) (supposed fleet.Snapshot, observed bool) {
	if !s.Policy.Observes() {
		return s, false
	}
	policy := &v1alpha1.UpgradePolicy{}
	if s.Policy != nil {
		policy = s.Policy.DeepCopy()
	}
	policy.Name, policy.Spec.Mode = v1alpha1.PolicyName, v1alpha1.ModeManage
	s.Policy = policy
	return s, true
}
