package plan

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// rebootDue reports whether a Reboot has to reboot the node, or waits to learn whether it
// has to. An automatic Reboot skips nodes that it must not reboot, and those that report
// nothing, because otherwise later upgrades would wait until a person acts. A Reboot that a
// person asked for is held instead.
func (t *target) rebootDue(n *node) bool {
	_, byItself := t.Annotations[v1alpha1.CreatedByAnnotation]
	if byItself && (n.silent() || n.nextBootDiffers()) {
		return false
	}
	return n.silent() || n.status.Reboot.Required && !t.rebooted(n)
}

// rebooted reports whether the upgrade has rebooted the node. It does so only once: a
// node that needs another reboot right away waits for the next upgrade.
func (t *target) rebooted(n *node) bool {
	previousBootID := n.status.Reboot.FromBootID
	return t.isFor(n.status.Upgrade) && previousBootID != "" && n.BootID != previousBootID
}

// rebootNote returns a note for a node that asks for a reboot although nothing is
// decided about it.
func (n *node) rebootNote() string {
	if !n.status.Reboot.Required {
		return ""
	}
	return "; a reboot is due: " + n.status.Reboot.Reason
}

// automaticReboot returns what `automatic: [{type: Reboot}]` asks for, as soon as a
// node that asks for a reboot could begin. It is not created before, so that a patch
// that appears meanwhile goes first. It is named after the day, in UTC, so that two
// coordinators create the same one, and there is at most one a day.
func (c *cluster) automaticReboot(wake *wakeTime) *v1alpha1.ClusterUpgrade {
	if c.automaticSpec(v1alpha1.TypeReboot) == nil || slices.ContainsFunc(c.nodes, func(n *node) bool { return n.busy() || n.released() }) {
		return nil
	}
	u := newAutomatic("reboot-"+c.now.UTC().Format(time.DateOnly), v1alpha1.TypeReboot)
	windows := newWindows(u, c.Schedules)
	for _, n := range c.nodes {
		if !c.asksForReboot(n) {
			continue
		}
		class := windows.classOf(n.Labels, v1alpha1.TypeReboot)
		available := windows.lookup(class, c.now)
		wake.at(available.changes())
		if !available.hold.Holds() && available.fits(c.now, c.expected(n, nodePart(n.ControlPlane))) {
			return c.unlessExists(u, wake)
		}
	}
	return nil
}

// asksForReboot reports whether a Reboot could serve the node. A node that is still to
// be brought to the version of an upgrade that has ended is rebooted by that.
func (c *cluster) asksForReboot(n *node) bool {
	behind := c.target != nil && c.target.forLateNodes && n.concerned && !n.upToDate
	return n.eligible() && n.Ready && n.status.Reboot.Required && !n.nextBootDiffers() && !behind
}

// unlessExists returns u, or nil if today's Reboot exists; wake then gets the next day.
func (c *cluster) unlessExists(u *v1alpha1.ClusterUpgrade, wake *wakeTime) *v1alpha1.ClusterUpgrade {
	if slices.ContainsFunc(c.Upgrades, func(other v1alpha1.ClusterUpgrade) bool { return other.Name == u.Name }) {
		tomorrow := c.now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		wake.at(&tomorrow)
		return nil
	}
	return u
}
