package sim

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// checkBegin checks what an agent begins: window, slot, and which other nodes are out of
// service.
func (w *world) checkBegin(a *agentProgram, what string) {
	w.checkAllowed(a, what)
	w.checkOthers(a.node, what)
}

// checkAllowed checks that people and the coordinator allow what an agent begins, and that the node has a slot.
func (w *world) checkAllowed(a *agentProgram, what string) {
	w.checkTold(a, what)
	if n := a.node; w.held(n) == "" && !w.since["robbed "+n.uid].After(a.ranAt) {
		w.broken("promise 4", "%s %s, and holds no slot", n.name, what)
	}
}

// checkTold checks that people and the coordinator allow what an agent begins.
func (w *world) checkTold(a *agentProgram, what string) {
	w.begins++
	w.checkManaged(a, what)
	w.checkWindow(a, what)
	w.checkSpec(a, what)
	w.checkSuspended(a, what)
	w.checkNotStarted(a, what)
	w.checkPolicy(a, what)
	w.checkRequested(a, what)
	w.checkKeyring(a, what)
	w.checkClock(a, what)
}

// checkAhead checks kubeadm on a worker that goes next: it needs a window, and no slot. The agent does not read
// live whether the node has the hold label, and a person's may come too late.
func (w *world) checkAhead(a *agentProgram) {
	what := "runs kubeadm ahead of its turn"
	w.checkTold(a, what)
	if a.node.controlPlane {
		w.broken("promise 4", "%s %s, and is a control plane", a.node.name, what)
	}
}

// checkWindow checks promise 2.
func (w *world) checkWindow(a *agentProgram, what string) {
	n := a.node
	live, kind := len(w.api.log["maintenanceschedules"]), v1alpha1.TypePatch
	if w.renewals[a.steps.State().Upgrade.UID] {
		kind = v1alpha1.TypeCertificates
	}
	if wrong := a.node.clockError().Abs(); wrong < maxClockError && (!w.closed(live, w.now().Add(-wrong), kind) || !w.closed(live, w.now().Add(wrong), kind)) {
		return
	}
	switch at := a.sawSchedules; {
	case at < 0 && w.closed(live, w.now(), kind):
		w.broken("promise 2", "%s %s, all windows are closed, and it did not ask", n.name, what)
	case at >= 0 && w.closed(at, a.ranAt, kind) && w.closed(live, w.now(), kind):
		w.broken("promise 2", "%s %s, and all windows are closed", n.name, what)
	}
}

// checkSpec checks that a node acts on the spec that its NodeUpgrade has, and that its upgrade
// exists. The agent need not know what has changed since its reconcile began.
func (w *world) checkSpec(a *agentProgram, what string) {
	nu := w.nodeUpgrade(a.node.name)
	if w.specChangedAt[a.node.name].After(a.ranAt) || w.recreatedAt.After(a.ranAt) {
		return
	}
	if nu == nil {
		w.broken("spec", "%s %s, and its NodeUpgrade was deleted", a.node.name, what)
		return
	}
	state := a.steps.State().Upgrade
	released := nu.Spec.Release.Granted() || nu.Spec.Release == v1alpha1.ReleaseKubeadmAhead && a.node.ahead
	if nu.Spec.Upgrade == nil || nu.Spec.Upgrade.UID != state.UID || !released {
		w.broken("spec", "%s %s for upgrade %s, and its spec is for %+v with release %q", nu.Name, what, state.UID, nu.Spec.Upgrade, nu.Spec.Release)
		return
	}
	instead := a.steps.State().MethodMessage != "" // of a restart that failed: the coordinator withdraws it when it knows
	if !nu.Spec.Managed && !instead && a.steps.State().Step.Info().Phase == v1alpha1.PhaseRevocable {
		w.broken("managed", "%s %s in step %s, and is not managed any more", nu.Name, what, a.steps.State().Step)
		return
	}
	policy := w.livePolicy()
	if policy == nil {
		return
	}
	if follows := policy.Status.Upgrade; follows != nil && follows.UID == state.UID {
		return
	}
	for _, u := range w.upgrades() {
		if string(u.UID) == state.UID {
			return
		}
	}
	w.broken("spec", "%s %s for upgrade %s, which does not exist any more", nu.Name, what, state.UID)
}

// checkOthers checks promise 1: how many nodes are out of service with this one, and which.
func (w *world) checkOthers(n *node, what string) {
	out := 0
	healthy, members := 0, 0
	unknown := grace
	if what == "reboots" {
		unknown = askedBefore
	}
	for _, other := range w.nodes {
		if other == n || other.removed {
			continue
		}
		if w.outOfService(other) && !w.givenUp(other) {
			out++
			if n.controlPlane && other.controlPlane {
				w.broken("promise 1", "%s %s while the control plane of %s is out of service", n.name, what, other.name)
			}
		}
		if n.controlPlane && other.renews() && !w.givenUp(other) {
			w.broken("certificates", "%s %s while %s renews its certificates", n.name, what, other.name)
		}
		if other.controlPlane {
			members++
			if other.memberUp() || w.now().Sub(other.downSince) < unknown {
				healthy++
			}
		}
	}
	if out+1 > w.allowed() {
		w.broken("promise 1", "%s %s while %d other nodes are out of service, and there are %d slots", n.name, what, out, w.allowed())
	}
	if n.controlPlane && members > 0 && healthy < (members+1)/2+1 {
		w.broken("promise 1", "%s %s, and etcd loses its majority: %d of %d other members are healthy", n.name, what, healthy, members)
	}
}

// outOfService reports whether an upgrade keeps the node out of service.
func (w *world) outOfService(n *node) bool {
	if n.busy() != "" && !n.renews() || n.shutting && n.ours {
		return true
	}
	object := w.api.objects[key{Resource: "nodes", Name: n.name}]
	return object != nil && text(metadata(object.tree), "uid") == n.uid && text(inner(metadata(object.tree), "annotations"), v1alpha1.CordonAnnotation) != ""
}

// held returns the slot that the node holds.
func (w *world) held(n *node) string {
	for _, s := range w.api.list("leases", "", func(tree) bool { return true }) {
		one, err := slot.FromLease(s.object("leases").(*coordinationv1.Lease))
		if err == nil && one.Holder == n.owner() {
			return one.Name
		}
	}
	return ""
}

// closed reports whether all windows are closed for a type of upgrade, by the schedules as they were at an index
// of the log. The scripts' schedules have neither recurrences nor selectors.
func (w *world) closed(index int, at time.Time, kind v1alpha1.UpgradeType) bool {
	current := map[string]*stored{}
	for _, c := range w.api.log["maintenanceschedules"][:index] {
		current[c.name] = c.object
	}
	open := false
	for _, s := range current {
		if s == nil {
			continue
		}
		m := s.object("maintenanceschedules").(*v1alpha1.MaintenanceSchedule)
		for _, one := range m.Spec.MaintenanceExclusions {
			ofOthers := len(one.UpgradeTypes) > 0 && !slices.Contains(one.UpgradeTypes, kind)
			if within(one.Period, at) && !ofOthers {
				return true
			}
		}
		for _, one := range m.Spec.MaintenanceWindows {
			if one.Recurrence != "" {
				return true // the scripts have only an invalid one
			}
			open = open || within(one.Period, at)
		}
	}
	return !open
}

func within(p v1alpha1.Period, at time.Time) bool {
	return !at.Before(p.StartTime.Time) && at.Before(p.EndTime.Time)
}
