package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// automatic returns the upgrade that the policy's `automatic` asks for now, or nil. A
// patch goes before a Reboot, because its reboot also serves the operating system: it
// is created even while a Reboot is queued. While an upgrade to a version is queued, an
// automatic one is created only if the queued one can neither begin nor continue for
// now. The same holds for the upgrade of late control planes, for which `automatic` need
// not ask.
func (c *cluster) automatic(q queue, wake *wakeTime) *v1alpha1.ClusterUpgrade {
	idle := len(q.targets) == 0
	if idle || q.targets[0].reboot || q.noneCanProceed {
		if patch := c.automaticPatch(wake); patch != nil {
			return patch
		}
		if own := c.upgradeOfControlPlanes(q); own != nil {
			return own
		}
	}
	reboot := func(t *target) bool { return t.reboot }
	if idle || q.noneCanProceed && !slices.ContainsFunc(q.targets, reboot) {
		return c.automaticReboot(wake)
	}
	return nil
}

// newAutomatic returns an upgrade for the coordinator to create.
func newAutomatic(name string, kind v1alpha1.UpgradeType) *v1alpha1.ClusterUpgrade {
	return &v1alpha1.ClusterUpgrade{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterUpgrade"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{v1alpha1.CreatedByAnnotation: v1alpha1.CreatedByCoordinator},
		},
		Spec: v1alpha1.ClusterUpgradeSpec{Type: kind},
	}
}

// automaticSpec returns the policy's entry for automatic upgrades of that type, or nil.
func (r *reading) automaticSpec(kind v1alpha1.UpgradeType) *v1alpha1.AutomaticUpgrade {
	for _, automatic := range r.policySpec().Automatic {
		if automatic.Type == kind && !r.policyHold.Holds() {
			return &automatic
		}
	}
	return nil
}
