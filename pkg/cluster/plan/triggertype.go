package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// derive returns the upgrade's type and the oldest version that it upgrades from. A
// Reboot has none. Nodes that are stuck count only if there are no others: a dead one that is a
// minor behind does not make a patch a minor, and comes along later (typeFor).
func (t *target) derive(r *reading) (kind v1alpha1.UpgradeType, from string) {
	if t.reboot {
		return v1alpha1.TypeReboot, ""
	}
	kind = v1alpha1.TypePatch
	oldest := version.Version{}
	stuck := func(n *node) bool { return t.isStuck(n, r.now) }
	some := slices.ContainsFunc(r.nodes, func(n *node) bool { return t.concerns(n) && !stuck(n) })
	for _, n := range r.nodes {
		if !t.concerns(n) || some && stuck(n) {
			continue
		}
		if from == "" || n.runs.kubelet.Less(oldest) {
			oldest, from = *n.runs.kubelet, n.runs.kubelet.String()
		}
	}
	if !oldest.SameLine(t.to) || slices.ContainsFunc(r.ownAPIServers(t), func(pod fleet.StaticPod) bool { return !parsed(pod.Version).SameLine(t.to) }) {
		kind = v1alpha1.TypeMinor
	}
	return kind, from
}

// typeForbidden holds an upgrade whose type differs from its spec's, or whose method is
// not for its type.
func typeForbidden(r *reading, t *target) fleet.Hold {
	var message string
	switch kind, from := t.derive(r); {
	case t.Spec.Type != "" && t.Spec.Type != kind:
		message = fmt.Sprintf("type is %s, but from %s to %s is a %s", t.Spec.Type, from, t.to, kind)
	case t.Spec.Strategy.Method == v1alpha1.MethodRestart && kind == v1alpha1.TypeMinor:
		message = fmt.Sprintf("strategy.method Restart is for patches, and from %s to %s is a %s; use Reboot or SoftReboot", from, t.to, kind)
	default:
		return fleet.Hold{}
	}
	return fleet.Hold{Reason: v1alpha1.ReasonUpgradeInvalid, Message: message, Stays: true}
}
