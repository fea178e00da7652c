package plan

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// rebootDue reports whether a Reboot is to reboot the node. One that came by itself
// leaves those alone that it cannot serve, as it does when it comes: others would
// wait behind it until a person has looked. A person who asks for one is told.
func (t *target) rebootDue(n *node) bool {
	_, byItself := t.Annotations[v1alpha1.CreatedByAnnotation]
	return n.status.Reboot.Required && !t.rebooted(n) && (!byItself || !n.nextBootDiffers())
}

// rebooted reports whether the upgrade has rebooted the node already. Once is all:
// one that asks again right away is left to the next upgrade.
func (t *target) rebooted(n *node) bool {
	left := n.status.Reboot.FromBootID
	return t.isFor(n.status.Upgrade) && left != "" && n.BootID != left
}

// stillDue is for a node about which nothing is decided, and that asks for a
// reboot.
func (n *node) stillDue() string {
	if !n.status.Reboot.Required {
		return ""
	}
	return "; a reboot is due: " + n.status.Reboot.Reason
}

// automaticReboot returns what `automatic: [{type: Reboot}]` asks for: as soon as a
// node that asks for a reboot could begin, and not before. So a patch that turns up
// until then goes first. It bears the day, in UTC, as its name, so that two
// coordinators create the same one, and there is one a day at most, whatever an
// operating system says after its reboot.
func (c *cluster) automaticReboot(wake *alarm) *v1alpha1.ClusterUpgrade {
	if c.wants(v1alpha1.TypeReboot) == nil || slices.ContainsFunc(c.nodes, func(n *node) bool { return n.busy() || n.released() }) {
		return nil
	}
	u := byItself("reboot-"+c.now.UTC().Format(time.DateOnly), v1alpha1.TypeReboot)
	windows := newWindows(u, c.Schedules)
	for _, n := range c.nodes {
		if !c.asksForReboot(n) {
			continue
		}
		class := windows.classOf(n.Labels, v1alpha1.TypeReboot)
		answer := windows.ask(class, c.now)
		wake.at(answer.changes())
		if !answer.hold.Holds() && answer.fits(c.now, c.expected(n, nodePart(n.ControlPlane))) {
			return c.unlessThere(u, wake)
		}
	}
	return nil
}

// asksForReboot reports whether a Reboot could serve the node. A node that is behind
// is about to be rebooted anyway.
func (c *cluster) asksForReboot(n *node) bool {
	behind := c.target != nil && c.target.follows && !n.upToDate
	return n.ours() && n.Ready && n.status.Reboot.Required && !n.nextBootDiffers() && !behind
}

// unlessThere waits for the next day where today's Reboot was there already.
func (c *cluster) unlessThere(u *v1alpha1.ClusterUpgrade, wake *alarm) *v1alpha1.ClusterUpgrade {
	if slices.ContainsFunc(c.Upgrades, func(other v1alpha1.ClusterUpgrade) bool { return other.Name == u.Name }) {
		tomorrow := c.now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		wake.at(&tomorrow)
		return nil
	}
	return u
}
