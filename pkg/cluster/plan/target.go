package plan

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// target is an upgrade and what it asks of nodes.
type target struct {
	*v1alpha1.ClusterUpgrade                 // the planner's own copy
	forLateNodes             bool            // it has ended, and nodes that join late or return are brought to its version
	reboot                   bool            // its type is Reboot
	to                       version.Version // zero for a Reboot, and if it is invalid
	selector                 labels.Selector
	strategy                 v1alpha1.Strategy
	hold                     fleet.Hold // why it is not triggered yet
	trial                    *target    // a triggered copy, if it can be triggered; nil: not tried yet
}

// newTarget reads what an unfinished upgrade asks for.
func (r *reading) newTarget(u *v1alpha1.ClusterUpgrade) *target {
	t := &target{ClusterUpgrade: u, reboot: TypeOf(u) == v1alpha1.TypeReboot, to: parsed(u.Spec.Version)}
	var err error
	if t.selector, err = readSelector(u.Spec.NodeSelector); err != nil {
		t.selector = labels.Nothing()
		t.hold = fleet.Hold{Reason: v1alpha1.ReasonUpgradeInvalid, Message: "nodeSelector: " + err.Error(), Stays: true}
	}
	t.resolve(r)
	return t
}

// resolve sets the strategy. A policy's method Restart is only for patches, and its
// SoftReboot keeps the kernel that a Reboot is there to replace: other upgrades reboot.
func (t *target) resolve(r *reading) {
	t.strategy = t.Resolve(r.policySpec().Strategy)
	kind := TypeOf(t.ClusterUpgrade)
	if t.strategy.Method == v1alpha1.MethodRestart && kind != v1alpha1.TypePatch || kind == v1alpha1.TypeReboot {
		t.strategy.Method = v1alpha1.MethodReboot
	}
	t.Status.Strategy = t.strategy
}

// isFor reports whether ref names this upgrade. One that was deleted and created again
// with the same name is another one.
func (t *target) isFor(ref *v1alpha1.UpgradeReference) bool {
	return t != nil && ref != nil && ref.UID == string(t.UID)
}

// concerns reports whether the upgrade may change the node, now or later.
func (t *target) concerns(n *node) bool {
	return n.eligible() && t.selects(n) && !t.unsupported(n)
}

// unsupported reports whether an upgrade of this type is not possible on the node: no agent
// can run there; or Kubernetes does not come to it as a sysext image, and the upgrade is no
// Reboot. A node that has begun a Reboot, or is released for one, is first brought back into
// service.
func (t *target) unsupported(n *node) bool {
	if n.noAgent() || !n.status.LacksImage() || t != nil && t.reboot {
		return n.noAgent()
	}
	return !n.busy() && (!n.released() || t.isFor(n.spec.Upgrade))
}

// selects reports whether the upgrade's nodeSelector matches the node.
func (t *target) selects(n *node) bool {
	return t == nil || t.selector.Empty() || t.selector.Matches(labels.Set(n.Labels))
}

// skips reports whether the policy or the upgrade does not select the node.
func (t *target) skips(n *node) bool { return !n.managed || !t.selects(n) }

// typeFor returns the upgrade's type for the node: one that joins after a patch may be
// a minor behind.
func (t *target) typeFor(n *node) v1alpha1.UpgradeType {
	kind := TypeOf(t.ClusterUpgrade)
	if kind == v1alpha1.TypePatch && known(t.to) && known(*n.runs.kubelet) && !n.runs.kubelet.SameLine(t.to) {
		return v1alpha1.TypeMinor
	}
	return kind
}

// TypeOf returns the upgrade's type as derived at the trigger, or before that the one
// in its spec. Empty: not known yet.
func TypeOf(upgrade *v1alpha1.ClusterUpgrade) v1alpha1.UpgradeType {
	if upgrade.Status.Type != "" {
		return upgrade.Status.Type
	}
	return upgrade.Spec.Type
}
