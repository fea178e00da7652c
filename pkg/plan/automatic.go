package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// automatic returns the upgrade that the policy's `automatic` asks for now, or nil.
// A patch goes first, as its reboot is the one that the operating system asks for:
// so it is asked for beside a Reboot, too. Beside an upgrade that brings a version,
// either is asked for where that cannot begin, or go on, for now.
func (c *cluster) automatic(q queue, wake *alarm) *v1alpha1.ClusterUpgrade {
	idle := len(q.targets) == 0
	if idle || q.targets[0].reboot || q.passed {
		if patch := c.automaticPatch(wake); patch != nil {
			return patch
		}
	}
	reboot := func(t *target) bool { return t.reboot }
	if idle || q.passed && !slices.ContainsFunc(q.targets, reboot) {
		return c.automaticReboot(wake)
	}
	return nil
}

// byItself returns an upgrade that the coordinator creates.
func byItself(name string, kind v1alpha1.UpgradeType) *v1alpha1.ClusterUpgrade {
	return &v1alpha1.ClusterUpgrade{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterUpgrade"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{v1alpha1.CreatedByAnnotation: v1alpha1.CreatedByCoordinator},
		},
		Spec: v1alpha1.ClusterUpgradeSpec{Type: kind},
	}
}

// wants returns what the policy says of upgrades of that type that come by
// themselves; nil: they do not.
func (r *reading) wants(kind v1alpha1.UpgradeType) *v1alpha1.AutomaticUpgrade {
	for _, automatic := range r.policySpec().Automatic {
		if automatic.Type == kind && !r.policyHold.Holds() {
			return &automatic
		}
	}
	return nil
}
