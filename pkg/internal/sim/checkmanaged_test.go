package sim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
)

// checkEverManaged checks that nothing is changed on a node that was never managed.
func (w *world) checkEverManaged(n *node, what string) {
	if !n.managedOnce {
		w.broken("managed", "%s %s, and was never managed", n.name, what)
	}
}

// checkManaged checks that an agent changes its node only while it knows of no other than that
// the node is managed, or to end an attempt.
func (w *world) checkManaged(a *agentProgram, what string) {
	w.checkEverManaged(a.node, what)
	if nu := a.knows(); nu != nil && !nu.Spec.Managed && machine.BetweenAttempts(a.steps.State().Step) {
		w.broken("managed", "%s %s in step %s, and is not managed any more", a.node.name, what, a.steps.State().Step)
	}
}

// knows returns the NodeUpgrade as the agent's watch has it, which may be an old one: what is
// removed too early is installed again, and before an attempt begins its gate reads live.
func (a *agentProgram) knows() *v1alpha1.NodeUpgrade {
	object, there, _ := a.steps.Caches().NodeUpgrades.GetByKey(a.node.name)
	if !there || !object.(*v1alpha1.NodeUpgrade).OwnedBy(types.UID(a.node.uid)) {
		return nil
	}
	return object.(*v1alpha1.NodeUpgrade)
}

// checkGivenBack checks a node whose agent is about to remove what is on it.
func (w *world) checkGivenBack(a *agentProgram) {
	n := a.node
	if nu := a.knows(); nu == nil || nu.Spec.Managed {
		w.broken("managed", "%s is given back, and is managed", n.name)
	}
	if v := n.busy(); v != "" {
		w.broken("managed", "%s is given back while %s runs", n.name, v)
	}
	// An agent does not see a Lease that a person has changed.
	if w.held(n) != "" && !w.tamperedLately() || w.outOfService(n) {
		w.broken("managed", "%s is given back in the middle of an attempt: it holds %q", n.name, w.held(n))
	}
}

// checkSelected checks that a coordinator releases no node that the UpgradePolicy, as far as
// the coordinator knows, does not select.
func (w *world) checkSelected(by, name string) {
	for _, c := range w.coordinators {
		if c == nil || c.name != by {
			continue
		}
		caches := c.steps.Caches()
		if object, there, _ := caches.Nodes.GetByKey(name); there {
			if _, unmanaged := object.(*corev1.Node).Labels["unmanaged"]; unmanaged {
				w.broken("managed", "%s releases %s, and knows that it is not managed", by, name)
			}
		}
		if object, there, _ := caches.Policies.GetByKey(v1alpha1.PolicyName); there && object.(*v1alpha1.UpgradePolicy).Spec.Mode == v1alpha1.ModeObserve {
			w.broken("managed", "%s releases %s, and knows that nodes are only observed", by, name)
		}
	}
}
