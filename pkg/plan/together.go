package plan

import (
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// takeTurns puts a Reboot and an upgrade that brings a version in the order that
// spares nodes a reboot: the version goes first, and its reboots are those that
// operating systems ask for. Where people hold the version back before it has
// begun, the Reboot goes first. The upgrade that a node is at work for stays in
// front.
func (d *decider) takeTurns() {
	reboot := slices.IndexFunc(d.queue, isReboot)
	other := slices.IndexFunc(d.queue, func(u *v1alpha1.ClusterUpgrade) bool { return !isReboot(u) })
	if reboot < 0 || other < 0 {
		return
	}
	first := other
	switch worked := d.workedOn(); {
	case isFor(worked, d.queue[other]):
	case isFor(worked, d.queue[reboot]), d.heldBack(d.queue[other]):
		first = reboot
	}
	u := d.queue[first]
	d.queue = slices.Insert(slices.Delete(d.queue, first, first+1), 0, u)
}

func isReboot(u *v1alpha1.ClusterUpgrade) bool { return TypeOf(u) == v1alpha1.TypeReboot }

// workedOn is the upgrade that a node is at work for, or was let go for.
func (d *decider) workedOn() *v1alpha1.UpgradeReference {
	for _, n := range d.nodes {
		if n.busy() || n.released() {
			return n.spec.Upgrade
		}
	}
	return nil
}

// heldBack is whether u brings nothing to any node for now, and has not begun:
// because it cannot be triggered, or because people hold it back everywhere.
func (d *decider) heldBack(u *v1alpha1.ClusterUpgrade) bool {
	u = u.DeepCopy()
	if hold, _ := d.trigger(u); hold.Reason != "" {
		return true
	}
	to, err := version.Parse(u.Spec.Version)
	if err != nil {
		return true
	}
	gates := newGates(u, d.Schedules, d.now)
	for _, n := range d.nodes {
		if !n.counts() {
			continue
		}
		if n.kubeletAt(to) || atLeast(n.runs.kubeadm, to) {
			return false
		}
		c := gates.classOf(n.Labels, kindFor(u, n.runs.kubelet))
		gates.look(c)
		d.wakeAt(c.changes())
		if !c.hold.Reason.Info().HeldByPeople {
			return false
		}
	}
	return true
}
